//! Kiro, both the editor and the command line.

use super::HostFieldRole::{
    Args, Command, Disabled, Env, Headers, OAuth, OAuthMember, TimeoutMs, Type, Url,
};
use super::fields::{field, other};
use super::{Asks, Dialect, EVERYWHERE, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "kiro",
    name: "Kiro",
    files: &[
        file(
            ".kiro/settings/mcp.json",
            FileScope::Project,
            Holds::Entries,
        ),
        file(".kiro/agents/*.json", FileScope::Project, Holds::Settings),
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
        field("url", Url(None)),
        field("headers", Headers),
        field("oauth", OAuth),
        field("oauthScopes", OAuthMember("scopes")),
        field("timeout", TimeoutMs),
        field("disabled", Disabled),
        other("autoApprove"),
        other("disabledTools"),
    ],
    oauth: &[("clientId", "clientId")],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("streamable-http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::of(&[VariableForm::Plain, VariableForm::EnvPrefix]),
    expands: EVERYWHERE,
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "workspace before user",
    plugins: "",
    notes: &["A variable is replaced only once the person has approved its name in Kiro."],
    sources: &[
        "https://kiro.dev/docs/mcp/configuration/",
        "https://kiro.dev/docs/mcp/security/",
    ],
};
