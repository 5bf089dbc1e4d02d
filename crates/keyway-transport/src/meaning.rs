//! What each error means: its code, the state that it leaves a server in, the exit status, and the
//! hint where the variant knows more than its code.

use keyway_code::{Code, Exit, ServerState};

use crate::error::TransportError;
use crate::frame::FrameError;
use crate::network_cause::NetworkCause;

impl TransportError {
    /// Returns the code used in every format.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Auth(error) => error.code(),
            Self::Settings { .. } => Code::ConfigError,
            // Some servers say with 401 what 403 is for.
            Self::Refused {
                status: 401,
                error: Some(told),
                scope: Some(_),
                ..
            } if told == "insufficient_scope" => Code::InsufficientScope,
            Self::Refused { status: 401, .. } => Code::AuthRejected,
            Self::Refused { scope: Some(_), .. } => Code::InsufficientScope,
            Self::Refused { .. } => Code::Forbidden,
            Self::Status { status: 429, .. } => Code::RateLimited,
            Self::Status { .. } => Code::HttpError,
            Self::Unreachable { .. } => match self.network_cause() {
                Some(NetworkCause::Name) => Code::NameNotFound,
                Some(NetworkCause::CertificateExpired) => Code::CertificateExpired,
                Some(NetworkCause::CertificateUntrusted) => Code::CertificateUntrusted,
                Some(NetworkCause::CertificateName) => Code::CertificateName,
                Some(NetworkCause::Tls | NetworkCause::ClientCertificate) => Code::TlsFailed,
                Some(NetworkCause::Proxy { .. }) => Code::ProxyRefused,
                None => Code::Unreachable,
            },
            Self::Forbidden { .. } => Code::ForbiddenAddress,
            Self::Redirect { .. } => Code::CrossOriginRedirect,
            Self::Timeout { .. } => Code::Timeout,
            Self::Frame(FrameError::TooLarge { .. }) => Code::MessageTooLarge,
            Self::Frame(FrameError::NoRoom) => Code::Busy,
            Self::Protocol { .. } | Self::Frame(FrameError::NotJsonRpc) => Code::ProtocolError,
            Self::Spawn { .. } => Code::SpawnFailed,
            Self::LauncherNotInitialized { .. } => Code::LauncherNotInitialized,
            Self::IsolationUnavailable { .. } => Code::IsolationUnavailable,
            Self::FolderReplaced { .. } => Code::FolderReplaced,
            Self::GrantHidden { .. } => Code::GrantHidden,
            Self::NotGranted { .. } => Code::NotGranted,
            Self::Changed { .. } => Code::PendingTrust,
            Self::ChildEnded { .. } => Code::ChildEnded,
            Self::Closed | Self::ResponseLost { .. } | Self::StreamLost => Code::ConnectionClosed,
            Self::ClientCertificate { .. } => Code::TlsFailed,
        }
    }

    /// Returns the state that it leaves a server in.
    #[must_use]
    pub fn state(&self) -> ServerState {
        match self {
            Self::Auth(error) => error.state(),
            error => error.code().state(),
        }
    }

    /// Returns how a command ends that fails with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Auth(error) => error.exit(),
            // A sign-in does not change the scopes of a credential that the entry names.
            Self::Refused { .. } => Exit::Failed,
            // The server was reached, and waiting does not help.
            Self::ClientCertificate { .. } => Exit::Failed,
            error => error.code().exit(),
        }
    }

    /// Returns what to do next; `SERVER` and `PLUGIN` stand for the names.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Auth(error) => error.hint(),
            Self::Status {
                status: 500..=599 | 408 | 425,
                ..
            } => {
                "the server is failing: try again in a minute; if it keeps failing, look at its status page or ask its operator"
            }
            Self::ChildEnded {
                confined: Some(note),
                ..
            } => &note.hint,
            error => error.code().hint(),
        }
    }
}
