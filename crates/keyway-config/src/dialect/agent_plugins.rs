//! Agent Plugins 1.0.0, a form that several hosts read.

use super::HostFieldRole::{Args, Command, Cwd, Env, Headers, Type, Url};
use super::fields::field;
use super::{Asks, Dialect, EntryKind, Layout, Place, Syntax, Unset, Untyped};
use crate::template::{KnownValue, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "agent-plugins",
    name: "Agent Plugins",
    // `mcp.json` beside a `plugin.json`; only its `$schema` tells it from another host's.
    files: &[],
    syntax: Syntax::Json,
    wrappers: &[&["mcpServers"]],
    layout: Layout::Map,
    built_in: &[],
    head: &[],
    constants: &[],
    may_lack_endpoint: false,
    required: &[("type", EntryKind::Any)],
    is_closed: true,
    fields: &[
        field("type", Type),
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("cwd", Cwd),
        field("url", Url(None)),
        field("headers", Headers),
    ],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("streamable-http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Refused,
    variables: VariableSyntax::NONE.with(&[
        ("PLUGIN_ROOT", KnownValue::Variable("HOST_PLUGIN_ROOT")),
        ("PLUGIN_DATA", KnownValue::Variable("HOST_PLUGIN_DATA")),
    ]),
    expands: &[Place::Args, Place::Env, Place::Cwd],
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "not part of the specification",
    plugins: "`plugin.json` and `mcp.json` at the root of a plugin, each with its `$schema`; servers \
              never stand in `plugin.json`.",
    notes: &[
        "The files are told by their `$schema`, which ends in `schemas/1.0.0/mcp.schema.json`.",
        "Credentials are left to the host that reads the plugin.",
    ],
    sources: &["https://github.com/agentplugins/agent-plugins-spec/blob/main/spec/1.0.0.md"],
};
