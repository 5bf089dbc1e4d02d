//! opencode.

use super::HostFieldRole::{
    Command, Cwd, Disabled, Enabled, Env, Headers, OAuth, TimeoutMs, Type, Url,
};
use super::fields::field;
use super::{
    Asks, Constant, Dialect, EVERYWHERE, EntryKind, FileScope, Holds, Layout, Syntax, Unset,
    Untyped, file,
};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "opencode",
    name: "opencode",
    files: &[
        file("opencode.json", FileScope::Project, Holds::Settings),
        file("opencode.jsonc", FileScope::Project, Holds::Settings),
        file(
            ".opencode/opencode.json",
            FileScope::Project,
            Holds::Settings,
        ),
        file(
            ".opencode/opencode.jsonc",
            FileScope::Project,
            Holds::Settings,
        ),
        file(".opencode/mcp.json", FileScope::Project, Holds::Settings),
        file(
            ".config/opencode/opencode.json",
            FileScope::User,
            Holds::Settings,
        ),
        file(
            ".config/opencode/opencode.jsonc",
            FileScope::User,
            Holds::Settings,
        ),
        file("opencode/config.json", FileScope::User, Holds::Settings),
    ],
    syntax: Syntax::Jsonc,
    wrappers: &[&["mcp", "servers"], &["mcp"]],
    layout: Layout::MapOrBare,
    built_in: &[],
    head: &[],
    constants: &[("enabled", Constant::True)],
    may_lack_endpoint: true,
    required: &[("type", EntryKind::Any)],
    is_closed: false,
    fields: &[
        field("type", Type),
        field("command", Command),
        field("environment", Env),
        field("cwd", Cwd),
        field("url", Url(Some(Transport::Http))),
        field("headers", Headers),
        field("oauth", OAuth),
        field("timeout", TimeoutMs),
        field("enabled", Enabled),
        field("disabled", Disabled),
    ],
    oauth: &[
        ("clientId", "clientId"),
        ("clientSecret", "clientSecret"),
        ("scope", "scopes"),
        ("redirectUri", "redirectUri"),
        ("callbackPort", "callbackPort"),
        ("authorizationEndpoint", "authorizationUrl"),
        ("tokenEndpoint", "tokenUrl"),
    ],
    types: &[("local", Transport::Stdio), ("remote", Transport::Http)],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::BraceEnv]),
    expands: EVERYWHERE,
    unset: Unset::Empty,
    asks: Asks::Never,
    same_name: "project before user; version 1 merges the two field by field, version 2 takes the whole entry",
    plugins: "",
    notes: &[
        "`command` is an array of the program and its arguments.",
        "Version 1 has names under `mcp` and `enabled`; version 2 has them under `mcp.servers`, and \
         `disabled`.",
        "`{file:path}` is replaced by the content of a file; Keyway refuses it.",
    ],
    sources: &[
        "https://opencode.ai/docs/mcp-servers",
        "https://opencode.ai/v2/docs/mcp-servers/",
        "https://opencode.ai/docs/config",
    ],
};
