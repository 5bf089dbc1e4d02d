//! Who may use a gateway beside this machine, and at which address: `[gateway.people]`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use super::words::Algorithm;

/// Where a gateway is reached from other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublicAddress {
    /// Its origin, without a slash at the end: `https`, or `http` on this machine.
    pub origin: String,
    /// The certificate and its key, if the gateway itself speaks TLS.
    pub tls: Option<TlsFiles>,
    /// The addresses of proxies that speak TLS in front of it; connections of others are closed.
    pub trusted_proxies: Vec<IpAddr>,
}

/// Two files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate, then those that lead to a root.
    pub certificate: PathBuf,
    /// Its key, not encrypted.
    pub key: PathBuf,
}

impl PublicAddress {
    /// Says whether the gateway may listen beyond this machine: what comes in is encrypted, by
    /// itself or by a proxy that is named.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        let is_encrypted = self.origin.starts_with("https://");
        is_encrypted && (self.tls.is_some() || !self.trusted_proxies.is_empty())
    }

    /// Returns the name of the gateway as a protected resource (RFC 9728): all its servers are
    /// below it.
    #[must_use]
    pub fn resource(&self) -> String {
        format!("{}/mcp", self.origin)
    }
}

/// Which people may use a gateway, by the access tokens of which issuers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeopleSettings {
    /// The issuers, by their exact names; at least one.
    pub issuers: Vec<String>,
    /// Where the keys of an issuer are, for one that publishes no metadata.
    pub jwks: BTreeMap<String, String>,
    /// The clients by which people sign in to their issuers in a browser, by issuer.
    pub browser_clients: BTreeMap<String, String>,
    /// What `aud` of a token has to hold; the gateway's [resource](PublicAddress::resource) if
    /// absent.
    pub audience: Option<String>,
    /// How tokens may be signed; all of [`Algorithm`] if empty.
    pub algorithms: Vec<Algorithm>,
    /// The scopes that a token has to have.
    pub scopes: Vec<String>,
    /// Who may use the gateway, if not all people of the issuers.
    pub members: Option<ClaimSetting>,
    /// Who is an admin.
    pub admins: Option<ClaimSetting>,
    /// How many programs may run for one person at once.
    pub programs_for_each: u32,
    /// How many programs may run for all people at once.
    pub programs_for_all: u32,
}

/// A claim of a token, and the values of which it has to have one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClaimSetting {
    /// Its name.
    pub claim: String,
    /// The values.
    pub values: Vec<String>,
}

#[cfg(feature = "settings-file")]
impl ClaimSetting {
    pub(super) const fn new(claim: String, values: Vec<String>) -> Self {
        Self { claim, values }
    }
}
