//! From an address to a session, by the stages that every host goes through.

use std::path::Path;
use std::sync::Arc;

use keyway::connect::{Connected, Host, HttpClient, HttpSettings, Isolation, Launcher, Target};
use keyway::settings::Confinement;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::resolve::{ServerSpec, resolve};
use keyway_config::source::Source;
use keyway_mcp::session::{ClientInfo, Session};
use keyway_testkit::conformance::Context;
use serde_json::json;

use crate::accounts::accounts;
use crate::person::Person;
use crate::work::Failure;

/// Connects to the server at `url` and greets it.
pub(crate) async fn open(url: &str, context: &Context, home: &Path) -> Result<Session, Failure> {
    let variables = HostVariables::default();
    let spec = spec(url, &variables)?;
    let target = Target {
        plugin: "conformance",
        files: None,
        confinement: Confinement::default(),
        spec: &spec,
        host: &variables,
        grants: &[],
    };
    let Connected {
        connection, offer, ..
    } = host(context, home)?.connect(target).await?;
    let client = ClientInfo {
        name: "keyway-conformance".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(Session::open(connection, client, Arc::new(Person), offer).await?)
}

/// Describes this process as a host.
fn host(context: &Context, home: &Path) -> Result<Host, Failure> {
    let (accounts, environment) = accounts(context, home)?;
    let http = HttpClient::new(HttpSettings::default());
    Ok(Host {
        http: http.map_err(keyway::connect::ConnectError::from)?,
        launcher: Launcher::new("/proc/self/exe"),
        environment,
        isolation: Isolation::default(),
        log: None,
        accounts: Some(accounts),
        events: keyway::events::Events::default(),
        supplied: None,
    })
}

/// Resolves the entry that a plugin's author would write: `type` and `url`, nothing else.
fn spec(url: &str, variables: &HostVariables) -> Result<ServerSpec, Failure> {
    let entry = json!({ "server": { "type": "http", "url": url } });
    let source = Source::new(".mcp.json", entry.to_string().as_bytes());
    let document = Document::parse(source, DocumentKind::Entries);
    let nothing = Variables::default();
    let scope = Scope::new(variables, &nothing);
    let declared = document
        .entries
        .first()
        .and_then(|entry| entry.server.as_ref().ok())
        .ok_or(Failure::Entry)?;
    resolve(declared, &scope).map_err(|_| Failure::Entry)
}
