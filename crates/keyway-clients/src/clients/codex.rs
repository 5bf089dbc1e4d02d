//! Codex.
//!
//! <https://developers.openai.com/codex/mcp>: a table `[mcp_servers.NAME]` with `command` and `args`
//! in `~/.codex/config.toml`, or in `.codex/config.toml` of a project that is trusted. `CODEX_HOME`
//! names another folder than `~/.codex`. Watched with 0.169.0.

use super::{Client, Form, Syntax};

pub(super) static CLIENT: Client = Client {
    name: "codex",
    title: "Codex",
    user: |homes| {
        let folder = homes.named("CODEX_HOME");
        folder
            .unwrap_or_else(|| homes.home.join(".codex"))
            .join("config.toml")
    },
    user_in_words: "`~/.codex/config.toml`; `config.toml` in `CODEX_HOME` if that is set",
    project: Some(".codex/config.toml"),
    syntax: Syntax::Toml,
    key: "mcp_servers",
    form: Form::Plain,
    helper: Some("http_headers_helper"),
    read_as: ".codex/config.toml",
    afterwards: "`codex mcp list` shows it",
    source: "https://developers.openai.com/codex/mcp",
};
