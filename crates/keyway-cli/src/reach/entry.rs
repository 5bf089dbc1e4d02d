//! Which entry a name on the command line means.

use keyway::load::Loaded;
use keyway_config::declared::DeclaredServer;
use keyway_config::document::Document;
use keyway_config::names::nearest_name;
use keyway_mcp::whereabouts::Whereabouts;
use keyway_secret::printable;

use super::error::ReachError;
use super::left_out::{no_server, why_missing};
use crate::error::CliError;

/// Finds the entry that a name means: `SERVER`, or `PLUGIN:SERVER`; without a name, the only one.
pub(crate) fn find<'a>(
    loaded: &'a Loaded,
    name: Option<&str>,
) -> Result<(&'a Document, &'a DeclaredServer), CliError> {
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
            [] => Err(no_server([loaded])),
            several => Err(CliError::from(ReachError::WhichServer {
                names: several
                    .iter()
                    .map(|(_, server)| server.name.clone())
                    .collect(),
            })),
        };
    };
    let own = name.strip_prefix(&format!("{plugin}:")).unwrap_or(name);
    // Of a name that stands twice the manifest's wins, which comes last.
    let found = servers.iter().rev().find(|(_, server)| server.name == own);
    match found {
        Some((_, server)) if server.disabled => Err(CliError::from(ReachError::Disabled {
            server: server.name.clone(),
        })),
        Some(found) => Ok(*found),
        None => Err(match why_missing(loaded, own) {
            Some(left_out) => ReachError::LeftOut(Box::new(left_out)).into(),
            None => CliError::UnknownServer {
                name: printable(name),
                near: nearest_name(own, servers.iter().map(|(_, server)| server.name.as_str())),
            },
        }),
    }
}

/// Says where a server is declared, for who is told a command.
pub(crate) fn whereabouts(loaded: &Loaded, server: &str) -> Whereabouts {
    Whereabouts::new(loaded.plugin.name(), server.to_owned(), loaded.config())
}
