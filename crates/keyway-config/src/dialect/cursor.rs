//! Cursor: its files, and its plugins.

use super::HostFieldRole::{Args, Command, Env, EnvFile, Headers, OAuth, Type, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, FileScope, Holds, Layout, Place, Syntax, Unset, Untyped, file};
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = BASE;

/// The files of a plugin, in which `${NAME}` refers to the manifest's `variables`.
pub(super) static PLUGIN: Dialect = Dialect {
    files: &[],
    variables: VariableSyntax::of(&[VariableForm::Plain, VariableForm::EnvPrefix]).with(KNOWN),
    ..BASE
};

const BASE: Dialect = Dialect {
    id: "cursor",
    name: "Cursor",
    files: &[
        file(".cursor/mcp.json", FileScope::Project, Holds::Entries),
        file(
            ".cursor-plugin/plugin.json",
            FileScope::Plugin,
            Holds::Manifest,
        ),
        file(
            ".cursor-plugin/marketplace.json",
            FileScope::Plugin,
            Holds::Marketplace,
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
        field("envFile", EnvFile),
        field("url", Url(None)),
        field("headers", Headers),
        field("auth", OAuth),
        other("disabled"),
        other("autoApprove"),
        other("alwaysAllow"),
    ],
    oauth: &[
        ("CLIENT_ID", "clientId"),
        ("CLIENT_SECRET", "clientSecret"),
        ("scopes", "scopes"),
    ],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("streamable-http", Transport::Http),
        ("streamableHttp", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::of(&[VariableForm::EnvPrefix]).with(KNOWN),
    expands: &[
        Place::Command,
        Place::Args,
        Place::Env,
        Place::EnvFile,
        Place::Url,
        Place::Headers,
        Place::OAuth,
    ],
    unset: Unset::Unknown,
    asks: Asks::Variables,
    same_name: "project and user files are merged; which wins is not documented",
    plugins: "A folder with `.cursor-plugin/plugin.json`, whose `mcpServers` is a path, a map or an \
              array of those, usually `./mcp.json`; its `variables` is a schema of what a person is \
              asked for, and `${NAME}` refers to it. A marketplace is \
              `.cursor-plugin/marketplace.json`, whose sources are paths without `./`.",
    notes: &["The key `type` is not needed: `command` or `url` decides."],
    sources: &[
        "https://cursor.com/docs/context/mcp",
        "https://github.com/cursor/plugins",
    ],
};

const KNOWN: &[(&str, KnownValue)] = &[
    ("workspaceFolder", KnownValue::Variable("HOST_PLUGIN_ROOT")),
    ("userHome", KnownValue::Variable("HOME")),
    ("pathSeparator", KnownValue::Text("/")),
    ("/", KnownValue::Text("/")),
];
