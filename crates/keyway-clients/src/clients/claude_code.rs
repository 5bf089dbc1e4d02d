//! Claude Code.
//!
//! <https://code.claude.com/docs/en/mcp>: user scope is `mcpServers` in `~/.claude.json`, project
//! scope `.mcp.json` in the project's root, which each person approves on first use. Watched with
//! 2.1.197: `CLAUDE_CONFIG_DIR` names the folder of `.claude.json`; a comment in it is an error,
//! after which the client moves the file away; and the client rewrites the file itself.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    user: |homes| {
        let folder = homes.named("CLAUDE_CONFIG_DIR");
        folder
            .unwrap_or_else(|| homes.home.clone())
            .join(".claude.json")
    },
    user_in_words: "`~/.claude.json`; `.claude.json` in `CLAUDE_CONFIG_DIR` if that is set",
    project: Some(".mcp.json"),
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Typed("stdio"),
    helper: Some("headersHelper"),
    read_as: ".claude.json",
    afterwards: "`claude mcp list` shows it",
    source: "https://code.claude.com/docs/en/mcp",
};
