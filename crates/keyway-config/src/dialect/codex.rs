//! Codex: TOML, in which nothing is replaced; variables are named by fields of their own.

use super::HostFieldRole::{
    Args, BearerFromEnv, Command, Cwd, Enabled, Env, EnvNames, Headers, HeadersFromEnv, Helper,
    OAuth, OAuthMember, TimeoutSeconds, Url,
};
use super::fields::{field, other};
use super::{Asks, Dialect, FileScope, Holds, Layout, Syntax, Unset, Untyped, file};
use crate::template::VariableSyntax;
use crate::transport::Transport;

pub(super) static DIALECT: Dialect = BASE;

/// The files of a plugin: JSON under the key of other hosts or under none, with the fields of Codex.
pub(super) static PLUGIN: Dialect = Dialect {
    files: &[],
    syntax: Syntax::Json,
    wrappers: &[&["mcpServers"]],
    layout: Layout::MapOrBare,
    types: &[
        ("http", Transport::Http),
        ("streamable_http", Transport::Http),
        ("streamable-http", Transport::Http),
        ("stdio", Transport::Stdio),
    ],
    oauth: &[
        ("clientId", "clientId"),
        ("client_id", "clientId"),
        ("callback_port", "callbackPort"),
    ],
    ..BASE
};

const BASE: Dialect = Dialect {
    id: "codex",
    name: "Codex",
    files: &[file(
        ".codex/config.toml",
        FileScope::Project,
        Holds::Settings,
    )],
    syntax: Syntax::Toml,
    wrappers: &[&["mcp_servers"]],
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
        field("env_vars", EnvNames),
        field("cwd", Cwd),
        field("url", Url(Some(Transport::Http))),
        field("http_headers", Headers),
        field("env_http_headers", HeadersFromEnv),
        field("bearer_token_env_var", BearerFromEnv),
        field("http_headers_helper", Helper),
        field("oauth", OAuth),
        field("scopes", OAuthMember("scopes")),
        field("oauth_resource", OAuthMember("resource")),
        field("tool_timeout_sec", TimeoutSeconds),
        field("enabled", Enabled),
        other("startup_timeout_sec"),
        other("startup_timeout_ms"),
        other("required"),
        other("name"),
        other("enabled_tools"),
        other("disabled_tools"),
        other("default_tools_approval_mode"),
        other("supports_parallel_tool_calls"),
        other("environment_id"),
        other("experimental_environment"),
        other("tools"),
        other("auth"),
    ],
    oauth: &[("client_id", "clientId"), ("callback_port", "callbackPort")],
    types: &[],
    untyped: Untyped::Always(Transport::Http),
    variables: VariableSyntax::NONE,
    expands: &[],
    unset: Unset::HeaderDropped,
    asks: Asks::Names,
    same_name: "project before user, merged field by field",
    plugins: "A folder with `.codex-plugin/plugin.json`, whose `mcpServers` is a path or a map. A \
              marketplace is `.agents/plugins/marketplace.json`, else \
              `.claude-plugin/marketplace.json`.",
    notes: &[
        "A project's file counts only once the project is trusted.",
        "A literal `bearer_token` is refused, and a key `headers` is ignored without a word.",
    ],
    sources: &[
        "https://developers.openai.com/codex/mcp",
        "https://github.com/openai/codex/blob/main/codex-rs/config/src/mcp_types.rs",
    ],
};
