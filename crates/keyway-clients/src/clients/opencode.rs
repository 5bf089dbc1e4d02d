//! opencode.
//!
//! <https://opencode.ai/docs/mcp-servers>: `mcp` in `~/.config/opencode/opencode.json`, or in `opencode.json` of a project, which
//! goes before it field by field. Watched with 1.18.33.

use super::{Client, Form, Syntax, Tolerance};

pub(super) static CLIENT: Client = Client {
    name: "opencode",
    title: "opencode",
    user: |homes| homes.config.join("opencode/opencode.json"),
    user_in_words: "`~/.config/opencode/opencode.json`",
    project: Some("opencode.json"),
    syntax: Syntax::Json(Tolerance::Commas),
    key: "mcp",
    form: Form::CommandArray,
    helper: None,
    read_as: "opencode.json",
    afterwards: "`opencode mcp list` shows it",
    source: "https://opencode.ai/docs/mcp-servers",
};
