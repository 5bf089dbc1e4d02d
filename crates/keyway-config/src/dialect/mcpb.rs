//! The manifest of an MCP bundle (`.mcpb`, once `.dxt`), which Claude Desktop installs.

use super::HostFieldRole::{Args, Command, Cwd, Env};
use super::fields::{field, other};
use super::{Asks, Dialect, Holds, Layout, Place, Syntax, Unset, Untyped, whole_file};
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "mcpb",
    name: "MCPB",
    files: &[whole_file(
        "manifest.json",
        Holds::Settings,
        &["name", "version", "description", "author", "server"],
    )],
    syntax: Syntax::Json,
    wrappers: &[&["server", "mcp_config"]],
    layout: Layout::Single,
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
        field("cwd", Cwd),
        other("platform_overrides"),
    ],
    oauth: &[],
    types: &[("stdio", Transport::Stdio)],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::UserConfig]).with(&[
        ("__dirname", KnownValue::Variable("HOST_PLUGIN_ROOT")),
        ("HOME", KnownValue::Variable("HOME")),
        ("pathSeparator", KnownValue::Text("/")),
        ("/", KnownValue::Text("/")),
    ]),
    expands: &[Place::Command, Place::Args, Place::Env, Place::Cwd],
    unset: Unset::Literal,
    asks: Asks::UserConfig,
    same_name: "a bundle has one server",
    plugins: "The bundle is a zip with `manifest.json` at its root; `user_config` says what a person \
              is asked for.",
    notes: &[
        "Variables of the environment are not replaced at all.",
        "Keyway reads the manifest of an unpacked bundle, and leaves out a bundle that a plugin of \
         Claude Code names. `${DESKTOP}`, `${DOCUMENTS}` and \
         `${DOWNLOADS}`, `platform_overrides` and values of several words are not supported.",
    ],
    sources: &["https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md"],
};
