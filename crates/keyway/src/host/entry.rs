//! Which entry of a plugin a name means.

use keyway_config::declared::DeclaredServer;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::names::nearest_name;
use keyway_config::source::Source;
use keyway_secret::printable;
use serde_json::json;
use url::Url;

use super::error::Error;
use crate::load::Loaded;

/// Finds the entry that a name means: `SERVER`, or `PLUGIN:SERVER`; without a name, the only one.
pub(super) fn find<'a>(
    loaded: &'a Loaded,
    name: Option<&str>,
) -> Result<(&'a Document, &'a DeclaredServer), Error> {
    let plugin = loaded.plugin.name();
    let usable = |(document, _): &(&Document, &DeclaredServer)| document.is_usable();
    let servers: Vec<_> = loaded.plugin.servers().filter(usable).collect();
    let Some(name) = name else {
        let enabled: Vec<_> = servers
            .iter()
            .filter(|(_, server)| !server.disabled)
            .collect();
        return match enabled.as_slice() {
            [only] => Ok(**only),
            several => Err(Error::WhichServer {
                names: several
                    .iter()
                    .map(|(_, server)| server.name.clone())
                    .collect(),
            }),
        };
    };
    let own = name.strip_prefix(&format!("{plugin}:")).unwrap_or(name);
    // Of a name that appears twice the manifest's wins, which comes last.
    let found = servers.iter().rev().find(|(_, server)| server.name == own);
    match found {
        Some((_, server)) if server.disabled => Err(Error::Disabled {
            server: server.name.clone(),
            declared_at: Box::new(server.declared_at()),
        }),
        Some(found) => Ok(*found),
        None => Err(Error::UnknownServer {
            name: printable(name),
            near: nearest_name(own, servers.iter().map(|(_, server)| server.name.as_str())),
        }),
    }
}

/// Returns the names of the servers of a plugin that are not switched off, sorted.
pub(super) fn usable_names(loaded: &Loaded) -> Vec<String> {
    let usable = |(document, server): &(&Document, &DeclaredServer)| {
        document.is_usable() && !server.disabled
    };
    let servers = loaded.plugin.servers().filter(usable);
    let mut names: Vec<String> = servers.map(|(_, server)| server.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Makes a plugin of one address, as a plugin's author would write it.
pub(super) fn of_address(url: &Url) -> Loaded {
    let host = url.host_str().unwrap_or("server");
    let name = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let kind = if matches!(url.scheme(), "ws" | "wss") {
        "ws"
    } else {
        "http"
    };
    // A `$` of the address is one, and not the beginning of a variable.
    let address = url.as_str().replace("${", "$${");
    let entry = json!({ ONLY_SERVER: { "type": kind, "url": address } });
    let manifest = json!({ "name": name, "mcpServers": entry });
    let source = Source::new("plugin.json", manifest.to_string().as_bytes());
    Loaded::of_document(Document::parse(source, DocumentKind::Manifest))
}

/// The name of the server that [`super::Host::server`] plans.
pub(super) const ONLY_SERVER: &str = "server";
