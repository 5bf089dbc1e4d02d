//! The plugin that declares all servers, as an author would write it: `.mcp.json`, a README, a
//! headers helper. No credential is in it.

use std::path::Path;

use keyway_files::load::Loader;
use keyway_lint::readme;
use serde_json::Value;

use crate::SIGN_WORD;
use crate::credentials::{Credentials, PASSWORD, fingerprint};
use crate::error::DemoError;
use crate::servers::Ports;
use crate::stdio::FINGERPRINT;

/// Writes the plugin into an empty folder; `binary` is the program that is helper and stdio server.
pub(crate) fn write(
    folder: &Path,
    binary: &Path,
    ports: &Ports,
    credentials: &Credentials,
) -> Result<(), DemoError> {
    let binary = binary.to_string_lossy();
    let write = |name: &str, text: &str, mode| {
        keyway_files::write::create(&folder.join(name), text.as_bytes(), mode)
    };
    write(".mcp.json", &entries(&binary, ports), 0o644)?;
    write("sign", &helper(&binary), 0o755)?;
    let password = credentials.get(PASSWORD)?;
    write(FINGERPRINT, &fingerprint(password.expose()), 0o644)?;
    // As `keyway readme --write` does it.
    let loaded = Loader::default()
        .load(folder)
        .map_err(keyway::Error::from)?;
    let section = readme::section(&loaded.plugin);
    let readme = readme::merge(README, &section).replace(DEFAULT_SOURCE, DEMO_SOURCE);
    write("README.md", &readme, 0o644)?;
    Ok(())
}

fn entries(binary: &str, ports: &Ports) -> String {
    let mut text = ENTRIES.to_owned();
    for (mark, port) in [
        ("DOCS", &ports.docs),
        ("SEARCH", &ports.search),
        ("TENANT", &ports.tenant),
        ("SIGNED", &ports.signed),
        ("LIVE", &ports.live),
        ("EVENTS", &ports.events),
    ] {
        text = text.replace(&format!("//{mark}/"), &format!("//{}/", port.authority()));
    }
    text.replace("\"BINARY\"", &Value::from(binary).to_string())
}

/// Signs with the binary that runs the demo, so that nothing else is needed.
fn helper(binary: &str) -> String {
    let quoted = binary.replace('\'', r"'\''");
    format!("#!/bin/sh\n# Prints the headers of one signed request.\nexec '{quoted}' {SIGN_WORD}\n")
}

/// Hosts in capitals stand for the ports of this run.
const ENTRIES: &str = r#"{
  "mcpServers": {
    "docs": {
      "type": "http",
      "url": "http://DOCS/mcp"
    },
    "search": {
      "type": "http",
      "url": "http://SEARCH/mcp",
      "headers": { "Authorization": "Bearer ${DEMO_TOKEN}" }
    },
    "tenant": {
      "type": "http",
      "url": "http://TENANT/mcp",
      "headers": { "X-API-Key": "${DEMO_API_KEY}", "X-Tenant-ID": "${DEMO_TENANT}" }
    },
    "signed": {
      "type": "http",
      "url": "http://SIGNED/mcp",
      "headersHelper": { "command": ["${HOST_PLUGIN_ROOT}/sign"], "refresh": "request" },
      "env": {
        "DEMO_SIGNING_KEY": "${DEMO_SIGNING_KEY}",
        "DEMO_SIGNING_SECRET": "${DEMO_SIGNING_SECRET}"
      }
    },
    "live": {
      "type": "ws",
      "url": "ws://LIVE/mcp",
      "headers": { "Authorization": "Bearer ${DEMO_LIVE_TOKEN}" }
    },
    "events": {
      "type": "sse",
      "url": "http://EVENTS/sse",
      "headers": { "Authorization": "Bearer ${DEMO_EVENTS_TOKEN}" }
    },
    "local": {
      "command": "BINARY",
      "args": ["__demo-stdio"],
      "env": { "DEMO_PASSWORD": "${DEMO_PASSWORD}" }
    }
  }
}
"#;

/// What a generated README says about a variable that the author did not describe.
const DEFAULT_SOURCE: &str = "ask the provider of the server";
const DEMO_SOURCE: &str = "`keyway demo` generates it for this run only";

const README: &str = "# Demo

Seven servers on this machine, one for each way of authenticating. `keyway demo` made this folder, \
serves what it declares, and takes it away again when it ends.

The sign-in of `docs` asks for the scope `tools`: to list and call tools.
";
