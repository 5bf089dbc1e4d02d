//! Cursor.
//!
//! <https://cursor.com/docs/mcp>: `mcpServers` in `~/.cursor/mcp.json` for every project, or in
//! `.cursor/mcp.json` of one. The page says nothing about comments; a file that has some is taken
//! for one that works, and they are kept.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "cursor",
    title: "Cursor",
    user: |homes| homes.home.join(".cursor/mcp.json"),
    user_in_words: "`~/.cursor/mcp.json`",
    project: Some(".cursor/mcp.json"),
    syntax: Syntax::Json(Tolerance::Commas),
    key: "mcpServers",
    form: Form::Typed("stdio"),
    helper: None,
    read_as: ".cursor/mcp.json",
    afterwards: "enable it in Cursor's settings",
    source: "https://cursor.com/docs/mcp",
};
