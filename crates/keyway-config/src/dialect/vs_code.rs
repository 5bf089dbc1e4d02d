//! VS Code, and the GitHub Copilot plugin for JetBrains, which took over its form.

use super::HostFieldRole::{Args, Command, Cwd, Env, EnvFile, Headers, OAuth, Type, Url};
use super::fields::{field, other};
use super::{Asks, Dialect, EVERYWHERE, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "vs-code",
    name: "VS Code",
    files: &[
        file(".vscode/mcp.json", FileScope::Project, Holds::Entries),
        file(".vscode/settings.json", FileScope::Project, Holds::Settings),
        file(
            ".devcontainer/devcontainer.json",
            FileScope::Project,
            Holds::Settings,
        ),
        file(
            ".devcontainer/*/devcontainer.json",
            FileScope::Project,
            Holds::Settings,
        ),
        file(".devcontainer.json", FileScope::Project, Holds::Settings),
        file("Code/User/mcp.json", FileScope::User, Holds::Entries),
        file(
            "Code/User/profiles/*/mcp.json",
            FileScope::User,
            Holds::Entries,
        ),
        file(
            "github-copilot/intellij/mcp.json",
            FileScope::User,
            Holds::Entries,
        ),
    ],
    syntax: Syntax::Jsonc,
    wrappers: &[
        &["servers"],
        &["mcp", "servers"],
        &["customizations", "vscode", "mcp", "servers"],
        &["customizations", "vscode", "settings", "mcp", "servers"],
    ],
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
        field("cwd", Cwd),
        field("url", Url(None)),
        field("headers", Headers),
        field("oauth", OAuth),
        other("dev"),
        other("sandbox"),
        other("sandboxEnabled"),
        other("gallery"),
        other("version"),
    ],
    oauth: &[("clientId", "clientId")],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::of(&[VariableForm::Input, VariableForm::EnvPrefix]).with(&[
        ("workspaceFolder", KnownValue::Variable("HOST_PLUGIN_ROOT")),
        ("workspaceRoot", KnownValue::Variable("HOST_PLUGIN_ROOT")),
        ("userHome", KnownValue::Variable("HOME")),
        ("pathSeparator", KnownValue::Text("/")),
        ("/", KnownValue::Text("/")),
    ]),
    expands: EVERYWHERE,
    unset: Unset::Empty,
    asks: Asks::Inputs,
    same_name: "not documented",
    plugins: "",
    notes: &[
        "There is no form with a default: `${env:NAME:-text}` asks for a variable of that whole name.",
        "`${command:…}`, `${config:…}` and inputs of the type `command` need the editor; Keyway \
         refuses them.",
    ],
    sources: &[
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
        "https://code.visualstudio.com/docs/reference/variables-reference",
    ],
};
