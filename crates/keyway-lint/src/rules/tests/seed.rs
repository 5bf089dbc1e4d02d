//! Every shape of entry that the seed of the contract shows or describes lints clean.

use keyway_config::diagnostic::Severity;
use keyway_config::plugin::{Plugin, Program, ProgramState};
use keyway_config::source::Source;

use crate::rules::fixture::plugin;
use crate::rules::{Context, lint};

/// A name for the shape, and the members of its entry.
const SHAPES: &[(&str, &str)] = &[
    (
        "oauth over sse",
        r#""type": "sse", "url": "https://mcp.example.com/sse""#,
    ),
    (
        "oauth over http",
        r#""type": "http", "url": "https://mcp.example.com/mcp""#,
    ),
    (
        "bearer token",
        r#""type": "http", "url": "https://api.example.com/mcp",
           "headers": {"Authorization": "Bearer ${API_TOKEN}"}"#,
    ),
    (
        "bearer token over websocket",
        r#""type": "ws", "url": "wss://mcp.example.com/ws",
           "headers": {"Authorization": "Bearer ${API_TOKEN}"}"#,
    ),
    (
        "basic credentials",
        r#""type": "http", "url": "https://api.example.com/mcp",
           "headers": {"Authorization": "Basic ${BASE64_CREDENTIALS}"}"#,
    ),
    (
        "api key",
        r#""type": "http", "url": "https://api.example.com/mcp",
           "headers": {"X-API-Key": "${API_KEY}", "X-API-Secret": "${API_SECRET}"}"#,
    ),
    (
        "custom headers",
        r#""type": "sse", "url": "https://mcp.example.com/sse",
           "headers": {"X-Auth-Token": "${AUTH_TOKEN}", "X-User-ID": "${USER_ID}",
                       "X-Tenant-ID": "${TENANT_ID}"}"#,
    ),
    (
        "environment of a process",
        r#""command": "python", "args": ["-m", "my_mcp_server"],
           "env": {"DATABASE_URL": "${DATABASE_URL}", "DB_USER": "${DB_USER}",
                   "DB_PASSWORD": "${DB_PASSWORD}"}"#,
    ),
    (
        "program in the plugin",
        r#""command": "${HOST_PLUGIN_ROOT}/servers/run", "args": ["--verbose"]"#,
    ),
    (
        "workspace in a header",
        r#""type": "http", "url": "https://api.example.com/mcp",
           "headers": {"Authorization": "Bearer ${API_TOKEN}",
                       "X-Workspace-ID": "${WORKSPACE_ID}"}"#,
    ),
    (
        "tenant in the host",
        r#""type": "http", "url": "https://${TENANT_ID}.api.example.com/mcp""#,
    ),
    (
        "dynamic headers",
        r#""type": "sse", "url": "https://api.example.com/sse",
           "headersHelper": "${HOST_PLUGIN_ROOT}/scripts/get-headers.sh""#,
    ),
    (
        "signed requests",
        r#""type": "http", "url": "https://api.example.com/mcp",
           "headersHelper": "${HOST_PLUGIN_ROOT}/scripts/sign.sh",
           "env": {"SIGNING_SECRET": "${SIGNING_SECRET}", "API_KEY": "${API_KEY}"}"#,
    ),
    (
        "mutual tls through a wrapper",
        r#""command": "${HOST_PLUGIN_ROOT}/servers/mtls-wrapper",
           "args": ["--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}"],
           "env": {"API_URL": "https://secure.example.com"}"#,
    ),
];

/// The shapes as one plugin whose README says what a README must say.
fn seed() -> Plugin {
    let entries = SHAPES
        .iter()
        .map(|(name, members)| format!("\"{name}\": {{{members}}}"));
    let text = format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
    let mut plugin = plugin(&text);
    let readme = "# Plugin\n\nSet API_TOKEN, API_KEY, API_SECRET, AUTH_TOKEN, USER_ID, TENANT_ID, \
        WORKSPACE_ID, DATABASE_URL, DB_USER, DB_PASSWORD, BASE64_CREDENTIALS, SIGNING_SECRET, \
        CLIENT_CERT and CLIENT_KEY.\n\n## Permissions\n\nScopes: read, create and update, workspace access.\n";
    plugin.snapshot.readme = Some(Source::new("README.md", readme.as_bytes()));
    plugin.snapshot.prose.extend(plugin.snapshot.readme.clone());
    for (name, script) in [("get-headers.sh", JWT_SCRIPT), ("sign.sh", HMAC_SCRIPT)] {
        let script = Source::new(name, script.as_bytes());
        plugin.snapshot.prose.push(script.clone());
        let helper = Program::new(ProgramState::Executable, true, Some(script));
        let path = format!("${{HOST_PLUGIN_ROOT}}/scripts/{name}");
        plugin.snapshot.programs.insert(path, helper);
    }
    plugin
}

#[test]
fn every_shape_of_the_seed_is_loaded_and_lints_clean() {
    let plugin = seed();
    assert_eq!(plugin.servers().count(), SHAPES.len());
    for strict in [false, true] {
        let context = Context::new(&plugin).strict(strict);
        let found = lint(&context);
        let bad: Vec<String> = found
            .iter()
            .filter(|diagnostic| diagnostic.severity > Severity::Info)
            .map(|d| format!("{:?} {}: {}", d.server, d.code, d.message))
            .collect();
        assert_eq!(bad, Vec::<String>::new(), "strict: {strict}");
    }
}

const JWT_SCRIPT: &str = r#"#!/bin/sh
TOKEN=$(token-service --audience "$HOST_MCP_SERVER_URL")
printf '{"Authorization": "Bearer %s"}\n' "$TOKEN"
"#;

const HMAC_SCRIPT: &str = r#"#!/bin/sh
TIMESTAMP=$(date -Iseconds)
SIGNATURE=$(printf '%s' "$TIMESTAMP" | openssl dgst -sha256 -hmac "$SIGNING_SECRET" | cut -d' ' -f2)
cat <<END
{"X-Timestamp": "$TIMESTAMP", "X-Signature": "$SIGNATURE", "X-API-Key": "$API_KEY"}
END
"#;
