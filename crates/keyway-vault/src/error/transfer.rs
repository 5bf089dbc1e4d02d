//! Why a sign-in does not get from one vault to another.

use thiserror::Error;

/// Why a sign-in is not moved or not imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransferFault {
    /// The text is not a public key.
    #[error("this is not a public key of `keyway vault key`")]
    NotAKey,
    /// The text is not a sealed sign-in.
    #[error("this is not a sign-in that `keyway vault move` sealed")]
    NotSealed,
    /// It is sealed for the key of another vault, or was changed.
    #[error("the sign-in is sealed for another vault, or was changed")]
    OtherKey,
    /// It was sealed too long ago.
    #[error("the sealed sign-in has expired")]
    Ended,
    /// It was imported before.
    #[error("the sealed sign-in was imported before")]
    ImportedBefore,
    /// It is one to another address, or with other headers.
    #[error("the sealed sign-in is for another server")]
    OtherServer,
    /// There is a sign-in in its place.
    #[error("already signed in to this server")]
    SignedIn,
    /// The refresh token was rejected: there is nothing left to move.
    #[error("the stored sign-in has ended")]
    NeedsReauth,
}

impl TransferFault {
    pub(super) const fn hint(&self) -> &'static str {
        match self {
            Self::NotAKey => "run `keyway vault key` at the destination, and pass what it prints",
            Self::NotSealed => "pass the whole text that `keyway vault move` wrote",
            Self::OtherKey => {
                "compare the fingerprint of `keyway vault key` here with the one that `keyway \
                 vault move` showed"
            }
            Self::Ended | Self::ImportedBefore => {
                "sign in for this vault on a machine with a browser: `keyway login SERVER --for \
                 KEY`, with the key that `keyway vault key` prints here"
            }
            Self::OtherServer => {
                "name the server that it was moved from; address and headers have to be the same"
            }
            Self::SignedIn => "sign out first: `keyway logout SERVER`",
            Self::NeedsReauth => "sign in again: `keyway login SERVER`",
        }
    }
}
