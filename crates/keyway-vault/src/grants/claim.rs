//! The answers of the protocol by which exactly one process refreshes.

use keyway_secret::Secret;

#[cfg(doc)]
use super::GrantStore;
use super::{GrantKey, OwnerId};
use crate::store::{Generation, Timestamp};

/// The answer to [`GrantStore::claim`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Claim {
    /// Redeem, then commit, release or mark.
    Claimed(Claimed),
    /// Somebody else redeems right now.
    Held {
        /// Who.
        owner: OwnerId,
        /// Until when at the longest.
        until: Timestamp,
    },
    /// There is another generation already: read it.
    Moved {
        /// The stored generation.
        generation: Generation,
    },
    /// The refresh token was rejected before.
    NeedsReauth,
    /// There is no refresh token.
    NotRefreshable,
    /// There is no sign-in.
    Absent,
}

/// The right to redeem a refresh token.
#[derive(Debug)]
#[non_exhaustive]
pub struct Claimed {
    /// Names this claim, for [`GrantStore::release`].
    pub epoch: Epoch,
    /// The refresh token.
    pub refresh: Secret<String>,
    /// Names the refresh token, for [`GrantStore::mark_reauth`].
    pub fingerprint: Fingerprint,
    /// How many earlier owners of a claim on this generation never ended it.
    ///
    /// If it is not zero and the server rejects the token, then probably because one of them
    /// redeemed it and died before its commit.
    pub interrupted: u32,
}

/// The answer to [`GrantStore::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Commit {
    /// The tokens are on disk.
    Committed {
        /// Their version.
        generation: Generation,
    },
    /// They are not: somebody else stored others, or signed out.
    Superseded {
        /// What is stored now, to be used instead.
        current: Option<Generation>,
    },
}

/// The answer to [`GrantStore::mark_reauth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Marked {
    /// The person has to sign in again.
    Marked,
    /// The rejected token is not the stored one: nothing changed.
    Superseded {
        /// What is stored now, to be used instead.
        current: Option<Generation>,
    },
}

/// A claim whose owner died.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Orphan {
    /// The sign-in.
    pub grant: GrantKey,
    /// The generation that was to be replaced.
    pub generation: Generation,
    /// Who claimed it.
    pub owner: OwnerId,
    /// Names the refresh token that may have been sent.
    pub fingerprint: Fingerprint,
    /// When it was claimed.
    pub claimed_at: Timestamp,
}

/// Names one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch(pub(crate) i64);

/// Names a refresh token, without giving it away and only within its sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub(crate) [u8; 32]);
