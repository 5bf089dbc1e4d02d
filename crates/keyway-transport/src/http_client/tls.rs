//! The one TLS configuration: trusted roots and the client certificate.
//!
//! Loading root certificates takes milliseconds, so everything waits for the first connection that
//! needs it; plain connections to this machine never do.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use keyway_secret::Secret;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};

use crate::error::TransportError;

/// The certificate authorities to trust.
#[derive(Debug, Clone)]
pub struct RootCertificates {
    /// Trust the roots of the operating system.
    pub system: bool,
    /// More roots, in PEM files.
    pub files: Vec<PathBuf>,
}

impl Default for RootCertificates {
    fn default() -> Self {
        Self {
            system: true,
            files: Vec::new(),
        }
    }
}

/// A client certificate with its key, both in PEM.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The certificate, then those that lead to a root.
    pub chain: Vec<u8>,
    /// The private key: PKCS#8, PKCS#1 or SEC1, not encrypted.
    pub key: Secret<Vec<u8>>,
}

impl ClientIdentity {
    /// Takes a certificate chain and its key; whether they belong together is seen by the client.
    #[must_use]
    pub const fn new(chain: Vec<u8>, key: Secret<Vec<u8>>) -> Self {
        Self { chain, key }
    }
}

/// TLS for all clients of the process; copies share everything.
#[derive(Debug, Clone)]
pub(super) struct Tls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root_certificates: RootCertificates,
    identity: Arc<Identity>,
    built: OnceLock<Result<Configs, &'static str>>,
}

/// What connections are encrypted by; certificate and session cache are the same in both.
#[derive(Debug)]
pub(super) struct Configs {
    /// For servers that may choose HTTP/2.
    pub(super) any: Arc<ClientConfig>,
    /// For HTTP/1.1 alone.
    pub(super) http1: Arc<ClientConfig>,
}

impl Tls {
    /// Reads the identity; the roots come later.
    pub(super) fn new(
        root_certificates: &RootCertificates,
        identity: Option<&ClientIdentity>,
    ) -> Result<Self, TransportError> {
        let own = Identity::default();
        if let Some(identity) = identity {
            own.replace(identity)?;
        }
        Ok(Self(Arc::new(Inner {
            root_certificates: root_certificates.clone(),
            identity: Arc::new(own),
            built: OnceLock::new(),
        })))
    }

    /// Uses another certificate for connections from now on.
    pub(super) fn replace_identity(&self, identity: &ClientIdentity) -> Result<(), TransportError> {
        if !self.0.identity.has_certs() {
            return Err(settings("no client certificate is configured"));
        }
        self.0.identity.replace(identity)
    }

    /// Returns the certificate that is in force.
    pub(super) fn identity(&self) -> Option<ClientIdentity> {
        self.0.identity.current().map(|current| current.read)
    }

    /// Returns the TLS configurations; the first call builds them without blocking the runtime.
    pub(super) async fn configs(&self) -> Result<&Configs, TransportError> {
        if self.0.built.get().is_none() {
            let own = Arc::clone(&self.0);
            let building = tokio::task::spawn_blocking(move || own.built().is_ok());
            // If that task failed, `built` does it here.
            let _built = building.await;
        }
        self.0.built().map_err(settings)
    }
}

impl Inner {
    fn built(&self) -> Result<&Configs, &'static str> {
        let built = self.built.get_or_init(|| self.build());
        built.as_ref().map_err(|what| *what)
    }

    fn build(&self) -> Result<Configs, &'static str> {
        let roots = self.root_certificates.load()?;
        if roots.is_empty() {
            return Err("no trusted root certificates found");
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| "the TLS provider is incomplete")?
            .with_root_certificates(roots)
            .with_client_cert_resolver(Arc::clone(&self.identity) as Arc<dyn ResolvesClientCert>);
        if self.identity.has_certs() {
            // A resumed session would continue with the certificate that it began with.
            config.resumption = Resumption::disabled();
        }
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let http1 = Arc::new(config.clone());
        config.alpn_protocols.insert(0, b"h2".to_vec());
        let any = Arc::new(config);
        Ok(Configs { any, http1 })
    }
}

impl RootCertificates {
    fn load(&self) -> Result<RootCertStore, &'static str> {
        let mut roots = RootCertStore::empty();
        for file in &self.files {
            roots.add_parsable_certificates(read_roots(file)?);
        }
        if self.system {
            // A certificate that cannot be read is skipped, as every other program does.
            let found = rustls_native_certs::load_native_certs().certs;
            roots.add_parsable_certificates(found);
        }
        Ok(roots)
    }
}

/// The client certificate in force, which may be replaced while connections are open.
#[derive(Debug, Default)]
struct Identity {
    /// Read at every handshake, written when the files were rotated.
    /// Held for a copy or a replacement; the new pair is checked before it is taken.
    current: RwLock<Option<Current>>,
}

/// A certificate with its key, as it is used and as it was read.
#[derive(Debug, Clone)]
struct Current {
    pair: Arc<CertifiedKey>,
    read: ClientIdentity,
}

impl Identity {
    fn replace(&self, identity: &ClientIdentity) -> Result<(), TransportError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.chain).collect();
        let chain = chain.map_err(|_| settings("the client certificate is not PEM"))?;
        if chain.is_empty() {
            return Err(settings(
                "the client certificate file contains no certificate",
            ));
        }
        let key = PrivateKeyDer::from_pem_slice(identity.key.expose())
            .map_err(|_| settings("the client key is not an unencrypted private key in PEM"))?;
        let pair = CertifiedKey::from_der(chain, key, &default_provider())
            .map_err(|_| settings("the client certificate and the client key do not match"))?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Current {
            pair: Arc::new(pair),
            read: identity.clone(),
        });
        Ok(())
    }

    fn current(&self) -> Option<Current> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.current().map(|current| current.pair)
    }

    fn has_certs(&self) -> bool {
        self.current().is_some()
    }
}

fn read_roots(file: &Path) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let roots: Vec<_> = found.map_err(|_| "cannot read a root certificate file")?;
    if roots.is_empty() {
        return Err("a root certificate file contains no certificate");
    }
    Ok(roots)
}

const fn settings(what: &'static str) -> TransportError {
    TransportError::Settings { what }
}

#[cfg(test)]
mod tests;
