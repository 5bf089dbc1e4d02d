//! Roo Code.
//!
//! <https://docs.roocode.com/features/mcp/using-mcp-in-roo>: `mcp_settings.json` in the folder that VS Code gives the extension, or `.roo/mcp.json` of a
//! project. Never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "roo",
    title: "Roo Code",
    user: |homes| {
        homes
            .desktop()
            .join("Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json")
    },
    user_in_words: "`mcp_settings.json` in `~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings`",
    project: Some(".roo/mcp.json"),
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: "mcp_settings.json",
    afterwards: "open the MCP servers view of Roo Code",
    source: "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
};
