//! Requests to authorization servers and for metadata: bounded, guarded, never retried below.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderMap, Method};
use keyway_secret::Secret;
use thiserror::Error;
use url::Url;

use crate::future::BoxFuture;

/// Sends requests that a peer's word may have led to.
///
/// One client serves one MCP server and reaches no address that is less public than that server.
/// It sends no credential of its own, answers of more than 1 MiB or after more than a few seconds
/// fail (see [`Wait`]), and it resolves, checks and connects to one and the same address.
pub trait HttpClient: Send + Sync + Debug {
    /// Sends one request.
    ///
    /// # Errors
    ///
    /// Returns why there is no answer. An answer of any status is not an error.
    ///
    /// Cancel safety: the request may have been sent, and its answer is lost: see [`SentMark`].
    /// Nothing is sent afterwards.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>>;
}

/// One request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `GET` or `POST`.
    pub method: Method,
    /// Where it goes.
    pub url: Url,
    /// All headers but those of the connection.
    pub headers: HeaderMap,
    /// The body, which may hold a secret.
    pub body: Option<Secret<Vec<u8>>>,
    /// Which redirects are followed.
    pub redirects: Redirects,
    /// Which side ends the wait for an answer.
    pub wait: Wait,
    /// Set by the client when the connection is there and the request leaves.
    pub sent: SentMark,
}

impl HttpRequest {
    /// Asks for a document, following redirects inside its origin.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: None,
            redirects: Redirects::SameOrigin,
            wait: Wait::Bounded,
            sent: SentMark::default(),
        }
    }

    /// Sends a body, following no redirect: it may hold a secret.
    #[must_use]
    pub fn post(url: Url, body: Secret<Vec<u8>>) -> Self {
        Self {
            method: Method::POST,
            url,
            headers: HeaderMap::new(),
            body: Some(body),
            redirects: Redirects::None,
            wait: Wait::Bounded,
            sent: SentMark::default(),
        }
    }

    /// Leaves it to the caller how long an answer is waited for, by dropping the future.
    ///
    /// Connecting stays bounded.
    #[must_use]
    pub const fn bounded_by_caller(mut self) -> Self {
        self.wait = Wait::ByCaller;
        self
    }
}

/// Whether a request has left: what was waited for before that is the connection, not the answer.
///
/// Copies share what is marked.
// Relaxed: it only decides from when time is counted, and guards no other data.
#[derive(Debug, Clone, Default)]
pub struct SentMark(Arc<AtomicBool>);

impl SentMark {
    /// Says that the request leaves now.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Tells whether the request has left.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Which side ends the wait for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The client, after seconds.
    Bounded,
    /// The caller. For a request whose answer is worth more than the time.
    ByCaller,
}

/// Which redirects are followed. None ever leads to another origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redirects {
    /// At most 10, inside the origin.
    SameOrigin,
    /// None; the redirect itself is the answer.
    None,
}

/// One answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body, which may hold a secret.
    pub body: Secret<Vec<u8>>,
}

impl HttpResponse {
    /// Makes an answer.
    #[must_use]
    pub const fn new(status: u16, headers: HeaderMap, body: Secret<Vec<u8>>) -> Self {
        Self {
            status,
            headers,
            body,
        }
    }
}

/// Why there is no answer. Never holds anything that was sent or received.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HttpFailure {
    /// The address is less public than the MCP server, or never allowed.
    #[error("refusing to follow this server to {why} `{host}`")]
    Forbidden {
        /// Which host.
        host: String,
        /// Whether anything allows it.
        why: Barred,
    },
    /// No connection, or it broke.
    #[error("`{host}` cannot be reached: {why}")]
    Unreachable {
        /// Which host.
        host: String,
        /// In a few words.
        why: String,
        /// Whether the request may have arrived.
        sent: bool,
    },
    /// No answer in time.
    #[error("`{host}` did not answer within {seconds} seconds")]
    Timeout {
        /// Which host.
        host: String,
        /// The limit.
        seconds: u64,
        /// Whether the request may have arrived.
        sent: bool,
    },
    /// The answer breaks a limit or a rule of HTTP.
    #[error("`{host}` answered with {what}")]
    Protocol {
        /// Which host.
        host: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The answer leads to another origin.
    #[error("`{host}` redirects to another origin")]
    Redirect {
        /// Which host.
        host: String,
    },
}

/// Why an address is not connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Barred {
    /// The person may allow it.
    #[error("the private address")]
    LessPublic,
    /// Nothing allows it: clouds keep their metadata services there, which hand out credentials.
    #[error("the link-local or reserved address")]
    Never,
    /// Nothing allows it.
    #[error("the unencrypted address")]
    Unencrypted,
}

impl HttpFailure {
    /// Says whether the same request may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Timeout { .. })
    }
}
