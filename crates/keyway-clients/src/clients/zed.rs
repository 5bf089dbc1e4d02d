//! Zed.
//!
//! <https://zed.dev/docs/ai/mcp>: `context_servers` in `~/.config/zed/settings.json`, or in `.zed/settings.json` of a project.
//! Never watched here.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "zed",
    title: "Zed",
    user: |homes| homes.config.join("zed/settings.json"),
    user_in_words: "`~/.config/zed/settings.json`",
    project: Some(".zed/settings.json"),
    syntax: Syntax::Json(Tolerance::Commas),
    key: "context_servers",
    form: Form::Plain,
    helper: None,
    read_as: "zed/settings.json",
    afterwards: "Zed loads it at once",
    source: "https://zed.dev/docs/ai/mcp",
};
