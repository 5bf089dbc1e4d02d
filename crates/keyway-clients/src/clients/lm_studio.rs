//! LM Studio.
//!
//! <https://lmstudio.ai/docs/app/plugins/mcp>: `mcpServers` in `~/.lmstudio/mcp.json`. Never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "lm-studio",
    title: "LM Studio",
    user: |homes| homes.home.join(".lmstudio/mcp.json"),
    user_in_words: "`~/.lmstudio/mcp.json`",
    project: None,
    syntax: Syntax::Json(Tolerance::Strict),
    key: "mcpServers",
    form: Form::Plain,
    helper: None,
    read_as: ".lmstudio/mcp.json",
    afterwards: "LM Studio loads it at once",
    source: "https://lmstudio.ai/docs/app/plugins/mcp",
};
