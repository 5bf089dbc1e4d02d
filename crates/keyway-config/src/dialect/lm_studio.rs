//! LM Studio.

use super::HostFieldRole::{Args, Command, Env, Headers, OAuth, TimeoutMs, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::VariableSyntax;
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "lm-studio",
    name: "LM Studio",
    files: &[
        file(".lmstudio/mcp.json", FileScope::User, Holds::Entries),
        file("lm-studio/mcp.json", FileScope::User, Holds::Entries),
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
        field("url", Url(None)),
        field("headers", Headers),
        field("auth", OAuth),
        field("timeout", TimeoutMs),
        other("type"),
    ],
    oauth: &[("CLIENT_ID", "clientId"), ("CLIENT_SECRET", "clientSecret")],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::NONE,
    expands: &[],
    unset: Unset::Unknown,
    asks: Asks::Never,
    same_name: "there is one file",
    plugins: "",
    notes: &["Variables are not documented, so none is replaced."],
    sources: &["https://lmstudio.ai/docs/app/mcp"],
};
