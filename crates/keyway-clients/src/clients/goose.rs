//! Goose.
//!
//! <https://block.github.io/goose/docs/guides/config-files>: `extensions` in `~/.config/goose/config.yaml`, with parts of Goose itself among them.
//! Never watched here.

use super::{Client, Form, Syntax};

pub(super) static CLIENT: Client = Client {
    name: "goose",
    title: "Goose",
    user: |homes| homes.config.join("goose/config.yaml"),
    user_in_words: "`~/.config/goose/config.yaml`",
    project: None,
    syntax: Syntax::Yaml,
    key: "extensions",
    form: Form::Goose,
    helper: None,
    read_as: "goose/config.yaml",
    afterwards: "start a new session of Goose",
    source: "https://block.github.io/goose/docs/guides/config-files",
};
