//! Claude Desktop's own file, in which nothing is replaced and only programs are started.

use super::HostFieldRole::{Args, Command, Cwd, Env};
use super::fields::field;
use super::{Asks, Dialect, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::VariableSyntax;
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "claude-desktop",
    name: "Claude Desktop",
    files: &[
        file(
            "claude_desktop_config.json",
            FileScope::User,
            Holds::Entries,
        ),
        file(
            "claude_desktop_config*.json",
            FileScope::User,
            Holds::Entries,
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
        field("command", Command),
        field("args", Args),
        field("env", Env),
        field("cwd", Cwd),
    ],
    oauth: &[],
    types: &[("stdio", Transport::Stdio)],
    untyped: Untyped::Refused,
    variables: VariableSyntax::NONE,
    expands: &[],
    unset: Unset::Literal,
    asks: Asks::Never,
    same_name: "there is one file",
    plugins: "Bundles (`.mcpb`), see [MCPB](mcpb.md). Keyway starts one that is given by \
              `--config FILE.mcpb`; those that Claude Desktop installed are its own.",
    notes: &[
        "Remote servers are added in the application as connectors; the file cannot hold them.",
    ],
    sources: &["https://modelcontextprotocol.io/docs/develop/connect-local-servers"],
};
