//! Gemini CLI.
//!
//! <https://geminicli.com/docs/tools/mcp-server>: `mcpServers` in `~/.gemini/settings.json`, or in
//! `.gemini/settings.json` of a project. Watched with 0.61.0: comments are read over, a trailing
//! comma is an error, `GEMINI_CLI_HOME` is taken for the home, and in a folder that is not trusted
//! no server is started.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "gemini-cli",
    title: "Gemini CLI",
    user: |homes| {
        let home = homes.named("GEMINI_CLI_HOME");
        home.unwrap_or_else(|| homes.home.clone())
            .join(".gemini/settings.json")
    },
    user_in_words: "`~/.gemini/settings.json`; below `GEMINI_CLI_HOME` if that is set",
    project: Some(".gemini/settings.json"),
    syntax: Syntax::Json(Tolerance::Comments),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: ".gemini/settings.json",
    afterwards: "`gemini mcp list` shows it in a folder that it trusts",
    source: "https://geminicli.com/docs/tools/mcp-server",
};
