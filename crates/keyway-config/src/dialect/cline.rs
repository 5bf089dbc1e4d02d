//! Cline.

use super::HostFieldRole::{Args, Command, Cwd, Disabled, Env, Headers, TimeoutSeconds, Type, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, EVERYWHERE, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "cline",
    name: "Cline",
    files: &[
        file("cline_mcp_settings.json", FileScope::User, Holds::Entries),
        file(".cline/mcp.json", FileScope::User, Holds::Entries),
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
        field("transportType", Type),
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("cwd", Cwd),
        field("url", Url(None)),
        field("headers", Headers),
        field("timeout", TimeoutSeconds),
        field("disabled", Disabled),
        other("autoApprove"),
        other("alwaysAllow"),
        other("oauth"),
    ],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("sse", Transport::Sse),
        ("streamableHttp", Transport::Http),
        ("http", Transport::Http),
    ],
    untyped: Untyped::Always(Transport::Sse),
    variables: VariableSyntax::of(&[VariableForm::EnvPrefix]),
    expands: EVERYWHERE,
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "there is one file",
    plugins: "",
    notes: &["An address without `type` is reached over HTTP with server-sent events."],
    sources: &[
        "https://docs.cline.bot/mcp/configuring-mcp-servers",
        "https://github.com/cline/cline",
    ],
};
