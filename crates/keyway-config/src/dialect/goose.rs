//! Goose.

use super::HostFieldRole::{
    Args, Command, Enabled, Env, EnvNames, Headers, TimeoutSeconds, Type, Url,
};
use super::fields::{field, other};
use super::{
    Asks, Constant, Dialect, EntryKind, FileScope, Holds, Layout, Place, Syntax, Unset, Untyped,
    file,
};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "goose",
    name: "Goose",
    files: &[
        file("goose/config.yaml", FileScope::User, Holds::Settings),
        file("goose/config/config.yaml", FileScope::User, Holds::Settings),
    ],
    syntax: Syntax::Yaml,
    wrappers: &[&["extensions"]],
    layout: Layout::Map,
    built_in: &["builtin", "platform", "frontend", "inline_python"],
    head: &[],
    constants: &[
        ("name", Constant::Name),
        ("description", Constant::Name),
        ("enabled", Constant::True),
    ],
    may_lack_endpoint: false,
    required: &[
        ("name", EntryKind::Any),
        ("enabled", EntryKind::Any),
        ("args", EntryKind::Local),
    ],
    is_closed: false,
    fields: &[
        field("type", Type),
        field("cmd", Command),
        field("args", Args),
        field("envs", Env),
        field("env_keys", EnvNames),
        field("uri", Url(None)),
        field("headers", Headers),
        field("timeout", TimeoutSeconds),
        field("enabled", Enabled),
        other("name"),
        other("display_name"),
        other("description"),
        other("bundled"),
        other("available_tools"),
        other("socket"),
    ],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("streamable_http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::Plain, VariableForm::Dollar]),
    expands: &[Place::Headers],
    unset: Unset::Literal,
    asks: Asks::Names,
    same_name: "there is one file",
    plugins: "",
    notes: &[
        "Extensions of the types `builtin`, `platform`, `frontend` and `inline_python` are part of \
         Goose; Keyway leaves them out.",
        "`env_keys` names variables whose values Goose keeps in the keyring or in `secrets.yaml`.",
    ],
    sources: &[
        "https://block.github.io/goose/docs/guides/config-files",
        "https://github.com/block/goose/blob/main/crates/goose/src/agents/extension.rs",
    ],
};
