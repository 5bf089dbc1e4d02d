//! VS Code.
//!
//! <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>: a key `servers` in
//! `.vscode/mcp.json` of a workspace or in `mcp.json` of the person's profile. The page does not name
//! the profile's folder; the default one is taken to be `Code/User` in the folder for settings, as
//! for the editor's own. Its settings are JSON with comments and trailing commas. Never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "vs-code",
    title: "VS Code",
    user: |homes| homes.desktop().join("Code/User/mcp.json"),
    user_in_words: "`~/.config/Code/User/mcp.json`; on macOS below `~/Library/Application Support`",
    project: Some(".vscode/mcp.json"),
    syntax: Syntax::Json(Tolerance::Commas),
    key: "servers",
    form: Form::Typed("stdio"),
    helper: None,
    read_as: ".vscode/mcp.json",
    afterwards: "start it in the MCP servers view",
    source: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
};
