//! Why a person has to sign in.

use keyway_store::{Grant, GrantState, RejectionCause};

use super::refusal::shown;
use crate::refusal::HttpRefusal;

/// Why an earlier sign-in does not count any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignInCause {
    /// There was none.
    Never,
    /// It ended, and cannot renew itself.
    Ended,
    /// Its refresh token was rejected, by a fault that is known.
    Rejected(RejectionCause),
    /// The server does not accept its token.
    Refused,
    /// Its scopes do not suffice.
    Scope,
    /// The server has moved to another authorization server.
    Moved,
    /// There is none at the identity provider, through which the server is signed in to.
    IdentityProvider,
}

impl SignInCause {
    /// Says why a stored sign-in that cannot renew itself has ended, by what is stored with it: the
    /// process that noticed is rarely the one that tells.
    pub(crate) fn of_ended(grant: &Grant) -> Self {
        match grant.state {
            GrantState::NeedsReauth => Self::of_rejection(grant.rejection_cause),
            _ => Self::Ended,
        }
    }

    pub(crate) const fn of_rejection(cause: RejectionCause) -> Self {
        match cause.clause() {
            Some(_) => Self::Rejected(cause),
            None => Self::Ended,
        }
    }
}

/// Says why a person has to sign in.
pub(super) fn sign_in_text(
    cause: SignInCause,
    scopes: &[String],
    refusal: Option<&HttpRefusal>,
) -> String {
    let why = match cause {
        SignInCause::Never => "not signed in",
        SignInCause::Ended => "the sign-in ended and cannot be renewed",
        SignInCause::Rejected(cause) => {
            return format!("the sign-in ended{}", why_rejected(cause));
        }
        SignInCause::Refused => "the server no longer accepts the sign-in",
        SignInCause::IdentityProvider => "not signed in at the identity provider",
        SignInCause::Moved => "the server has changed its authorization server since the sign-in",
        SignInCause::Scope => {
            let asked = refusal.and_then(|refusal| refusal.scope.clone());
            let asked = asked.unwrap_or_else(|| scopes.join(" "));
            if asked.is_empty() {
                return "the server asks for more scopes".to_owned();
            }
            let asked = shown(&asked);
            return format!("the server requires scopes that were not granted: `{asked}`");
        }
    };
    why.to_owned()
}

/// Returns the clause that tells the fault, with its colon; empty if none is known.
pub(super) fn why_rejected(cause: RejectionCause) -> String {
    cause
        .clause()
        .map_or_else(String::new, |clause| format!(": {clause}"))
}
