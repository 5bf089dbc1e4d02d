//! Copilot CLI. It also reads a project's `.mcp.json`, which counts as Claude Code's here.

use super::HostFieldRole::{Args, Command, Cwd, Env, Headers, OAuthMember, TimeoutMs, Type, Url};
use super::fields::{field, other};
use super::{
    Asks, Constant, Dialect, EntryKind, FileScope, Holds, Layout, Place, Syntax, Unset, Untyped,
    file,
};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "copilot-cli",
    name: "Copilot CLI",
    files: &[
        file(".github/mcp.json", FileScope::Project, Holds::Entries),
        file(".copilot/mcp-config.json", FileScope::User, Holds::Entries),
        file(".plugin/plugin.json", FileScope::Plugin, Holds::Manifest),
        file(
            ".github/plugin/plugin.json",
            FileScope::Plugin,
            Holds::Manifest,
        ),
        file(
            ".plugin/marketplace.json",
            FileScope::Plugin,
            Holds::Marketplace,
        ),
        file(
            ".github/plugin/marketplace.json",
            FileScope::Plugin,
            Holds::Marketplace,
        ),
    ],
    syntax: Syntax::Json,
    wrappers: &[&["mcpServers"]],
    layout: Layout::MapOrBare,
    built_in: &[],
    head: &[],
    constants: &[("tools", Constant::EveryTool)],
    may_lack_endpoint: false,
    required: &[("tools", EntryKind::Any), ("args", EntryKind::Local)],
    is_closed: false,
    fields: &[
        field("type", Type),
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("cwd", Cwd),
        field("url", Url(None)),
        field("headers", Headers),
        field("oauthClientId", OAuthMember("clientId")),
        field("oauthScopes", OAuthMember("scopes")),
        field("timeout", TimeoutMs),
        other("tools"),
        other("oauthPublicClient"),
        other("oauthGrantType"),
        other("oidc"),
        other("slowConnectionThresholdMs"),
        other("deferTools"),
        other("disableToolCache"),
        other("filterMapping"),
    ],
    oauth: &[],
    types: &[
        ("local", Transport::Stdio),
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("streamable-http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[
        VariableForm::Plain,
        VariableForm::Default,
        VariableForm::Dollar,
    ]),
    expands: &[Place::Args, Place::Env, Place::Url, Place::Headers],
    unset: Unset::Unknown,
    asks: Asks::Never,
    same_name: "flag before plugin before workspace before user",
    plugins: "The first of `.plugin/plugin.json`, `plugin.json`, `.github/plugin/plugin.json` and \
              `.claude-plugin/plugin.json`, whose `mcpServers` is a path or a map. A marketplace is \
              the first `marketplace.json` of the root and the same folders.",
    notes: &["Replacement in `args` and `url` is not documented."],
    sources: &[
        "https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference",
        "https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-plugin-reference",
    ],
};
