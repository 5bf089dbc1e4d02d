//! Claude Desktop.
//!
//! <https://modelcontextprotocol.io/docs/develop/connect-local-servers>: `mcpServers` in
//! `claude_desktop_config.json`, on macOS in `~/Library/Application Support/Claude`. Elsewhere it is
//! taken to be where its framework keeps settings, `Claude` in `XDG_CONFIG_HOME`; no official page
//! says so. That the file is strict JSON is what its users report. Never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    user: |homes| homes.desktop().join("Claude/claude_desktop_config.json"),
    user_in_words: "`~/.config/Claude/claude_desktop_config.json`; on macOS below `~/Library/Application Support`",
    project: None,
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: "claude_desktop_config.json",
    afterwards: "restart Claude Desktop",
    source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
};
