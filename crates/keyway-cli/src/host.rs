//! The process as a host: its HTTP client, its launcher, and what children are kept from.

use std::path::PathBuf;

use keyway::connect::Host;
use keyway::connect::{
    HttpClient, HttpSettings, Isolation, Launcher, ProxySettings, Trust, harden_self,
};
use keyway_secret::Secret;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::reach::ReachError;

/// Hardens this process, which is about to hold secrets, and describes it as a host.
pub(crate) fn open() -> Result<Host, CliError> {
    harden_self().map_err(|source| ReachError::Harden { source })?;
    let folders = ProcessEnvironment::folders();
    let hidden = folders.map(|folders| {
        let paths = [folders.data, folders.config, folders.runtime];
        paths.to_vec()
    });
    Ok(Host {
        http: HttpClient::new(settings()).map_err(keyway::connect::ConnectError::from)?,
        launcher: Launcher::new("/proc/self/exe"),
        environment: ProcessEnvironment::all(),
        isolation: Isolation {
            hidden: hidden.unwrap_or_default(),
            ..Isolation::default()
        },
        log: None,
    })
}

fn settings() -> HttpSettings {
    let proxy = |name: &str| {
        let lower = ProcessEnvironment::text(&name.to_ascii_lowercase());
        lower
            .or_else(|| ProcessEnvironment::text(name))
            .map(Secret::new)
    };
    let none = proxy("NO_PROXY").map(|value| value.expose().clone());
    let extra: Option<PathBuf> = ProcessEnvironment::text("SSL_CERT_FILE").map(PathBuf::from);
    HttpSettings {
        // The person's own list of roots stands in for the system's.
        trust: Trust {
            system: extra.is_none(),
            files: extra.into_iter().collect(),
        },
        proxies: ProxySettings {
            https: proxy("HTTPS_PROXY"),
            http: proxy("HTTP_PROXY"),
            all: proxy("ALL_PROXY"),
            none,
        },
        ..HttpSettings::default()
    }
}
