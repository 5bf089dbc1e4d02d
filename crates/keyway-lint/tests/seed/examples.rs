//! Every shape of entry that the seed shows, in one plugin that does what the seed asks for.

use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::method::Method;
use keyway_config::plugin::ProgramState;

use crate::trial::{Trial, Versioned};

const EXAMPLES: &str = r#"{
  "oauth-sse": {"type": "sse", "url": "https://mcp.example.com/sse"},
  "oauth-http": {"type": "http", "url": "https://mcp.example.com/mcp"},
  "bearer": {"type": "http", "url": "https://api.example.com/mcp",
    "headers": {"Authorization": "Bearer ${API_TOKEN}"}},
  "bearer-sse": {"type": "sse", "url": "https://api.example.com/sse",
    "headers": {"Authorization": "Bearer ${API_TOKEN}"}},
  "bearer-ws": {"type": "ws", "url": "wss://api.example.com/ws",
    "headers": {"Authorization": "Bearer ${API_TOKEN}"}},
  "basic": {"type": "http", "url": "https://api.example.com/mcp",
    "headers": {"Authorization": "Basic ${BASE64_CREDENTIALS}"}},
  "api-key": {"type": "http", "url": "https://api.example.com/mcp",
    "headers": {"X-API-Key": "${API_KEY}", "X-API-Secret": "${API_SECRET}"}},
  "custom": {"type": "sse", "url": "https://mcp.example.com/sse",
    "headers": {"X-Auth-Token": "${AUTH_TOKEN}", "X-User-ID": "${USER_ID}",
      "X-Tenant-ID": "${TENANT_ID}"}},
  "database": {"command": "python", "args": ["-m", "mcp_server_db"],
    "env": {"DATABASE_URL": "${DATABASE_URL}", "DB_USER": "${DB_USER}",
      "DB_PASSWORD": "${DB_PASSWORD}"}},
  "in-plugin": {"command": "${HOST_PLUGIN_ROOT}/servers/run",
    "args": ["--config", "${HOST_PLUGIN_ROOT}/config.json", "--user", "${USER_ID}"]},
  "workspace": {"type": "http", "url": "https://api.example.com/mcp",
    "headers": {"Authorization": "Bearer ${API_TOKEN}", "X-Workspace-ID": "${WORKSPACE_ID}"}},
  "tenant": {"type": "http", "url": "https://${TENANT_ID}.api.example.com/mcp"},
  "jwt": {"type": "sse", "url": "https://api.example.com/sse",
    "headersHelper": "${HOST_PLUGIN_ROOT}/scripts/get-headers.sh"},
  "hmac": {"type": "http", "url": "https://api.example.com/mcp",
    "headersHelper": "${HOST_PLUGIN_ROOT}/scripts/sign.sh",
    "env": {"SIGNING_SECRET": "${SIGNING_SECRET}", "API_KEY": "${API_KEY}"}},
  "mtls": {"command": "${HOST_PLUGIN_ROOT}/servers/mtls-wrapper",
    "args": ["--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}"],
    "env": {"API_URL": "https://secure.example.com"}}
}"#;

const VARIABLES: &[(&str, &str)] = &[
    ("API_TOKEN", "t-1"),
    ("API_KEY", "k-1"),
    ("API_SECRET", "s-1"),
    ("AUTH_TOKEN", "t-2"),
    ("USER_ID", "u-1"),
    ("TENANT_ID", "acme"),
    ("WORKSPACE_ID", "w-1"),
    ("DATABASE_URL", "postgres://db.example/main"),
    ("DB_USER", "reader"),
    ("DB_PASSWORD", "p-1"),
    ("BASE64_CREDENTIALS", "dTpw"),
    ("CLIENT_CERT", "/certs/c.pem"),
    ("CLIENT_KEY", "/certs/k.pem"),
    ("SIGNING_SECRET", "s-2"),
];

fn examples() -> Trial {
    let names: Vec<_> = VARIABLES.iter().map(|(name, _)| *name).collect();
    let readme = format!(
        "# Plugin\n\nexport {}\n\n## Permissions\n\nread, create and update, workspace access\n",
        names.join(" ")
    );
    let sign = "#!/bin/sh\nsign \"$SIGNING_SECRET\" \"$API_KEY\"\n";
    Trial::file(EXAMPLES)
        .manifest(r#"{"name": "examples"}"#)
        .readme(&readme)
        .env_file(Versioned::Ignored)
        .script(
            "${HOST_PLUGIN_ROOT}/scripts/get-headers.sh",
            ProgramState::Executable,
            "#!/bin/sh\nget-jwt\n",
        )
        .script(
            "${HOST_PLUGIN_ROOT}/scripts/sign.sh",
            ProgramState::Executable,
            sign,
        )
        .with(VARIABLES)
}

#[track_caller]
fn assert_clean(found: &[Diagnostic]) {
    let bad = found.iter().filter(|d| d.severity > Severity::Info);
    let bad = bad.map(|d| format!("{:?} {}: {}", d.server, d.code, d.message));
    assert_eq!(bad.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_example_of_the_seed_lints_clean() {
    assert_clean(&examples().lint());
    assert_clean(&examples().lint_env());
    assert_clean(&examples().strict().lint());
    assert_clean(&examples().strict().lint_env());
}

#[test]
fn every_example_of_the_seed_is_loaded_and_authenticates_as_shown() {
    let trial = examples();
    let servers = trial.plugin().servers();
    let methods: Vec<_> = servers
        .map(|(_, server)| (server.name.as_str(), Method::declared(server)))
        .collect();
    assert_eq!(
        methods,
        [
            ("oauth-sse", Method::OAuth),
            ("oauth-http", Method::OAuth),
            ("bearer", Method::Static),
            ("bearer-sse", Method::Static),
            ("bearer-ws", Method::Static),
            ("basic", Method::Static),
            ("api-key", Method::Static),
            ("custom", Method::Static),
            ("database", Method::Environment),
            ("in-plugin", Method::None),
            ("workspace", Method::Static),
            ("tenant", Method::OAuth),
            ("jwt", Method::Dynamic),
            ("hmac", Method::Dynamic),
            ("mtls", Method::Environment),
        ]
    );
}
