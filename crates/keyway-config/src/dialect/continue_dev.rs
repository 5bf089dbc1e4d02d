//! Continue.

use super::HostFieldRole::{Args, Bearer, Command, Cwd, Env, Headers, Inner, Name, Type, Url};
use super::fields::{field, other};
use super::{
    Asks, Dialect, EVERYWHERE, FileScope, Holds, HostFile, Layout, Place, Syntax, Unset, Untyped,
    file,
};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "continue",
    name: "Continue",
    files: &[
        block(".continue/mcpServers/*.yaml"),
        block(".continue/mcpServers/*.yml"),
        HostFile {
            syntax: Some(Syntax::JsonWithComments),
            ..file(
                ".continue/mcpServers/*.json",
                FileScope::Project,
                Holds::Entries,
            )
        },
        HostFile {
            required: HEAD,
            ..file(".continue/config.yaml", FileScope::User, Holds::Settings)
        },
    ],
    syntax: Syntax::Yaml,
    wrappers: &[&["mcpServers"]],
    layout: Layout::List,
    built_in: &[],
    head: &[
        ("name", "MCP servers"),
        ("version", "0.0.1"),
        ("schema", "v1"),
    ],
    constants: &[],
    may_lack_endpoint: false,
    required: &[],
    is_closed: false,
    fields: &[
        field("name", Name),
        field("type", Type),
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("cwd", Cwd),
        field("url", Url(None)),
        field("apiKey", Bearer),
        field("requestOptions", Inner(&[field("headers", Headers)])),
        other("connectionTimeout"),
        other("faviconUrl"),
        other("serverName"),
        other("sourceFile"),
        other("sourceSlug"),
    ],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("sse", Transport::Sse),
        ("streamable-http", Transport::Http),
    ],
    untyped: Untyped::Inferred,
    variables: VariableSyntax::of(&[VariableForm::Expression]),
    expands: EVERYWHERE,
    unset: Unset::Unknown,
    asks: Asks::Names,
    same_name: "not documented",
    plugins: "",
    notes: &[
        "In YAML `mcpServers` is a list whose entries have a `name`; in JSON it is a map, and \
         `${NAME}` is replaced in `env` alone.",
        "A file of YAML needs `name` and `version` at its top. Headers stand in `requestOptions`; in \
         the entry itself they are not read.",
    ],
    sources: &[
        "https://docs.continue.dev/customize/deep-dives/mcp",
        "https://github.com/continuedev/continue/blob/main/packages/config-yaml/src/schemas",
    ],
};

/// A file of servers and nothing else.
const fn block(path: &'static str) -> HostFile {
    HostFile {
        required: HEAD,
        ..file(path, FileScope::Project, Holds::Entries)
    }
}

/// What every file of YAML has at its top; `schema` may be left out.
const HEAD: &[&str] = &["name", "version"];

/// Its JSON files, which take over the form of other hosts. Each entry is turned into one of YAML,
/// and on the way `${NAME}` becomes a secret in `env` and nowhere else; a reference in the form of
/// YAML does not survive it.
pub(super) static JSON: Dialect = Dialect {
    syntax: Syntax::JsonWithComments,
    wrappers: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
    layout: Layout::MapOrEntry,
    head: &[],
    fields: &[
        field("type", Type),
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("url", Url(None)),
        field("headers", Headers),
    ],
    types: &[
        ("stdio", Transport::Stdio),
        ("sse", Transport::Sse),
        ("http", Transport::Http),
    ],
    variables: VariableSyntax::of(&[VariableForm::Plain]),
    expands: &[Place::Env],
    notes: &[],
    ..DIALECT
};
