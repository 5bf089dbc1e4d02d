//! Roo Code, and Kilo Code, which took over its form.

use super::HostFieldRole::{Args, Command, Cwd, Disabled, Env, Headers, TimeoutSeconds, Type, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, EVERYWHERE, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "roo",
    name: "Roo Code",
    files: &[
        file(".roo/mcp.json", FileScope::Project, Holds::Entries),
        file(".kilocode/mcp.json", FileScope::Project, Holds::Entries),
        file("mcp_settings.json", FileScope::User, Holds::Entries),
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
        field("type", Type),
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("cwd", Cwd),
        field("url", Url(None)),
        field("headers", Headers),
        field("timeout", TimeoutSeconds),
        field("disabled", Disabled),
        other("alwaysAllow"),
        other("disabledTools"),
        other("watchPaths"),
        other("description"),
    ],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("sse", Transport::Sse),
        ("streamable-http", Transport::Http),
    ],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::EnvPrefix])
        .with(&[("workspaceFolder", KnownValue::Variable("HOST_PLUGIN_ROOT"))]),
    expands: EVERYWHERE,
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "project before user",
    plugins: "",
    notes: &["An address without `type`, or beside a `command`, is an error."],
    sources: &["https://docs.roocode.com/features/mcp/using-mcp-in-roo"],
};
