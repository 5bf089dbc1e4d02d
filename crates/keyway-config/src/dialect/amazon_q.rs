//! Amazon Q Developer, whose command line goes on as Kiro's.

use super::HostFieldRole::{
    Args, Command, Disabled, Env, Headers, OAuthMember, TimeoutMs, Type, Url,
};
use super::fields::field;
use super::{Asks, Dialect, FileScope, Holds, Layout, Place, Syntax, Unset, Untyped, file};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "amazon-q",
    name: "Amazon Q",
    files: &[
        file(".amazonq/mcp.json", FileScope::Project, Holds::Entries),
        file(
            ".amazonq/cli-agents/*.json",
            FileScope::Project,
            Holds::Settings,
        ),
        file(
            ".amazonq/agents/*.json",
            FileScope::Project,
            Holds::Settings,
        ),
        file(".aws/amazonq/mcp.json", FileScope::User, Holds::Entries),
        file(
            ".aws/amazonq/cli-agents/*.json",
            FileScope::User,
            Holds::Settings,
        ),
        file(
            ".aws/amazonq/agents/*.json",
            FileScope::User,
            Holds::Settings,
        ),
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
        field("oauthScopes", OAuthMember("scopes")),
        field("timeout", TimeoutMs),
        field("disabled", Disabled),
    ],
    oauth: &[],
    types: &[("stdio", Transport::Stdio), ("http", Transport::Http)],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::EnvPrefix]),
    expands: &[Place::Env, Place::Headers],
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "not documented",
    plugins: "",
    notes: &[
        "A variable that is not set is passed on without its `env:`, as `${NAME}`.",
        "`mcp.json` is the older form; agents have their servers in files of their own.",
    ],
    sources: &[
        "https://github.com/aws/amazon-q-developer-cli/blob/main/docs/agent-format.md",
        "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-mcp.html",
    ],
};
