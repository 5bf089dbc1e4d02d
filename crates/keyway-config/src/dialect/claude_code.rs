//! Claude Code, whose entries the contract extends. Files of no other host are read as its own.

use super::HostFieldRole::{
    Args, Command, Cwd, Disabled, Enabled, Env, EnvFile, Headers, Helper, OAuth, TimeoutMs, Type,
    Url,
};
use super::fields::{field, other};
use super::{
    Asks, ContractAdditions, Dialect, EVERYWHERE, FileScope, Holds, HostField, Layout, Place,
    Syntax, Unset, Untyped, file, whole_file,
};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "claude-code",
    name: "Claude Code",
    files: &[
        file(".mcp.json", FileScope::Project, Holds::Entries),
        file("mcp.json", FileScope::Plugin, Holds::Entries),
        whole_file(".claude-plugin/plugin.json", Holds::Manifest, &["name"]),
        file(
            ".codex-plugin/plugin.json",
            FileScope::Plugin,
            Holds::Manifest,
        ),
        file("plugin.json", FileScope::Plugin, Holds::Manifest),
        whole_file(
            ".claude-plugin/marketplace.json",
            Holds::Marketplace,
            &["name", "owner", "plugins"],
        ),
        file(
            ".agents/plugins/marketplace.json",
            FileScope::Plugin,
            Holds::Marketplace,
        ),
        file(".claude.json", FileScope::User, Holds::Settings),
        file("managed-mcp.json", FileScope::System, Holds::Entries),
    ],
    syntax: Syntax::Json,
    wrappers: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
    layout: Layout::MapOrBare,
    built_in: &[],
    head: &[],
    constants: &[],
    may_lack_endpoint: false,
    required: &[],
    is_closed: false,
    fields: FIELDS,
    oauth: &[
        ("clientId", "clientId"),
        ("clientSecret", "clientSecret"),
        ("scopes", "scopes"),
        ("callbackPort", "callbackPort"),
        ("authServerMetadataUrl", "authServerMetadataUrl"),
    ],
    types: &[
        ("stdio", Transport::Stdio),
        ("http", Transport::Http),
        ("streamable-http", Transport::Http),
        ("sse", Transport::Sse),
        ("ws", Transport::Ws),
    ],
    untyped: Untyped::Refused,
    variables: VariableSyntax {
        forms: &[
            VariableForm::Plain,
            VariableForm::Default,
            VariableForm::EnvPrefix,
            VariableForm::UserConfig,
        ],
        ..VariableSyntax::CONTRACT
    },
    expands: EVERYWHERE,
    unset: Unset::Literal,
    asks: Asks::UserConfig,
    same_name: "local before project before user before plugin; the whole entry counts",
    plugins: "A folder with `.mcp.json`, or a `.claude-plugin/plugin.json` whose `mcpServers` is a \
              path, a map or an array of those, with `userConfig` for what a person is asked for. A \
              marketplace is `.claude-plugin/marketplace.json`, whose `plugins` have a `source` that \
              is a path or an object with `github`, `url`, `git-subdir`, `npm`, `archive` or `command`.",
    notes: &[
        "`${env:NAME}`, variables in `oauth`, `envFile`, `cwd` and the object form of \
         `headersHelper` are the contract's; Claude Code itself does not read them.",
        "A bundle (`.mcpb`) that `mcpServers` of a manifest names by its path is unpacked and started, see \
         [MCPB](mcpb.md); one with an address is downloaded by Claude Code and not by Keyway.",
        "An entry with `url` and no `type` is skipped by Claude Code; Keyway tells the transport \
         from the address.",
    ],
    sources: &[
        "https://code.claude.com/docs/en/mcp",
        "https://code.claude.com/docs/en/plugins-reference",
        "https://code.claude.com/docs/en/plugin-marketplaces",
    ],
};

/// What the contract reads and fills in beyond Claude Code.
pub(super) static ADDITIONS: ContractAdditions = ContractAdditions {
    forms: &[VariableForm::EnvPrefix],
    places: &[Place::OAuth, Place::Cwd, Place::EnvFile],
    fields: &[
        (
            "cwd",
            "Keyway reads it; Claude Code starts the program in its own folder, so write \
             `${CLAUDE_PLUGIN_ROOT:-.}` or `${CLAUDE_PROJECT_DIR:-.}` in front of paths in `args`",
        ),
        (
            "envFile",
            "Keyway reads it; for Claude Code name the variables in `env`, as `\"NAME\": \"${NAME}\"`",
        ),
    ],
};

const FIELDS: &[HostField] = &[
    field("type", Type),
    field("url", Url(None)),
    field("headers", Headers),
    field("headersHelper", Helper),
    field("oauth", OAuth),
    field("command", Command),
    field("args", Args),
    field("env", Env),
    field("cwd", Cwd),
    field("envFile", EnvFile),
    field("timeout", TimeoutMs),
    field("disabled", Disabled),
    field("enabled", Enabled),
    other("alwaysLoad"),
];
