//! What exactly kept a connection from coming about, as far as the layers below say.

use std::error::Error;
use std::io;

use thiserror::Error as ThisError;

use crate::error::TransportError;

/// What kept a connection from coming about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkCause {
    /// The name leads nowhere.
    Name,
    /// The certificate is past its end, or not valid yet.
    CertificateExpired,
    /// No trusted authority issued the certificate.
    CertificateUntrusted,
    /// The certificate is made for another name.
    CertificateName,
    /// The server wants a client certificate, or refuses the one that it got.
    ClientCertificate,
    /// The two sides could not agree on TLS for another reason.
    Tls,
    /// A proxy did not connect us.
    Proxy {
        /// What it answered.
        status: u16,
    },
}

impl TransportError {
    /// Returns what exactly kept a connection from coming about, if that is known.
    #[must_use]
    pub fn network_cause(&self) -> Option<NetworkCause> {
        let source = match self {
            Self::Unreachable { source, .. } => source,
            Self::ClientCertificate { .. } => return Some(NetworkCause::ClientCertificate),
            _ => return None,
        };
        find_cause(source.as_ref(), |cause| {
            if cause.is::<NameNotFound>() {
                return Some(NetworkCause::Name);
            }
            if let Some(refused) = cause.downcast_ref::<TunnelRefused>() {
                let status = refused.status;
                return Some(NetworkCause::Proxy { status });
            }
            tls_error(cause).map(of_tls)
        })
        // What TLS itself says comes first: it knows more than that it failed.
        .or_else(|| {
            let is_tls =
                |cause: &(dyn Error + 'static)| cause.is::<TlsHandshakeFailed>().then_some(());
            find_cause(source.as_ref(), is_tls).map(|()| NetworkCause::Tls)
        })
    }
}

/// Finds the error of TLS, which travels inside errors of input and output.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(found) = cause.downcast_ref() {
        return Some(found);
    }
    let mut wrapped = cause.downcast_ref::<io::Error>();
    while let Some(inner) = wrapped.and_then(io::Error::get_ref) {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        wrapped = inner.downcast_ref();
    }
    None
}

const fn of_tls(error: &rustls::Error) -> NetworkCause {
    use rustls::CertificateError as Certificate;
    let certificate = match error {
        rustls::Error::InvalidCertificate(certificate) => certificate,
        rustls::Error::AlertReceived(alert) if is_about_our_certificate(*alert) => {
            return NetworkCause::ClientCertificate;
        }
        _ => return NetworkCause::Tls,
    };
    match certificate {
        Certificate::Expired
        | Certificate::ExpiredContext { .. }
        | Certificate::NotValidYet
        | Certificate::NotValidYetContext { .. } => NetworkCause::CertificateExpired,
        Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
            NetworkCause::CertificateName
        }
        _ => NetworkCause::CertificateUntrusted,
    }
}

/// What a server says of the certificate of its client (RFC 8446 §6.2).
const fn is_about_our_certificate(alert: rustls::AlertDescription) -> bool {
    use rustls::AlertDescription as Alert;
    matches!(
        alert,
        Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            // The signature of a certificate, or of the proof that the key is ours.
            | Alert::DecryptError
    )
}

/// Looks for a cause among all that led to an error, the error itself included.
pub(crate) fn find_cause<'a, T>(
    error: &'a (dyn Error + 'static),
    is_it: impl Fn(&'a (dyn Error + 'static)) -> Option<T>,
) -> Option<T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = is_it(error) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Says whether the two sides could not agree on TLS: a certificate does not get better.
pub(crate) fn is_tls_failure(cause: &(dyn Error + 'static)) -> bool {
    let mut wrapped = cause.downcast_ref::<std::io::Error>();
    while let Some(inner) = wrapped.and_then(std::io::Error::get_ref) {
        if inner.is::<rustls::Error>() {
            return true;
        }
        wrapped = inner.downcast_ref();
    }
    false
}

/// The name service knows no such name, or does not answer.
#[derive(Debug, ThisError)]
#[error("cannot resolve the host name")]
pub(crate) struct NameNotFound {
    #[source]
    pub(crate) source: io::Error,
}

/// The other side was reached, and spoke no TLS with us.
#[derive(Debug, ThisError)]
#[error("TLS handshake failed")]
pub(crate) struct TlsHandshakeFailed {
    #[source]
    pub(crate) source: io::Error,
}

/// A proxy did not do as it was asked.
#[derive(Debug, ThisError)]
#[error("the proxy answered HTTP {status}")]
pub(crate) struct TunnelRefused {
    pub(crate) status: u16,
}
