//! Resolved servers to connections: which transport, which authorizer, which child.

mod fingerprint;

use std::ffi::OsString;
use std::path::PathBuf;

use http::{HeaderName, HeaderValue};
use keyway_auth::oauth::OAuth;
use keyway_code::Code;
use keyway_config::environment::HostVariables;
use keyway_config::resolve::{Resolved, ServerSpec};
use keyway_secret::Secret;
use keyway_transport::{ChildEnv, ChildKind, EnvRules, HostEnv};
use thiserror::Error;

pub use keyway_auth::ports::HttpFailure;
pub use keyway_auth::{AuthError, BoxFuture, HelperFault, HttpRefusal};
#[cfg(all(feature = "stdio", target_os = "linux"))]
pub use keyway_transport::is_started_by_keyway;
pub use keyway_transport::{
    AuthorizedClient, ChildStream, ClientIdentity, Connection, HttpClient, HttpSettings, Log,
    ProxySettings, ResponseBody, RootCertificates, TransportError, harden_self,
};
#[cfg(feature = "stdio")]
pub use keyway_transport::{Isolation, IsolationLevel, KnownFolders, Launcher};

pub use self::fingerprint::{ConnectionFingerprint, FingerprintKey};
pub(crate) use self::fingerprint::{FingerprintContext, of as fingerprint_of};
use crate::approval::Files;
pub use crate::log_file::{LogFile, LogFollower};
use crate::settings::{Confinement, inherit};
use keyway_mcp::session::OfferedEras;

/// One server to connect to, approved and resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The name of its plugin.
    pub plugin: &'a str,
    /// The server.
    pub spec: &'a ServerSpec,
    /// The host's own variables for its plugin.
    pub host: &'a HostVariables,
    /// More variables that the person granted.
    pub grants: &'a [String],
    /// The files of the plugin that it runs, as they were when it was approved.
    pub files: Option<&'a Files>,
    /// How its programs are confined.
    pub confinement: &'a Confinement,
}

/// Why no connection was even tried.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is empty.
    #[error("the server is not configured: its `url` is empty")]
    NotConfigured,
    /// This build lacks what the server needs.
    #[error("this program is built without `{feature}`, which the server needs")]
    NotBuiltIn {
        /// The feature of `keyway` that brings it.
        feature: &'static str,
    },
    /// The connection failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl ConnectError {
    /// Returns the code used in every format.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotConfigured => Code::NotConfigured,
            Self::NotBuiltIn { .. } => Code::NotBuiltIn,
            Self::Transport(error) => error.code(),
        }
    }
}

/// A connection with what was found out on the way.
#[derive(Debug)]
#[non_exhaustive]
pub struct Connected {
    /// The connection.
    pub connection: Connection,
    /// How the process is isolated; `None` for a remote server.
    #[cfg(feature = "stdio")]
    pub level: Option<IsolationLevel>,
    /// Which protocol eras to offer.
    pub offer: OfferedEras,
    /// The sign-in that its requests are made with, if it is by OAuth.
    pub(crate) oauth: Option<OAuth>,
}

/// Returns the variables that a child gets: those that its entry `declared`, and of `environment`
/// what every child gets and what the person granted.
pub(crate) fn child_env(
    environment: &[(OsString, OsString)],
    (reader, declared): (ChildKind, &[(String, Secret<String>)]),
    target: Target<'_>,
    host: &HostEnv,
) -> ChildEnv {
    let mut rules = EnvRules::new(reader, host);
    rules.inherit = inherit(target.confinement);
    rules.declared = declared;
    rules.granted = target.grants;
    ChildEnv::build(environment.iter().cloned(), &rules)
}

pub(crate) fn host_env(target: Target<'_>) -> HostEnv {
    let some = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| path.clone());
    let mut env = HostEnv::default();
    env.plugin_root = some(&target.host.plugin_root);
    env.plugin_data = some(&target.host.plugin_data);
    env.project_dir = some(&target.host.project_dir);
    env
}

pub(crate) fn exposed(pairs: &[(String, Resolved)]) -> Vec<(String, Secret<String>)> {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), value.value().clone()))
        .collect()
}

/// Turns resolved headers into wire form; what resolving let through always fits.
pub(crate) fn header_values(headers: &[(String, Resolved)]) -> Vec<(HeaderName, HeaderValue)> {
    let convert = |(name, value): &(String, Resolved)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let mut value = HeaderValue::from_str(value.value().expose().trim()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    headers.iter().filter_map(convert).collect()
}

#[cfg(test)]
mod tests;
