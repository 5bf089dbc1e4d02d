//! Why a request got no answer, and what that says about sending it again.

use std::error::Error;

use url::Url;

use super::CONNECT_TIMEOUT;
use crate::error::TransportError;

/// Why there is no answer, and what that says about sending the request again.
#[derive(Debug)]
pub(crate) struct SendError {
    pub(crate) error: TransportError,
    pub(crate) fate: Fate,
    /// Whether the server may have seen the request.
    pub(crate) may_have_arrived: bool,
}

/// What became of a request that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing of it left, and it may fare better next time.
    Unsent,
    /// The server may have seen it.
    Sent,
    /// It would fare the same again.
    Hopeless,
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
    pub(crate) const fn hopeless(error: TransportError) -> Self {
        Self {
            error,
            fate: Fate::Hopeless,
            may_have_arrived: true,
        }
    }

    /// Says that nothing was sent, and that nothing would be next time.
    pub(crate) const fn unsent(error: TransportError) -> Self {
        Self {
            error,
            fate: Fate::Hopeless,
            may_have_arrived: false,
        }
    }

    /// Says that an address leads nowhere.
    pub(super) const fn no_host() -> Self {
        let what = "the address of the server has no host";
        Self::unsent(TransportError::Settings { what })
    }

    /// Says that no connection came about.
    pub(super) fn connect(failure: ConnectFailure, url: &Url) -> Self {
        let host = host_of(url);
        let (error, fate) = match failure {
            ConnectFailure::Forbidden { never } => {
                (TransportError::Forbidden { host, never }, Fate::Hopeless)
            }
            ConnectFailure::Settings(error) => (error, Fate::Hopeless),
            ConnectFailure::TimedOut => {
                let seconds = CONNECT_TIMEOUT.as_secs();
                (TransportError::Timeout { seconds }, Fate::Unsent)
            }
            ConnectFailure::Broken(source) => {
                let is_tls =
                    find_cause(source.as_ref(), |cause| is_tls_failure(cause).then_some(()));
                let fate = is_tls.map_or(Fate::Unsent, |()| Fate::Hopeless);
                (TransportError::Unreachable { host, source }, fate)
            }
        };
        Self {
            error,
            fate,
            may_have_arrived: false,
        }
    }

    /// Says that a connection broke before the head of the answer was there.
    pub(super) fn exchange(error: hyper::Error, url: &Url, may_have_arrived: bool) -> Self {
        if error.is_parse() {
            let what = match error.is_parse_too_large() {
                true => "too many headers",
                false => "something that is not HTTP",
            };
            return Self::hopeless(TransportError::Protocol { what });
        }
        // A client certificate is refused only after the handshake (RFC 8446 §4.4.2.4).
        let is_tls = find_cause(&error, |cause| is_tls_failure(cause).then_some(()));
        let fate = match is_tls {
            Some(()) => Fate::Hopeless,
            None if may_have_arrived => Fate::Sent,
            None => Fate::Unsent,
        };
        let host = host_of(url);
        let source = Box::new(error);
        Self {
            error: TransportError::Unreachable { host, source },
            fate,
            may_have_arrived,
        }
    }
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

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}
