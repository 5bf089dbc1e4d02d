//! Why a server could not be reached or stopped answering.

use keyway_auth::{AuthError, ConfinementNote, HttpRefusal};
use thiserror::Error;

use crate::event_stream::StreamError;
use crate::frame::FrameError;

/// Why a connection or a request on it failed. Never holds a header value, a query or a body.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// There is no credential to send.
    #[error("cannot obtain a credential")]
    Auth(#[from] AuthError),
    /// What the entry or the settings say cannot be used for a connection.
    #[error("cannot set up the connection: {what}")]
    Settings {
        /// What is wrong, without quoting it.
        what: &'static str,
    },
    /// The server answered 401 or 403, and nothing better could be sent.
    #[error("the server refused the credential with HTTP {status}")]
    Refused {
        /// 401 or 403.
        status: u16,
        /// The `error` of its challenge (RFC 6750 §3.1), if it named one.
        error: Option<String>,
        /// Its own explanation of the error, printable and bounded.
        error_description: Option<String>,
        /// The scope that its challenge asks for.
        scope: Option<String>,
    },
    /// The server answered with another HTTP error.
    #[error("the server answered HTTP {status}")]
    Status {
        /// The status.
        status: u16,
        /// Seconds it asked to wait.
        retry_after: Option<u64>,
    },
    /// No connection came about.
    #[error("cannot reach `{host}`")]
    Unreachable {
        /// The host, without path or query.
        host: String,
        /// What the network said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The address that the name stands for may not be connected to.
    #[error("refusing to connect to `{host}`: it resolves to a forbidden address")]
    Forbidden {
        /// The host.
        host: String,
        /// Whether no setting allows it.
        never: bool,
    },
    /// The server sent the client somewhere else.
    #[error("refusing to follow a redirect to another origin")]
    Redirect {
        /// Where to, without query; empty if that cannot be shown.
        to: String,
    },
    /// Something took too long.
    #[error("no answer within {seconds} seconds")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// The peer broke a rule of the transport.
    #[error("the server broke the protocol: {what}")]
    Protocol {
        /// Which rule.
        what: &'static str,
    },
    /// A message that cannot be passed on.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The program could not be started.
    #[error("cannot start `{program}`")]
    Spawn {
        /// As written in the entry.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The process cannot start programs, because its `main` does not begin with the takeover.
    #[error("cannot start `{program}`: `keyway::init()` was not called first in `main`")]
    LauncherNotInitialized {
        /// As written in the entry.
        program: String,
    },
    /// The isolation that the settings require is not available here.
    #[error("refusing to start `{program}`: {level}")]
    IsolationUnavailable {
        /// As written in the entry.
        program: String,
        /// What could be had, in words.
        level: String,
    },
    /// A folder of Keyway's is not the one that it was, so it could not be hidden.
    #[error("refusing to start `{program}`: `{path}` was moved or replaced while Keyway runs")]
    FolderReplaced {
        /// As written in the entry.
        program: String,
        /// Where the folder was.
        path: String,
    },
    /// The plugin's folder, or one that was granted, leads to what is Keyway's own.
    #[error("refusing to start `{program}`: `{path}` leads into a folder of Keyway's own")]
    GrantHidden {
        /// As written in the entry.
        program: String,
        /// The folder of the plugin, or the grant.
        path: String,
    },
    /// The program or its working folder was not granted to a confined program.
    #[error("cannot start `{program}`: it is confined, and `{path}` was not granted to it")]
    NotGranted {
        /// As written in the entry.
        program: String,
        /// What would have to be granted.
        path: String,
    },
    /// A file that the program runs is not the one that was approved.
    #[error("`{file}` has changed since it was approved")]
    Changed {
        /// Which.
        file: String,
    },
    /// The child ended.
    #[error(
        "the server process ended with {status}{}",
        ConfinementNote::after_failure(confined.as_deref())
    )]
    ChildEnded {
        /// The exit code or signal, in words.
        status: String,
        /// The last lines it wrote to standard error, redacted.
        last_lines: Vec<String>,
        /// That it ran confined, if it did.
        confined: Option<Box<ConfinementNote>>,
    },
    /// The connection was closed while the request was in flight.
    #[error("the connection was closed")]
    Closed,
    /// The connection was lost after the request was sent. It is not sent again.
    #[error("connection lost after the request was sent; the server may have carried it out")]
    ResponseLost {
        /// What the network said, if the response had not begun.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The server dropped its stream while the request was in flight; the next one opens another.
    #[error("the event stream was lost; the server may have carried the request out")]
    StreamLost,
    /// The server wants a client certificate, or refuses the one that it got.
    #[error(
        "the server {}",
        if *.is_missing { "requires a client certificate" } else { "rejected the client certificate" }
    )]
    ClientCertificate {
        /// Whether it got none.
        is_missing: bool,
    },
}

impl From<StreamError> for TransportError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::LineTooLong | StreamError::EventTooLarge => {
                Self::Frame(FrameError::above_limit())
            }
            StreamError::FieldTooLong => Self::Protocol {
                what: "a field of the event stream exceeds the limit",
            },
        }
    }
}

impl TransportError {
    /// Returns what a refusal over HTTP said, for the `http` of a diagnostic.
    #[must_use]
    pub fn http_refusal(&self) -> Option<HttpRefusal> {
        match self {
            Self::Refused {
                status,
                error,
                error_description,
                scope,
            } => Some(HttpRefusal::of_status(*status).with_error(
                error.clone(),
                error_description.clone(),
                scope.clone(),
            )),
            Self::Status { status, .. } => Some(HttpRefusal::of_status(*status)),
            Self::Auth(error) => error.http_refusal(),
            _ => None,
        }
    }

    /// Says whether trying again later may help without anyone doing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Auth(error) => error.is_transient(),
            Self::Status { status, .. } => {
                matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
            }
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Closed
            | Self::ResponseLost { .. }
            | Self::StreamLost => true,
            _ => false,
        }
    }
}
