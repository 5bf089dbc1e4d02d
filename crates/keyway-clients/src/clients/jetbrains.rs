//! JetBrains Junie.
//!
//! <https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html>: `mcpServers` in `~/.junie/mcp/mcp.json`, or in `.junie/mcp/mcp.json` of a project. Its
//! help says so; never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "jetbrains",
    title: "JetBrains Junie",
    user: |homes| homes.home.join(".junie/mcp/mcp.json"),
    user_in_words: "`~/.junie/mcp/mcp.json`",
    project: Some(".junie/mcp/mcp.json"),
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: ".mcp.json",
    afterwards: "restart the agent",
    source: "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
};
