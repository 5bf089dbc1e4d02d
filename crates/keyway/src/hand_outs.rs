//! For which servers a person lets the access token itself go to clients of their own.
//!
//! By default no token of a server leaves Keyway: a client gets one for the gateway. A client that
//! keeps the server's own address needs the server's token; a person may switch that on for one
//! server. It counts for one profile, plugin, server and address, so that an entry which changes its
//! address has to be allowed again. A refresh token never goes out, nor does a token that is bound to
//! a key of ours.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use http::{HeaderName, HeaderValue};
use keyway_auth::AuthError;
use keyway_config::resolve::{RemoteSpec, SpecEndpoint};
use keyway_vault::{Namespace, Vault, VaultError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::events::Kind;
use crate::host::{Approved, Error, Plan};
use crate::sign_in::fingerprint;

/// The servers of one vault whose tokens may go out.
#[derive(Debug)]
pub struct HandOuts<'a> {
    vault: &'a Vault,
    namespace: Namespace,
}

/// One server whose token may go out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandOut {
    /// The name of the plugin.
    pub plugin: String,
    /// The name of the server.
    pub server: String,
    /// The origin that the token is for.
    pub origin: String,
    /// Seconds since 1970.
    since: u64,
}

/// The same as the vault keeps it.
#[derive(Serialize, Deserialize)]
struct StoredHandOut {
    plugin: String,
    server: String,
    origin: String,
    since: u64,
}

impl From<StoredHandOut> for HandOut {
    fn from(stored: StoredHandOut) -> Self {
        let StoredHandOut {
            plugin,
            server,
            origin,
            since,
        } = stored;
        Self {
            plugin,
            server,
            origin,
            since,
        }
    }
}

impl HandOut {
    /// Returns when the person allowed it.
    #[must_use]
    pub fn since(&self) -> SystemTime {
        let since = UNIX_EPOCH.checked_add(Duration::from_secs(self.since));
        since.unwrap_or(UNIX_EPOCH)
    }
}

/// Why no token goes out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HandOutError {
    /// The person did not switch it on.
    #[error("the access token of `{server}` may not be given to clients")]
    NotAllowed {
        /// The server.
        server: String,
    },
    /// A server that is started here has no address to send a header to.
    #[error("`{server}` is not reached over HTTP")]
    NotRemote {
        /// The server.
        server: String,
    },
    /// The credential is worth nothing without a key that stays here.
    #[error("the token of `{server}` is bound to a key of Keyway's, so no client could use it")]
    Bound {
        /// The server.
        server: String,
    },
    /// Nothing is stored.
    #[error("not signed in to `{server}`")]
    NotSignedIn {
        /// The server.
        server: String,
    },
    /// The client sends its requests elsewhere.
    #[error("the client names another address than that of `{server}`")]
    OtherOrigin {
        /// The server.
        server: String,
    },
    /// There is no credential.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The server cannot be used.
    #[error(transparent)]
    Host(#[from] Box<Error>),
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl<'a> HandOuts<'a> {
    /// Opens the list.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be used.
    pub fn new(vault: &'a Vault) -> Result<Self, VaultError> {
        let namespace = Namespace::new(NAMESPACE)?;
        Ok(Self { vault, namespace })
    }

    /// Allows it for a server, on the word of a person.
    ///
    /// # Errors
    ///
    /// Returns [`HandOutError::NotRemote`] or [`HandOutError::Vault`].
    pub fn dangerous_allow(
        &self,
        server: &Approved<Plan>,
        now: SystemTime,
    ) -> Result<(), HandOutError> {
        let remote = remote(server)?;
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let kept = StoredHandOut {
            plugin: server.plugin().to_owned(),
            server: server.server().to_owned(),
            origin: remote.address.origin().to_owned(),
            since: since.as_secs(),
        };
        let bytes = serde_json::to_vec(&kept).unwrap_or_default();
        let rows = self.vault.sealed(self.namespace.clone());
        rows.put(&key(server, remote), &bytes)?;
        Ok(())
    }

    /// Says whether it is allowed.
    ///
    /// # Errors
    ///
    /// Returns [`HandOutError::NotRemote`] or [`HandOutError::Vault`].
    pub fn is_allowed(&self, server: &Approved<Plan>) -> Result<bool, HandOutError> {
        let rows = self.vault.sealed(self.namespace.clone());
        Ok(rows.get(&key(server, remote(server)?))?.is_some())
    }

    /// Takes it back for every address that a server had; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be written.
    pub fn withdraw(&self, plugin: &str, server: &str) -> Result<bool, VaultError> {
        let rows = self.vault.sealed(self.namespace.clone());
        let mut existed = false;
        for (key, kept) in self.rows()? {
            if kept.plugin == plugin && kept.server == server {
                rows.delete(&key)?;
                existed = true;
            }
        }
        Ok(existed)
    }

    /// Returns all of them.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read.
    pub fn list(&self) -> Result<Vec<HandOut>, VaultError> {
        Ok(self.rows()?.into_iter().map(|(_, kept)| kept).collect())
    }

    fn rows(&self) -> Result<Vec<(String, HandOut)>, VaultError> {
        let rows = self.vault.sealed(self.namespace.clone()).read_all()?;
        let read = rows.into_iter().filter_map(|(key, record)| {
            let kept: StoredHandOut = serde_json::from_slice(record.value.expose()).ok()?;
            Some((key, kept.into()))
        });
        Ok(read.collect())
    }

    /// Returns the headers for one client of the person's own, if that is allowed.
    ///
    /// `origin` is where the client says that it sends them; `None` if it does not say.
    ///
    /// # Errors
    ///
    /// Returns a [`HandOutError`]; nothing goes out then.
    ///
    /// Cancel safety: nothing goes out. A renewal that it started continues, and a helper that it
    /// started is killed.
    pub async fn headers(
        &self,
        server: &Approved<Plan>,
        origin: Option<&str>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, HandOutError> {
        let named = || server.server().to_owned();
        let remote = remote(server)?;
        if !self.is_allowed(server)? {
            return Err(HandOutError::NotAllowed { server: named() });
        }
        if origin.is_some_and(|origin| origin != remote.address.origin()) {
            return Err(HandOutError::OtherOrigin { server: named() });
        }
        let authorizer = server.authorizer().map_err(Box::new)?;
        let credential = authorizer.obtain().await?;
        if credential.is_bound() {
            return Err(HandOutError::Bound { server: named() });
        }
        if credential.expose().is_empty() {
            return Err(HandOutError::NotSignedIn { server: named() });
        }
        let events = server.host().events().for_plugin(server.plugin());
        events.emit(Kind::TokenHandedOut, Some(server.server()), None);
        Ok(credential.expose().to_vec())
    }
}

fn remote(server: &Approved<Plan>) -> Result<&RemoteSpec, HandOutError> {
    match &server.spec().endpoint {
        SpecEndpoint::Remote(remote) => Ok(remote),
        _ => Err(HandOutError::NotRemote {
            server: server.server().to_owned(),
        }),
    }
}

/// Names a server with its address, and gives neither away.
fn key(server: &Approved<Plan>, remote: &RemoteSpec) -> String {
    let profile = server.host().accounts().map_or("", |it| it.profile());
    let mut hash = Blake2b::<U32>::new();
    for part in [
        profile,
        server.plugin(),
        server.server(),
        &fingerprint(remote),
    ] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

const NAMESPACE: &str = "hand-out";
