//! Windsurf.

use super::HostFieldRole::{Args, Command, Disabled, Env, Headers, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, FileScope, Holds, Layout, Place, Syntax, Unset, Untyped, file};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "windsurf",
    name: "Windsurf",
    files: &[
        file("windsurf/mcp_config.json", FileScope::User, Holds::Entries),
        file(".codeium/mcp_config.json", FileScope::User, Holds::Entries),
        file(
            "antigravity/mcp_config.json",
            FileScope::User,
            Holds::Entries,
        ),
        file("mcp_config.json", FileScope::User, Holds::Entries),
    ],
    syntax: Syntax::Json,
    wrappers: &[&["mcpServers"]],
    layout: Layout::Map,
    built_in: &[],
    head: &[],
    constants: &[],
    may_lack_endpoint: false,
    required: &[],
    is_closed: false,
    fields: &[
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("serverUrl", Url(None)),
        field("url", Url(None)),
        field("headers", Headers),
        field("disabled", Disabled),
        other("disabledTools"),
        other("alwaysAllow"),
        other("type"),
    ],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::of(&[VariableForm::EnvPrefix, VariableForm::FilePrefix]),
    expands: &[
        Place::Command,
        Place::Args,
        Place::Env,
        Place::Url,
        Place::Headers,
    ],
    unset: Unset::Unknown,
    asks: Asks::Never,
    same_name: "there is one file",
    plugins: "",
    notes: &[
        "`${file:/path}` is replaced by the content of a file; Keyway refuses it.",
        "Antigravity has a file of the same name and form; what it replaces is not documented.",
    ],
    sources: &["https://docs.windsurf.com/windsurf/cascade/mcp"],
};
