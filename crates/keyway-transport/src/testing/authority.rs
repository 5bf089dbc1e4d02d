//! A certificate authority for tests, made on the spot.

use std::sync::Arc;

use keyway_secret::Secret;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

use crate::http_client::{ClientIdentity, RootCertificates};

/// An authority, and the folder with its certificate.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub(crate) folder: tempfile::TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("authority")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(folder.path().join("ca.pem")).unwrap();
        std::io::Write::write_all(&mut file, issuer.pem().as_bytes()).unwrap();
        Self { issuer, folder }
    }

    pub(crate) fn root_certificates(&self) -> RootCertificates {
        RootCertificates {
            system: false,
            files: vec![self.folder.path().join("ca.pem")],
        }
    }

    /// Issues a certificate for `name`.
    pub(crate) fn issue(&self, name: &str) -> ClientIdentity {
        self.sign(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// Issues a certificate that ended long ago.
    pub(crate) fn issue_expired(&self, name: &str) -> ClientIdentity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> ClientIdentity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        ClientIdentity {
            chain: certificate.pem().into_bytes(),
            key: Secret::new(key.serialize_pem().into_bytes()),
        }
    }

    /// Accepts TLS as `localhost`, from clients of this authority alone if it `asks`.
    pub(crate) fn acceptor(&self, asks: bool) -> TlsAcceptor {
        self.acceptor_as("localhost", asks)
    }

    pub(crate) fn acceptor_as(&self, name: &str, asks: bool) -> TlsAcceptor {
        let own = self.issue(name);
        let chain = CertificateDer::pem_slice_iter(&own.chain)
            .collect::<Result<_, _>>()
            .unwrap();
        let key = PrivateKeyDer::from_pem_slice(own.key.expose()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()))
    }
}
