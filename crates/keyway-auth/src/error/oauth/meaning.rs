//! What each error means: its code, the state that it leaves a server in, and the hint where the
//! variant knows more than its code. The matches name every variant, so that a new one has to be
//! decided here.

use keyway_code::{Code, Reason, ServerState, State};

use super::{DEVICE_ENDPOINT, OAuthError, RejectionCause, RequestTarget, SignInCause};
use crate::ports::{Barred, HttpFailure, InteractionError};

impl OAuthError {
    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::SignInRequired {
                cause: SignInCause::Scope,
                ..
            }
            | Self::ScopeLimit { .. } => Code::InsufficientScope,
            Self::SignInRequired { .. }
            | Self::SignInUnderWay { .. }
            | Self::CodeOfClient { .. }
            | Self::AskedElsewhere => Code::SignInRequired,
            Self::NotOffered => Code::OauthNotOffered,
            Self::NoMetadata { .. } => Code::NoMetadata,
            Self::Http { failure, .. } => match failure {
                HttpFailure::Forbidden { .. } => Code::ForbiddenAddress,
                HttpFailure::Redirect { .. } => Code::RedirectRefused,
                HttpFailure::Protocol { .. } => Code::BadMetadata,
                HttpFailure::Unreachable { .. } | HttpFailure::Timeout { .. } => Code::NetworkError,
            },
            Self::Status { .. } => Code::AuthorizationServerError,
            Self::Document { .. } | Self::Endpoint { .. } => Code::BadMetadata,
            Self::ResourceMismatch { .. } | Self::IssuedForOther { .. } => Code::ResourceMismatch,
            Self::IssuerMismatch { .. }
            | Self::IssuedByOther { .. }
            | Self::MixUp { .. }
            | Self::ForeignPage { .. }
            | Self::ClientOfOther { .. }
            | Self::SecretElsewhere { .. }
            | Self::EndpointOfEntry { .. } => Code::IssuerMismatch,
            Self::PkceUnsupported { .. } => Code::PkceUnsupported,
            Self::NoEndpoint { .. } => Code::NoEndpoint,
            Self::NoRegistration { .. } => Code::DcrUnsupported,
            Self::RegistrationRefused { .. } => Code::RegistrationRefused,
            Self::ClientAuthentication { .. } => Code::ClientAuthentication,
            Self::Interaction(error) => match error {
                InteractionError::PortBusy { .. } => Code::CallbackPortBusy,
                InteractionError::Unavailable => Code::SignInRequired,
                InteractionError::Listener { .. }
                | InteractionError::Cancelled
                | InteractionError::Timeout { .. } => Code::AuthFailed,
            },
            Self::AuthorizationRefused { .. } | Self::DeclinedElsewhere => Code::AuthFailed,
            Self::TokenRefused { .. } => Code::TokenRefused,
            Self::IdentityRefused { .. } => Code::IdentityRefused,
            Self::GrantRejected { .. } => Code::RefreshFailed,
            // The sign-in is there: nothing of this asks for a new one.
            Self::RenewalBusy { .. } | Self::RenewalSlow { .. } | Self::RenewalQueued { .. } => {
                Code::NetworkError
            }
            Self::RenewalPostponed { .. } => Code::AuthorizationServerError,
            Self::RefreshUnanswered { .. } => Code::RefreshUnanswered,
            Self::OtherAccount => Code::OtherAccount,
            Self::Loop => Code::OauthLoop,
            Self::NoAssertion { .. } => Code::NoAssertion,
            Self::Vault { .. } => Code::Vault,
            Self::VaultUnwritable { .. } => Code::VaultUnwritable,
            Self::StoreUnreachable { .. } => Code::StoreUnreachable,
            Self::Crypto { .. } => Code::Internal,
        }
    }

    /// Says whether trying again later may help without anyone doing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Http { failure, .. } => failure.is_transient(),
            Self::Status { status, .. } => matches!(*status, 408 | 429 | 500..=599),
            Self::RenewalBusy { .. }
            | Self::RenewalSlow { .. }
            | Self::RenewalQueued { .. }
            | Self::RenewalPostponed { .. }
            | Self::StoreUnreachable { .. }
            | Self::RefreshUnanswered { .. } => true,
            _ => false,
        }
    }

    /// Returns the state that it leaves a server in: that of the code, unless the variant knows
    /// better.
    #[must_use]
    pub const fn state(&self) -> ServerState {
        match self {
            Self::SignInUnderWay { .. } | Self::CodeOfClient { .. } | Self::AskedElsewhere => {
                ServerState::new(State::NeedsAuth, Reason::Authorizing)
            }
            Self::SignInRequired {
                cause:
                    SignInCause::Ended
                    | SignInCause::Rejected(_)
                    | SignInCause::Refused
                    | SignInCause::Moved,
                ..
            } => ServerState::new(State::NeedsAuth, Reason::ReauthRequired),
            Self::Status { .. } if !self.is_transient() => {
                ServerState::new(State::NeedsAuth, Reason::AuthFailed)
            }
            _ => self.code().state(),
        }
    }

    /// Returns what to do next; `SERVER` and `PLUGIN` stand for the names.
    #[must_use]
    pub fn hint(&self) -> &str {
        if let Some(hint) = self.vault_hint() {
            return hint;
        }
        match self {
            Self::SignInUnderWay { .. } => "open the page, agree, and try again",
            Self::CodeOfClient { .. } => "enter the code there, agree, and try again",
            Self::AskedElsewhere => "agree in the window that is open, and try again",
            Self::GrantRejected { cause, .. } => {
                rejection_hint(*cause).unwrap_or_else(|| self.code().hint())
            }
            Self::RenewalBusy {
                is_overdue: false, ..
            } => "nothing was lost; try again in a moment",
            Self::RenewalBusy { .. } => {
                "the process does not finish, and only it may use the refresh token; end it (kill, with the number above), then try again"
            }
            Self::RenewalSlow { .. } => {
                "the request continues, and its answer will be stored; try again in a moment"
            }
            Self::RenewalQueued { .. } => {
                "nothing was lost; try again in a moment, or set `refreshes_per_second` of the issuer"
            }
            Self::RenewalPostponed { .. } => "nothing was lost; try again after that",
            Self::MixUp { .. }
            | Self::ClientOfOther { .. }
            | Self::SecretElsewhere { .. }
            | Self::EndpointOfEntry { .. } => self.issuer_hint(),
            Self::ScopeLimit { .. } => {
                "the account lacks a permission that no sign-in can give; ask the administrator"
            }
            Self::Interaction(error) => interaction_hint(error),
            Self::NoEndpoint { endpoint, .. } if *endpoint == DEVICE_ENDPOINT => {
                "sign in without a device code: keyway login SERVER --no-browser prints a URL to open on any device"
            }
            Self::Http { what, failure } => http_hint(*what, failure),
            Self::Status { .. } if !self.is_transient() => {
                "only its operator can fix this; send them the log that this writes: keyway doctor SERVER --debug=oauth --debug-file keyway-debug.txt"
            }
            Self::ForeignPage { .. } => {
                "if you know that both belong together, say so on a terminal: keyway login SERVER"
            }
            Self::SignInRequired { .. }
            | Self::DeclinedElsewhere
            | Self::NotOffered
            | Self::NoMetadata { .. }
            | Self::Status { .. }
            | Self::Document { .. }
            | Self::ResourceMismatch { .. }
            | Self::IssuedByOther { .. }
            | Self::IssuedForOther { .. }
            | Self::IssuerMismatch { .. }
            | Self::PkceUnsupported { .. }
            | Self::Endpoint { .. }
            | Self::NoEndpoint { .. }
            | Self::NoRegistration { .. }
            | Self::RegistrationRefused { .. }
            | Self::ClientAuthentication { .. }
            | Self::AuthorizationRefused { .. }
            | Self::TokenRefused { .. }
            | Self::IdentityRefused { .. }
            | Self::RefreshUnanswered { .. }
            | Self::OtherAccount
            | Self::Loop
            | Self::NoAssertion { .. }
            | Self::Vault { .. }
            | Self::VaultUnwritable { .. }
            | Self::StoreUnreachable { .. }
            | Self::Crypto { .. } => self.code().hint(),
        }
    }

    /// Returns what to do where a client would be used with another issuer, or elsewhere than there.
    fn issuer_hint(&self) -> &str {
        match self {
            Self::MixUp { .. } => {
                "do not sign in there: the answer came from another authorization server than the one that was asked"
            }
            Self::ClientOfOther { .. } => {
                "do not sign in there unless you know that the server has moved; then: keyway logout SERVER, register a client with the new one and put its id into `oauth.clientId`"
            }
            Self::SecretElsewhere { .. } => {
                "only if you know that host: name it in the entry, as `oauth.authorizationUrl` and `oauth.tokenUrl`, and approve the entry again"
            }
            Self::EndpointOfEntry { .. } => {
                "only if you know that address to be the issuer's: put it into your settings beside the client, as `token_endpoint`"
            }
            _ => self.code().hint(),
        }
    }

    /// Returns what the vault itself says to do.
    fn vault_hint(&self) -> Option<&str> {
        match self {
            Self::Vault { hint, .. }
            | Self::VaultUnwritable { hint, .. }
            | Self::StoreUnreachable { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}

/// Says what ended the sign-in, where it was not the person or the server.
const fn rejection_hint(cause: RejectionCause) -> Option<&'static str> {
    match cause {
        RejectionCause::ProcessDied => Some(
            "another process was stopped while it renewed this sign-in, and its new token is lost; sign in again: keyway login SERVER",
        ),
        RejectionCause::AnswerLost => Some(
            "an earlier answer of the token endpoint was lost on the way, and the new token with it; sign in again: keyway login SERVER",
        ),
        RejectionCause::Restored => Some(
            "the database was restored from a backup, and this sign-in may have been renewed since; sign in again: keyway login SERVER",
        ),
        _ => None,
    }
}

const fn interaction_hint(error: &InteractionError) -> &'static str {
    match error {
        InteractionError::Unavailable => {
            "sign in from a terminal: keyway login SERVER --no-browser"
        }
        InteractionError::PortBusy { .. } => Code::CallbackPortBusy.hint(),
        InteractionError::Listener { .. } => {
            "no port of this machine can be listened on; bring the answer yourself: keyway login SERVER --no-browser"
        }
        InteractionError::Cancelled | InteractionError::Timeout { .. } => {
            "sign in again, and answer the page: keyway login SERVER"
        }
    }
}

const fn http_hint(what: RequestTarget, failure: &HttpFailure) -> &'static str {
    match failure {
        HttpFailure::Forbidden { why, .. } => match why {
            Barred::Never => {
                "no setting allows it: cloud services at such addresses hand out credentials; its operator has to move the authorization server to an ordinary address"
            }
            Barred::Unencrypted => {
                "no setting allows it: its operator has to serve the authorization server over `https`"
            }
            Barred::LessPublic => {
                "the server refers to an address that is less public than its own; if that is right, say so: `private_issuer = true` below `[servers.\"PLUGIN:SERVER\".oauth]` of `config.toml`"
            }
        },
        HttpFailure::Redirect { .. } => Code::RedirectRefused.hint(),
        HttpFailure::Protocol { .. } => Code::BadMetadata.hint(),
        HttpFailure::Unreachable { .. } | HttpFailure::Timeout { .. } => match what {
            RequestTarget::ResourceMetadata => {
                "check the address of the server, the network and the proxy variables"
            }
            _ => Code::NetworkError.hint(),
        },
    }
}
