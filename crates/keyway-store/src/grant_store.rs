//! The tokens of a sign-in, and the protocol by which exactly one process refreshes them.
//!
//! Rotating refresh tokens may be sent once. So a process that wants to refresh first **claims** the
//! generation that it has seen, which is stored before any request leaves; then redeems the refresh
//! token, holding no lock; then **commits** on condition that the generation is still the same. A
//! loser adopts what the winner stored. A claim whose owner died is taken over at once; one whose
//! owner lives is not, however long it lasts, unless the caller knows that the authorization server
//! accepts a refresh token twice. The wall clock decides none of this.
//!
//! ```text
//!              put                        claim (owner)
//!   absent ──────────▶ good, unclaimed ─────────────────────────▶ good, claimed
//!     ▲                  ▲   ▲   ▲                                 │   │   │
//!     │ delete           │   │   ├── release: nothing was sent ────┤   │   │
//!     │ (from anywhere)  │   │   ├── postpone: server said "wait" ─┤   │   │
//!     │                  │   │   ├── answer_lost: counted ─────────┤   │   │
//!     │                  │   │   └── owner died: counted ──────────┘   │   │
//!     │                  │   └────── commit: next generation ──────────┘   │
//!     │              put │                                                 │
//!     │                  └── needs reauth ◀── mark_reauth: token rejected ─┘
//! ```

use std::time::Duration;

use keyway_secret::Secret;

use crate::claim::{Claim, ClaimId, Commit, Fingerprint, Marked, OrphanedClaim, OwnerId};
use crate::error::{BackendFailure, StoreError};
use crate::grant::{Grant, GrantSummary, Tokens};
use crate::key::GrantKey;
use crate::time::Generation;

/// A store of grants that many processes use at once.
///
/// Each handle is an owner of its own: a claim belongs to the handle that made it, and ends when
/// that handle's process dies. Calls block; none holds a lock after it returned.
pub trait GrantStore: Send + Sync {
    /// Returns the access token and its state; `None` without a sign-in.
    ///
    /// The hot path: a refresh token is never unsealed.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Corrupt`] if the row was tampered with.
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError>;

    /// Claims the right to redeem the refresh token of `generation`, for at most `lifetime`.
    ///
    /// When this returns [`Claim::Claimed`], the intent is on disk.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked: then nothing may be redeemed.
    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError>;

    /// As [`claim`](Self::claim), but replaces the overdue claim of an owner that lives.
    ///
    /// Both may then redeem the same refresh token: only for an authorization server that is known
    /// to accept that.
    ///
    /// # Errors
    ///
    /// As [`claim`](Self::claim).
    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError>;

    /// Stores what was redeemed, if `generation` is still the stored one; ends any claim.
    ///
    /// Whether the claim still holds does not matter: a late winner saves the only live token.
    /// A refresh token or details that `tokens` lacks are kept from before (RFC 6749 section 6).
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked: try again, the tokens are not saved.
    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError>;

    /// As [`commit`](Self::commit), and returns what [`read`](Self::read) would then, if the store
    /// knows it at once.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    fn commit_and_read(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(Commit, Option<Grant>), StoreError> {
        Ok((self.commit(grant, generation, tokens)?, None))
    }

    /// Keeps tokens that could not be committed where they survive this process, sealed.
    ///
    /// The store commits them by their generation before it answers the next
    /// [`claim`](Self::claim), whichever process makes it.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if that place cannot be written to either, or there is none.
    fn journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), StoreError>;

    /// Keeps a new sign-in that could not be stored where it survives this process, sealed.
    ///
    /// `over` is what is stored now. The store puts the new one in its place before it answers the
    /// next [`claim`](Self::claim) and in [`settle_journal`](Self::settle_journal), whichever
    /// process calls; unless there is another sign-in by then, or the person has signed out.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if that place cannot be written to either, or there is none:
    /// so it is by default.
    fn journal_sign_in(
        &self,
        _grant: &GrantKey,
        _over: Option<Generation>,
        _tokens: &Tokens,
    ) -> Result<(), StoreError> {
        Err(BackendFailure::new("this store has no journal").into())
    }

    /// Stores what lies in the journal for a sign-in; returns the generation that is stored then.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked: what was not stored stays there.
    fn settle_journal(&self, grant: &GrantKey) -> Result<Option<Generation>, StoreError> {
        Ok(self.read(grant)?.map(|stored| stored.generation))
    }

    /// Reserves what storing a new sign-in takes, before a person is asked for it; until it is
    /// stored, [given back](Self::unreserve), or this process ends.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if it could not be stored: then no person should be asked.
    fn reserve(&self, _grant: &GrantKey) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives back what was reserved for a sign-in that did not come about.
    fn unreserve(&self, _grant: &GrantKey) {}

    /// Shows to other processes that this one has a new sign-in in memory alone, until it is stored
    /// or this process ends.
    fn show_unstored(&self, _grant: &GrantKey) {}

    /// Gives a claim back for which no request was sent; tells whether it was still held.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError>;

    /// Gives a claim back whose request was sent and got no answer; tells whether it was still held.
    ///
    /// The server may have replaced the refresh token: later claims say so.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError>;

    /// Gives a claim back because the server asked to wait; every claim within that time says so.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError>;

    /// Notes that the authorization server rejected the refresh token of `generation`.
    ///
    /// Only if the stored refresh token is still the rejected one. Deletes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError>;

    /// Returns this handle's own identity as an owner of claims.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if the handle cannot show to others that it lives.
    fn owner(&self) -> Result<OwnerId, StoreError>;

    /// Tells whether an owner lives; one that cannot be judged from here counts as alive.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if it cannot be found out.
    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError>;

    /// Returns the process id of an owner on this machine, where the backend knows it.
    fn owner_process(&self, _owner: &OwnerId) -> Option<u32> {
        None
    }

    /// Lists the claims whose owners died.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError>;

    /// Starts to report sign-ins, sign-outs and rejected refresh tokens, but not refreshes.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError>;

    /// Returns the refresh token of a sign-in although another process holds its claim, so that a
    /// sign-out can have it revoked. It must not be redeemed: that takes a claim.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Corrupt`] if it cannot be opened.
    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError>;

    /// Shows to other processes that this one uses a sign-in, until the value is dropped.
    ///
    /// Call it before reading the sign-in: then no request to stop is missed. `None` where there
    /// is no store yet.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if it cannot be shown.
    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError>;

    /// Asks all processes that use a sign-in to stop, and waits at most `timeout` for them.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if they cannot be asked.
    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError>;

    /// Stores a sign-in, in place of an earlier one, which is kept until this is on disk.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Corrupt`] if the earlier one was tampered with; delete it first.
    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError>;

    /// Removes a sign-in and destroys its data key.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Busy`] if the store stays locked.
    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError>;

    /// Lists the sign-ins of a profile without unsealing any token.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Corrupt`] if rows were added, removed or rolled back.
    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError>;
}

/// Shows that a sign-in is in use; dropping it ends the use.
pub trait UseMarker: std::fmt::Debug + Send + Sync {
    /// Tells whether another process asked to stop. Never waits.
    fn is_stop_requested(&self) -> bool;
}

/// The outcome of [`GrantStore::stop_users`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoppedUsers {
    /// How many processes stopped.
    pub stopped: usize,
    /// How many had not when the time was over.
    pub remaining: usize,
}

impl StoppedUsers {
    /// Makes an outcome.
    #[must_use]
    pub const fn new(stopped: usize, remaining: usize) -> Self {
        Self { stopped, remaining }
    }
}

/// The outcome of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deleted {
    /// There was nothing to delete.
    Absent,
    /// It is gone, and no file holds its data key any more.
    Wiped,
    /// It is gone, but other processes kept the log in use; it is wiped at the next occasion.
    WipePending,
}

/// Reports changes that processes made to a store, in the order of its own calls.
pub trait ChangeFeed: Send {
    /// Tells whether something changed since the last call. Never waits for other processes.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if the store cannot be read.
    fn changed(&mut self) -> Result<bool, StoreError>;

    /// Waits until something changed, or `at_most` has passed.
    ///
    /// # Errors
    ///
    /// As [`ChangeFeed::changed`].
    fn wait(&mut self, at_most: Duration) -> Result<bool, StoreError>;
}
