//! Zed.

use super::HostFieldRole::{Args, Command, Enabled, Env, Headers, OAuth, TimeoutSeconds, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::VariableSyntax;
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "zed",
    name: "Zed",
    files: &[
        file(".zed/settings.json", FileScope::Project, Holds::Settings),
        file("zed/settings.json", FileScope::User, Holds::Settings),
    ],
    syntax: Syntax::Jsonc,
    wrappers: &[&["context_servers"]],
    layout: Layout::Map,
    built_in: &[],
    head: &[],
    constants: &[],
    may_lack_endpoint: true,
    required: &[],
    is_closed: false,
    fields: &[
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("url", Url(Some(Transport::Http))),
        field("headers", Headers),
        field("oauth", OAuth),
        field("timeout", TimeoutSeconds),
        field("enabled", Enabled),
        other("remote"),
        other("source"),
        other("settings"),
    ],
    oauth: &[("client_id", "clientId"), ("client_secret", "clientSecret")],
    types: &[],
    untyped: Untyped::Always(Transport::Http),
    variables: VariableSyntax::NONE,
    expands: &[],
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "not documented",
    plugins: "An entry with neither `command` nor `url` belongs to an extension of the editor, which \
              Keyway cannot start.",
    notes: &[
        "`command` may be an object with `path`, `args` and `env`, as older versions wrote it.",
    ],
    sources: &["https://zed.dev/docs/ai/mcp"],
};
