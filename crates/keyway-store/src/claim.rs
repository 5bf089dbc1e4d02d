//! The answers of the protocol by which exactly one process refreshes.

use std::fmt;
use std::time::Duration;

use keyway_secret::Secret;

use crate::key::GrantKey;
use crate::time::{Generation, Timestamp};

/// The answer to [`GrantStore::claim`](crate::GrantStore::claim).
#[derive(Debug)]
#[non_exhaustive]
pub enum Claim {
    /// Redeem, then commit, mark, postpone or report the answer as lost; release only if no
    /// request was sent.
    Claimed(Claimed),
    /// Another owner, which lives, redeems right now.
    Held {
        /// The owner of the claim.
        owner: OwnerId,
        /// Whether the claim is older than its lifetime. Its owner may still commit.
        is_overdue: bool,
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
    /// This claim, for [`GrantStore::release`](crate::GrantStore::release).
    pub id: ClaimId,
    /// The refresh token.
    pub refresh: Secret<String>,
    /// Names the refresh token, for [`GrantStore::mark_reauth`](crate::GrantStore::mark_reauth).
    pub fingerprint: Fingerprint,
    /// How many earlier owners of a claim on this generation never ended it.
    ///
    /// If it is not zero and the server rejects the token, then probably because one of them
    /// redeemed it and died before its commit.
    pub interrupted: u32,
    /// How many earlier requests with this refresh token got no answer.
    ///
    /// If it is not zero and the server rejects the token, then probably because the answer to one
    /// of them held its successor.
    pub lost_answers: u32,
    /// How much longer the authorization server wants to be left alone, if it said so.
    pub postponed: Option<Duration>,
}

impl Claimed {
    /// Makes the answer for a claim that no earlier owner left open.
    #[must_use]
    pub const fn new(id: ClaimId, refresh: Secret<String>, fingerprint: Fingerprint) -> Self {
        Self {
            id,
            refresh,
            fingerprint,
            interrupted: 0,
            lost_answers: 0,
            postponed: None,
        }
    }

    /// Sets how many earlier owners of a claim on this generation never ended it.
    #[must_use]
    pub const fn with_interrupted(mut self, interrupted: u32) -> Self {
        self.interrupted = interrupted;
        self
    }

    /// Sets how many earlier requests with this refresh token got no answer.
    #[must_use]
    pub const fn with_lost_answers(mut self, lost_answers: u32) -> Self {
        self.lost_answers = lost_answers;
        self
    }

    /// Says what a rejection of this token probably comes from.
    #[must_use]
    pub const fn rejection_cause(&self) -> RejectionCause {
        RejectionCause::of(self.interrupted, self.lost_answers)
    }

    /// Sets how much longer the authorization server wants to be left alone.
    #[must_use]
    pub const fn with_postponed(mut self, postponed: Option<Duration>) -> Self {
        self.postponed = postponed;
        self
    }
}

/// What the rejection of a refresh token probably comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectionCause {
    /// The server's own decision: it ended, or was revoked.
    Server,
    /// An earlier answer of the token endpoint, with the next refresh token, did not arrive.
    AnswerLost,
    /// A process died between sending this token and storing the next.
    ProcessDied,
    /// The store was restored from a backup, and the token may have been used since.
    Restored,
}

impl RejectionCause {
    /// Judges by what is stored beside the token: how many owners of a claim never ended it, and
    /// how many requests got no answer.
    #[must_use]
    pub const fn of(interrupted: u32, lost_answers: u32) -> Self {
        if lost_answers > 0 {
            Self::AnswerLost
        } else if interrupted > 0 {
            Self::ProcessDied
        } else {
            Self::Server
        }
    }

    /// Returns it as a clause, for a message about the sign-in; `None` where only the server knows.
    #[must_use]
    pub const fn clause(self) -> Option<&'static str> {
        match self {
            Self::Server => None,
            Self::AnswerLost => Some(
                "an answer of its token endpoint was lost on the way, and the new token with it",
            ),
            Self::Restored => Some(
                "the database was restored from a backup, and this token may have been used since",
            ),
            Self::ProcessDied => {
                Some("a process was stopped while it renewed it, and the new token is lost")
            }
        }
    }
}

/// The answer to [`GrantStore::commit`](crate::GrantStore::commit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Commit {
    /// The tokens are on disk.
    Committed {
        /// Their version.
        generation: Generation,
    },
    /// They are not: another process stored others, or signed out.
    Superseded {
        /// What is stored now, to be used instead.
        current: Option<Generation>,
    },
}

/// The answer to [`GrantStore::mark_reauth`](crate::GrantStore::mark_reauth).
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
pub struct OrphanedClaim {
    /// The sign-in.
    pub grant: GrantKey,
    /// The generation that was to be replaced.
    pub generation: Generation,
    /// The owner that died.
    pub owner: OwnerId,
    /// Names the refresh token that may have been sent.
    pub fingerprint: Fingerprint,
    /// When it was claimed.
    pub claimed_at: Timestamp,
}

impl OrphanedClaim {
    /// Makes the description of a claim whose owner died.
    #[must_use]
    pub const fn new(
        grant: GrantKey,
        generation: Generation,
        owner: OwnerId,
        fingerprint: Fingerprint,
        claimed_at: Timestamp,
    ) -> Self {
        Self {
            grant,
            generation,
            owner,
            fingerprint,
            claimed_at,
        }
    }
}

/// The identity of one claim. A number is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClaimId(i64);

impl ClaimId {
    /// Makes an identity of a backend's own counter.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// Returns the number that it was made of.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// Identifies a refresh token within its sign-in, without revealing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Makes a fingerprint of a keyed hash of the token.
    ///
    /// The key must be secret and the grant's own: an unkeyed hash lets others test guesses.
    #[must_use]
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Returns the hash that it was made of.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The identity of a store handle that claims, as the backend writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerId(String);

impl OwnerId {
    /// Makes an identity of a backend's own text, which must be unique among all handles.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text that it was made of.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
