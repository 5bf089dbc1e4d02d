//! `config.toml` as this process finds it, and what the environment adds to it.

use std::path::PathBuf;

use keyway::connect::{HttpSettings, ProxySettings, RootCertificates};
use keyway::identity::Files;
use keyway::settings::{Network, Settings, SettingsRefusal};
use keyway_secret::Secret;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// Reads the file; without one, and without a home, everything is as by default.
pub(crate) fn read() -> Result<Settings, SettingsRefusal> {
    let Some(folders) = ProcessEnvironment::folders() else {
        return Ok(Settings::default());
    };
    let home = ProcessEnvironment::home();
    keyway::settings::read(&folders.config, home.as_deref())
}

/// Puts together how the network is reached: the environment stands above the file.
pub(crate) fn http(network: &Network) -> Result<HttpSettings, CliError> {
    let proxy = |name: &str| {
        let lower = ProcessEnvironment::text(&name.to_ascii_lowercase());
        lower
            .or_else(|| ProcessEnvironment::text(name))
            .map(Secret::new)
    };
    let direct = proxy("NO_PROXY").map(|value| value.expose().clone());
    let own: Option<PathBuf> = ProcessEnvironment::text("SSL_CERT_FILE").map(PathBuf::from);
    let identity = identity_files(network).map(|files| files.read());
    let mut settings = HttpSettings::default();
    settings.root_certificates = RootCertificates {
        // The list that the environment names stands in for the system's.
        system: own.is_none(),
        files: own.into_iter().chain(network.roots.clone()).collect(),
    };
    settings.proxies = ProxySettings {
        https: proxy("HTTPS_PROXY"),
        http: proxy("HTTP_PROXY"),
        all: proxy("ALL_PROXY").or_else(|| network.proxy.clone()),
        none: direct.or_else(|| Some(network.no_proxy.join(","))),
    };
    settings.identity = identity.transpose()?;
    Ok(settings)
}

/// Returns what else decides about connections of this process: how the network is reached, and
/// what `config.toml` says.
pub(crate) fn around() -> Vec<Secret<Vec<u8>>> {
    let mut words = Vec::new();
    for name in DECISIVE {
        for name in [(*name).to_owned(), name.to_ascii_lowercase()] {
            let value = ProcessEnvironment::text(&name).unwrap_or_default();
            words.push(Secret::new(value.into_bytes()));
        }
    }
    let folder = ProcessEnvironment::folders().map(|folders| folders.config);
    let file = folder.and_then(|folder| std::fs::read(folder.join("config.toml")).ok());
    words.push(Secret::new(file.unwrap_or_default()));
    words
}

/// Returns where the client certificate of the settings is.
pub(crate) fn identity_files(network: &Network) -> Option<Files> {
    let found = network.client_certificate.as_ref()?;
    Some(Files::new(found.certificate.clone(), found.key.clone()))
}

/// The variables by which the network is reached.
const DECISIVE: &[&str] = &[
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
];
