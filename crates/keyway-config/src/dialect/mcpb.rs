//! The manifest of an MCP bundle (`.mcpb`, once `.dxt`), which Claude Desktop installs.

use super::HostFieldRole::{Args, Command, Env, PlatformOverrides};
use super::fields::field;
use super::{Asks, Dialect, Holds, Layout, Place, Syntax, Unset, Untyped, whole_file};
use crate::template::{KnownValue, VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "mcpb",
    name: "MCPB",
    files: &[whole_file(
        "manifest.json",
        Holds::Settings,
        &[
            "manifest_version|dxt_version",
            "name",
            "version",
            "description",
            "author",
            "author.name",
            "server",
            "server.type",
            "server.entry_point",
            "user_config.*.type",
            "user_config.*.title",
            "user_config.*.description",
        ],
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
        field("platform_overrides", PlatformOverrides),
    ],
    oauth: &[],
    types: &[("stdio", Transport::Stdio)],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::UserConfig]).with(&[
        ("__dirname", KnownValue::Variable("HOST_PLUGIN_ROOT")),
        ("HOME", KnownValue::Variable("HOME")),
        ("DESKTOP", KnownValue::Variable("XDG_DESKTOP_DIR")),
        ("DOCUMENTS", KnownValue::Variable("XDG_DOCUMENTS_DIR")),
        ("DOWNLOADS", KnownValue::Variable("XDG_DOWNLOAD_DIR")),
        ("pathSeparator", KnownValue::Text("/")),
        ("/", KnownValue::Text("/")),
    ]),
    expands: &[Place::Command, Place::Args, Place::Env],
    unset: Unset::Literal,
    asks: Asks::UserConfig,
    same_name: "a bundle has one server",
    plugins: "The bundle is a zip with `manifest.json` at its root; `user_config` says what a person \
              is asked for.",
    notes: &[
        "Variables of the environment are not replaced at all.",
        "`keyway check` reads the manifest inside of a bundle. `keyway run --config FILE.mcpb` and all \
         other commands that start a server unpack it first, into Keyway's data folder; so they do with a \
         bundle that a plugin of Claude Code names by its path. A new version is asked about, with the files \
         that changed. A signature behind the archive is not verified.",
        "The server reads its files and cannot write them. What it keeps belongs into a folder that it is \
         told, or into `HOST_PLUGIN_DATA`, which it has in its environment.",
        "Of `platform_overrides` that of the platform counts on which Keyway runs: what it has takes the \
         place of `command`, `args` and `env`, each as a whole.",
        "Values of several words have no effect in Keyway. A bundle of type `uv` needs no `mcp_config`: \
         Keyway then runs `uv run --directory FOLDER ENTRY_POINT`. Its environment is kept outside of the \
         folder; in a bundle without `uv.lock` it is made for each start (`UV_ISOLATED`).",
    ],
    sources: &[
        "https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md",
        "https://github.com/modelcontextprotocol/mcpb/blob/main/src/schemas/0.4.ts",
    ],
};
