//! Gemini CLI: its settings, and its extensions.

use super::HostFieldRole::{Args, Command, Cwd, Env, Headers, OAuth, TimeoutMs, Type, Url};
use super::fields::{field, other};
use super::{
    Asks, Dialect, EVERYWHERE, FileScope, Holds, Layout, Syntax, Unset, Untyped, file, whole_file,
};
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "gemini-cli",
    name: "Gemini CLI",
    files: &[
        file(".gemini/settings.json", FileScope::Project, Holds::Settings),
        whole_file(
            "gemini-extension.json",
            Holds::Settings,
            &["name", "version"],
        ),
    ],
    syntax: Syntax::JsonWithComments,
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
        field("httpUrl", Url(Some(Transport::Http))),
        field("url", Url(None)),
        field("tcp", Url(Some(Transport::Ws))),
        field("headers", Headers),
        field("oauth", OAuth),
        field("timeout", TimeoutMs),
        other("trust"),
        other("description"),
        other("includeTools"),
        other("excludeTools"),
        other("extension"),
        other("authProviderType"),
        other("targetAudience"),
        other("targetServiceAccount"),
    ],
    oauth: &[
        ("clientId", "clientId"),
        ("clientSecret", "clientSecret"),
        ("scopes", "scopes"),
        ("authorizationUrl", "authorizationUrl"),
        ("tokenUrl", "tokenUrl"),
        ("redirectUri", "redirectUri"),
    ],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::of(&[
        VariableForm::Plain,
        VariableForm::Default,
        VariableForm::Dollar,
    ])
    .with(&[
        ("extensionPath", KnownValue::Variable("HOST_PLUGIN_ROOT")),
        ("workspacePath", KnownValue::Variable("HOST_PROJECT_DIR")),
        ("pathSeparator", KnownValue::Text("/")),
        ("/", KnownValue::Text("/")),
    ]),
    expands: EVERYWHERE,
    unset: Unset::Literal,
    asks: Asks::Settings,
    same_name: "workspace before user before extension; the whole entry counts",
    plugins: "An extension is a folder with `gemini-extension.json`; its `settings` name the \
              variables that a person is asked for.",
    notes: &[
        "A variable that is set but empty stays empty; its default is not used.",
        "Variables of the shell that look like credentials do not reach an extension's process \
         unless its `settings` name them.",
    ],
    sources: &[
        "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md",
        "https://github.com/google-gemini/gemini-cli/blob/main/docs/extensions/reference.md",
    ],
};
