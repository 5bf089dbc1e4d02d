//! The `server.json` that a server publishes to the MCP registry.

use super::{
    Asks, Dialect, FileScope, Holds, HostFile, Layout, Place, Syntax, Unset, Untyped, file,
};
use crate::template::{VariableForm, VariableSyntax};
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = Dialect {
    id: "registry",
    name: "MCP registry",
    files: &[HostFile {
        required: &["name", "description", "version"],
        ..file("server.json", FileScope::Project, Holds::Settings)
    }],
    syntax: Syntax::Json,
    wrappers: &[],
    layout: Layout::Registry,
    built_in: &[],
    head: &[],
    constants: &[],
    may_lack_endpoint: false,
    required: &[],
    is_closed: false,
    fields: &[],
    oauth: &[],
    types: &[
        ("stdio", Transport::Stdio),
        ("streamable-http", Transport::Http),
        ("sse", Transport::Sse),
    ],
    untyped: Untyped::Refused,
    variables: VariableSyntax::of(&[VariableForm::Brace]),
    expands: &[Place::Args, Place::Env, Place::Url, Place::Headers],
    unset: Unset::Literal,
    asks: Asks::InPlace,
    same_name: "a file describes one server",
    plugins: "",
    notes: &[
        "Each of `remotes` and each of `packages` is an entry. A package is started by the runner of \
         its registry: `npx`, `uvx`, `docker run`, `dnx`; a bundle is not started.",
        "`isSecret`, `isRequired`, `default` and `choices` say what a person is asked for.",
    ],
    sources: &[
        "https://github.com/modelcontextprotocol/registry/tree/main/docs/reference/server-json",
    ],
};
