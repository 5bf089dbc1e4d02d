//! Cline.
//!
//! <https://docs.cline.bot/mcp/configuring-mcp-servers>: `cline_mcp_settings.json` in the folder that VS Code gives the extension. Taken from the
//! extension's own sources and documentation; never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "cline",
    title: "Cline",
    user: |homes| {
        homes
            .desktop()
            .join("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")
    },
    user_in_words: "`cline_mcp_settings.json` in `~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings`",
    project: None,
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: "cline_mcp_settings.json",
    afterwards: "open the MCP servers view of Cline",
    source: "https://docs.cline.bot/mcp/configuring-mcp-servers",
};
