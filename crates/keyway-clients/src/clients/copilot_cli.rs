//! Copilot CLI.
//!
//! <https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference>: `mcpServers` in `~/.copilot/mcp-config.json`; an entry names its tools. With 1.0.102 an
//! entry of this file went before one of the project.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "copilot-cli",
    title: "Copilot CLI",
    user: |homes| homes.home.join(".copilot/mcp-config.json"),
    user_in_words: "`~/.copilot/mcp-config.json`",
    project: None,
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::WithTools,
    helper: None,
    read_as: ".copilot/mcp-config.json",
    afterwards: "`copilot mcp list` shows it",
    source: "https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference",
};
