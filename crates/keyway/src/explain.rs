//! Errors in a person's words: what happened, under which code, and what to do next.

use std::error::Error;

use keyway_auth::oauth::{OAuthError, SignInCause, What};
use keyway_auth::ports::{HttpFailure, InteractionError};
use keyway_auth::{AuthError, HelperFault};
use keyway_transport::TransportError;

/// What to tell a person about an error.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The code used in every format.
    pub code: &'static str,
    /// What happened, causes included, in one line.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// Explains why there is no credential.
#[must_use]
pub fn explain_auth(error: &AuthError) -> Explained {
    Explained {
        code: error.code(),
        message: keyway_secret::printable(&error.to_string()),
        hint: auth_hint(error),
    }
}

/// Explains why a server could not be reached or stopped answering.
#[must_use]
pub fn explain(error: &TransportError) -> Explained {
    if let TransportError::Auth(error) = error {
        return explain_auth(error);
    }
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        message = format!("{message}: {below}");
        cause = below.source();
    }
    if let TransportError::ChildEnded { last_lines, .. } = error
        && let Some(last) = last_lines.last()
    {
        message = format!("{message}; it said last: {last}");
    }
    Explained {
        code: error.code(),
        message: keyway_secret::printable(&message),
        hint: hint(error).map(str::to_owned),
    }
}

fn hint(error: &TransportError) -> Option<&'static str> {
    Some(match error {
        TransportError::Refused { status: 401, .. } => {
            "check that the variable behind the credential is set, complete and not expired"
        }
        TransportError::Refused { .. } => {
            "the credential is valid but not allowed to do this: check its permissions, and the tenant or workspace variable"
        }
        TransportError::Unreachable { .. } => {
            "check the address, the network and the proxy variables"
        }
        TransportError::Redirect => "put the address that the server redirects to into `url`",
        TransportError::Status {
            status: 404 | 405, ..
        } => "check the path of `url`, and whether `type` fits the server",
        TransportError::Timeout { .. } => {
            "try again; if it stays so, the server is overloaded or not reachable"
        }
        TransportError::Changed { .. } => {
            "look at what it does now and approve it again: keyway trust grant SERVER"
        }
        TransportError::Spawn { .. } => "check that the program is installed and in PATH",
        TransportError::ChildEnded { .. } => "run the command by hand to see why it ends",
        TransportError::Forbidden { .. } => {
            "check the host in `url`; an address of this kind is never connected to"
        }
        TransportError::Closed => {
            "try again; if it happens each time, its operator has to find out why"
        }
        _ => return None,
    })
}

fn auth_hint(error: &AuthError) -> Option<String> {
    let text = match error {
        AuthError::Helper { fault } => helper_hint(fault)?,
        AuthError::OAuth(error) => {
            if let OAuthError::Vault { hint, .. } = &**error {
                return hint.clone();
            }
            oauth_hint(error)?
        }
        _ => return None,
    };
    Some(text.to_owned())
}

const fn helper_hint(fault: &HelperFault) -> Option<&'static str> {
    Some(match fault {
        HelperFault::NotExecutable { .. } => "check that the file is there and executable",
        HelperFault::Changed { .. } => "look at what changed and approve it: keyway trust grant",
        _ => "run the helper by hand: it has to print one JSON object of headers and end with 0",
    })
}

fn oauth_hint(error: &OAuthError) -> Option<&'static str> {
    Some(match error {
        OAuthError::SignInRequired {
            cause: SignInCause::Scope,
            ..
        } => "agree to the scopes that the server asks for: keyway login",
        OAuthError::SignInRequired { .. } => "sign in once: keyway login",
        OAuthError::SignInUnderWay { .. } => "open the page, agree, and try again",
        OAuthError::GrantRejected {
            interrupted: true, ..
        } => {
            "another process was stopped while it renewed this sign-in, and its new token is lost; sign in again: keyway login"
        }
        OAuthError::GrantRejected { .. } => "sign in again: keyway login",
        OAuthError::NotOffered => {
            "the server takes no sign-in by OAuth; put a token for it into `headers`"
        }
        OAuthError::NoRegistration { .. } | OAuthError::RegistrationRefused { .. } => {
            "register a client there yourself, and put its id into `oauth.clientId` of the entry or below `[oauth.issuers]` of `config.toml`; or host a client-ID metadata document: keyway client-metadata"
        }
        OAuthError::IssuerMismatch { .. } => {
            "do not sign in there: the metadata belongs to somebody else, or its operator has to correct `issuer`"
        }
        OAuthError::MixUp { .. } => {
            "do not sign in there: the answer came from another authorization server than the one that was asked"
        }
        OAuthError::ResourceMismatch { .. } => {
            "check `url`; the server says that it is another one"
        }
        OAuthError::PkceUnsupported { .. } => {
            "if you know that it supports PKCE, say so: `pkce = \"assume-s256\"` below `[servers.\"PLUGIN:SERVER\".oauth]` of `config.toml`"
        }
        OAuthError::Loop => {
            "the server and its authorization server do not agree; its operator has to look at audience and issuer of the tokens"
        }
        OAuthError::ScopeLimit { .. } => {
            "the account lacks a permission that no sign-in can give; ask the administrator"
        }
        OAuthError::TokenRefused { .. } => {
            "check `clientId` and the variable behind `clientSecret`, then: keyway login"
        }
        OAuthError::NoAssertion { .. } => {
            "check in `config.toml` where it is taken from, and that the program that writes it runs"
        }
        OAuthError::AuthorizationRefused { .. } => "sign in again and agree: keyway login",
        OAuthError::Interaction(InteractionError::PortBusy { .. }) => {
            "end the program that uses the port, or remove `callbackPort` from the entry"
        }
        OAuthError::Interaction(InteractionError::Nobody) => {
            "sign in from a terminal: keyway login --no-browser"
        }
        OAuthError::Http {
            failure: HttpFailure::Forbidden { .. },
            ..
        } => {
            "the server leads to an address that is less public than its own; if that is right, say so: `private_issuer = true` below `[servers.\"PLUGIN:SERVER\".oauth]` of `config.toml`"
        }
        OAuthError::Http {
            what: What::ResourceMetadata,
            failure: HttpFailure::Unreachable { .. } | HttpFailure::Timeout { .. },
        } => "check the address of the server, the network and the proxy variables",
        error if error.is_transient() => {
            "nothing was lost; try again when the authorization server answers"
        }
        _ => return None,
    })
}
