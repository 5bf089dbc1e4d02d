//! Windsurf.
//!
//! <https://docs.windsurf.com/windsurf/cascade/mcp>: `mcpServers` in `~/.codeium/windsurf/mcp_config.json`. Never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "windsurf",
    title: "Windsurf",
    user: |homes| homes.home.join(".codeium/windsurf/mcp_config.json"),
    user_in_words: "`~/.codeium/windsurf/mcp_config.json`",
    project: None,
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: "windsurf/mcp_config.json",
    afterwards: "refresh the MCP servers in Windsurf",
    source: "https://docs.windsurf.com/windsurf/cascade/mcp",
};
