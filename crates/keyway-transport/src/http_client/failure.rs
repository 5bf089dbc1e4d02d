//! Why a request got no answer, and what that says about sending it again.

use std::error::Error;

use url::Url;

use crate::error::TransportError;
use crate::network_cause::{find_cause, is_tls_failure};
use crate::timeouts::CONNECT_TIMEOUT;

/// Why there is no answer, and what that says about sending the request again.
#[derive(Debug)]
pub(crate) struct SendError {
    pub(crate) error: TransportError,
    pub(crate) retry: Retry,
    /// Whether the server may have seen the request.
    pub(crate) may_have_arrived: bool,
}

/// Whether a request that got no response may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Yes: nothing of the request was sent.
    Safe,
    /// Only if it is idempotent: the server may have received it.
    IfIdempotent,
    /// No: it would fail the same way.
    Never,
}

/// Why no connection came about.
#[derive(Debug)]
pub(super) enum ConnectFailure {
    /// The name stands for forbidden addresses only.
    Forbidden {
        /// Whether no setting allows any of them.
        never: bool,
    },
    /// It took too long.
    TimedOut,
    /// Something of ours is missing.
    Settings(TransportError),
    /// The network or the other side would not.
    Broken(Box<dyn Error + Send + Sync>),
}

impl SendError {
    /// Says that the answer itself is the failure.
    pub(crate) const fn permanent(error: TransportError) -> Self {
        Self {
            error,
            retry: Retry::Never,
            may_have_arrived: true,
        }
    }

    /// Says that nothing was sent, and that nothing would be next time.
    pub(crate) const fn not_sent(error: TransportError) -> Self {
        Self {
            error,
            retry: Retry::Never,
            may_have_arrived: false,
        }
    }

    /// Says that an address leads nowhere.
    pub(super) const fn no_host() -> Self {
        let what = "the URL has no host";
        Self::not_sent(TransportError::Settings { what })
    }

    /// Says that no connection came about.
    pub(super) fn connect(failure: ConnectFailure, url: &Url) -> Self {
        let host = host_of(url);
        let (error, retry) = match failure {
            ConnectFailure::Forbidden { never } => {
                (TransportError::Forbidden { host, never }, Retry::Never)
            }
            ConnectFailure::Settings(error) => (error, Retry::Never),
            ConnectFailure::TimedOut => {
                let seconds = CONNECT_TIMEOUT.as_secs();
                (TransportError::Timeout { seconds }, Retry::Safe)
            }
            ConnectFailure::Broken(source) => {
                let is_tls =
                    find_cause(source.as_ref(), |cause| is_tls_failure(cause).then_some(()));
                let retry = is_tls.map_or(Retry::Safe, |()| Retry::Never);
                (TransportError::Unreachable { host, source }, retry)
            }
        };
        Self {
            error,
            retry,
            may_have_arrived: false,
        }
    }

    /// Says that a connection broke before the head of the answer was there.
    pub(super) fn exchange(error: hyper::Error, url: &Url, may_have_arrived: bool) -> Self {
        if error.is_parse() {
            let what = match is_too_large(&error) {
                true => "a response head that exceeds the limit",
                false => "a response that is not HTTP",
            };
            return Self::permanent(TransportError::Protocol { what });
        }
        // A client certificate is refused only after the handshake (RFC 8446 §4.4.2.4).
        let is_tls = find_cause(&error, |cause| is_tls_failure(cause).then_some(()));
        let retry = match is_tls {
            Some(()) => Retry::Never,
            None if may_have_arrived => Retry::IfIdempotent,
            None => Retry::Safe,
        };
        let host = host_of(url);
        let source = Box::new(error);
        Self {
            error: TransportError::Unreachable { host, source },
            retry,
            may_have_arrived,
        }
    }
}

/// Says whether the head of a response exceeds the limit, as far as hyper tells: it does so only
/// where it is built with its server.
fn is_too_large(error: &hyper::Error) -> bool {
    #[cfg(any(feature = "callback", feature = "serve"))]
    return error.is_parse_too_large();
    #[cfg(not(any(feature = "callback", feature = "serve")))]
    return error.to_string().contains("too large");
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}
