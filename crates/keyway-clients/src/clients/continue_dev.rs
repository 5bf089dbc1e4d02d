//! Continue.
//!
//! <https://docs.continue.dev/customize/deep-dives/mcp>: a list `mcpServers` of entries with a `name` in `~/.continue/config.yaml`. Never
//! watched here.

use super::{Client, Form, Syntax};

pub(super) static CLIENT: Client = Client {
    name: "continue",
    title: "Continue",
    user: |homes| homes.home.join(".continue/config.yaml"),
    user_in_words: "`~/.continue/config.yaml`",
    project: None,
    syntax: Syntax::Yaml,
    key: "mcpServers",
    form: Form::Named,
    helper: None,
    read_as: ".continue/config.yaml",
    afterwards: "reload Continue",
    source: "https://docs.continue.dev/customize/deep-dives/mcp",
};
