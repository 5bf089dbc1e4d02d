//! The one TLS configuration: whom we trust, and who we are.
//!
//! Loading the certificates of the operating system takes milliseconds, so it waits for the first
//! connection that needs them; plain connections to this machine never do.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use keyway_secret::Secret;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::TransportError;

/// Whose certificates are believed.
#[derive(Debug, Clone)]
pub struct Trust {
    /// Believe what the operating system believes.
    pub system: bool,
    /// Files with certificates in PEM to believe as well.
    pub files: Vec<PathBuf>,
}

impl Default for Trust {
    fn default() -> Self {
        Self {
            system: true,
            files: Vec::new(),
        }
    }
}

/// A client certificate with its key, both in PEM.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// The certificate, then those that lead to a root.
    pub chain: Vec<u8>,
    /// The private key: PKCS#8, PKCS#1 or SEC1, not encrypted.
    pub key: Secret<Vec<u8>>,
}

/// TLS for all clients of the process.
#[derive(Debug, Clone)]
pub(super) struct Tls {
    config: ClientConfig,
    verifier: Arc<Verifier>,
    identity: Arc<Identity>,
}

impl Tls {
    /// Reads the extra roots and the identity; the system's roots come later.
    pub(super) fn new(
        trust: &Trust,
        identity: Option<&ClientIdentity>,
    ) -> Result<Self, TransportError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Arc::new(Verifier {
            provider: Arc::clone(&provider),
            extra: extra_roots(trust)?,
            system: trust.system,
            built: OnceLock::new(),
        });
        let own = Arc::new(Identity {
            current: RwLock::new(None),
            provider: Arc::clone(&provider),
        });
        if let Some(identity) = identity {
            own.replace(identity)?;
        }
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| settings("the TLS provider is incomplete"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<dyn ServerCertVerifier>)
            .with_client_cert_resolver(Arc::clone(&own) as Arc<dyn ResolvesClientCert>);
        if identity.is_some() {
            // A resumed session would go on under the certificate that began it.
            config.resumption = Resumption::disabled();
        }
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            config,
            verifier,
            identity: own,
        })
    }

    /// Returns the configuration; certificate and session cache are shared by all copies.
    pub(super) fn config(&self) -> ClientConfig {
        self.config.clone()
    }

    /// Uses another certificate for connections from now on.
    pub(super) fn replace_identity(&self, identity: &ClientIdentity) -> Result<(), TransportError> {
        if !self.identity.has_certs() {
            return Err(settings("there is no client certificate to replace"));
        }
        self.identity.replace(identity)
    }

    /// Loads the roots without blocking the runtime, unless they are loaded.
    pub(super) async fn ready(&self) -> Result<(), TransportError> {
        if self.verifier.built.get().is_none() {
            let verifier = Arc::clone(&self.verifier);
            let loading = tokio::task::spawn_blocking(move || verifier.built().is_some());
            if !loading.await.unwrap_or(false) {
                return Err(settings("there are no trusted root certificates"));
            }
        }
        Ok(())
    }
}

/// Checks servers against the extra roots and those of the system.
///
/// The checks themselves are those of `rustls`; only the moment of loading is ours.
struct Verifier {
    provider: Arc<CryptoProvider>,
    extra: Vec<CertificateDer<'static>>,
    system: bool,
    built: OnceLock<Option<Arc<WebPkiServerVerifier>>>,
}

impl Verifier {
    fn built(&self) -> Option<&Arc<WebPkiServerVerifier>> {
        self.built.get_or_init(|| self.build()).as_ref()
    }

    fn build(&self) -> Option<Arc<WebPkiServerVerifier>> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.extra.iter().cloned());
        if self.system {
            // A certificate that cannot be read is skipped, as every other program does.
            let found = rustls_native_certs::load_native_certs().certs;
            roots.add_parsable_certificates(found);
        }
        let provider = Arc::clone(&self.provider);
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.build().ok()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("extra", &self.extra.len())
            .field("system", &self.system)
            .finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let roots = self.built();
        let roots = roots.ok_or_else(|| rustls::Error::General("no trusted roots".into()))?;
        roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// The client certificate in force, which may be replaced while connections are open.
#[derive(Debug)]
struct Identity {
    current: RwLock<Option<Arc<CertifiedKey>>>,
    provider: Arc<CryptoProvider>,
}

impl Identity {
    fn replace(&self, identity: &ClientIdentity) -> Result<(), TransportError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.chain).collect();
        let chain = chain.map_err(|_| settings("the client certificate is not PEM"))?;
        if chain.is_empty() {
            return Err(settings("the client certificate is missing"));
        }
        let key = PrivateKeyDer::from_pem_slice(identity.key.expose())
            .map_err(|_| settings("the key of the client certificate is not a private key"))?;
        let pair = CertifiedKey::from_der(chain, key, &self.provider)
            .map_err(|_| settings("the client certificate and its key do not belong together"))?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::new(pair));
        Ok(())
    }

    fn current(&self) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.current()
    }

    fn has_certs(&self) -> bool {
        self.current().is_some()
    }
}

fn extra_roots(trust: &Trust) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let mut roots = Vec::new();
    for file in &trust.files {
        let unreadable = |_| settings("a file of root certificates cannot be read");
        let found = CertificateDer::pem_file_iter(file).map_err(unreadable)?;
        let before = roots.len();
        for certificate in found {
            roots.push(certificate.map_err(unreadable)?);
        }
        if roots.len() == before {
            return Err(settings("a file of root certificates holds none"));
        }
    }
    Ok(roots)
}

const fn settings(what: &'static str) -> TransportError {
    TransportError::Settings { what }
}

#[cfg(test)]
mod tests;
