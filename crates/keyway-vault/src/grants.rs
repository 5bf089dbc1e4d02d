//! The tokens of a sign-in, and the protocol by which exactly one process refreshes them.
//!
//! Rotating refresh tokens may be sent once. So whoever wants to refresh first **claims** the
//! generation that they have seen, which is on disk before any request leaves; then redeems the
//! refresh token, holding no lock; then **commits** on condition that the generation is still the
//! same. A loser adopts what the winner stored. A claim whose owner died is taken over at once.

mod claim;
mod key;
mod list;
mod owner;
mod presence;
mod row;
mod sqlite;
mod tokens;
mod watch;

use std::time::Duration;

use crate::error::VaultError;
use crate::store::{Deleted, Generation};

pub use self::claim::{Claim, Claimed, Commit, Epoch, Fingerprint, Marked, Orphan};
pub use self::key::GrantKey;
pub use self::owner::OwnerId;
pub use self::tokens::{Grant, GrantState, Summary, Tokens};

pub(crate) use self::list::examine;
pub(crate) use self::owner::Owner;

/// A store of grants that many processes use at once.
///
/// Every handle is an owner of its own. Calls block; none holds anything after it returned.
///
/// ```
/// # fn main() -> Result<(), keyway_vault::VaultError> {
/// use keyway_secret::Secret;
/// use keyway_vault::{Claim, Commit, Folders, GrantKey, GrantStore, KeySources, Tokens, Vault};
/// use std::time::Duration;
///
/// # let home = tempfile::tempdir().unwrap();
/// # let home = home.path().join("keyway");
/// let store = Vault::open(&Folders::below(home), KeySources::default())?;
/// let grant = GrantKey::new("default").plugin("demo").server("search");
/// let text = |text: &str| Secret::new(text.to_owned());
/// let seen = store.put(&grant, &Tokens::new(text("at-1")).with_refresh(text("rt-1")))?;
///
/// // Before expiry, or after a 401:
/// if let Claim::Claimed(claim) = store.claim(&grant, seen, Duration::from_secs(15))? {
///     // … send `claim.refresh` to the authorization server …
///     let new = Tokens::new(text("at-2")).with_refresh(text("rt-2"));
///     assert!(matches!(store.commit(&grant, seen, &new)?, Commit::Committed { .. }));
/// }
/// # Ok(())
/// # }
/// ```
pub trait GrantStore: Send + Sync {
    /// Returns the access token and its state; `None` without a sign-in.
    ///
    /// The hot path: a refresh token is never unsealed.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the row was tampered with.
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, VaultError>;

    /// Claims the right to redeem the refresh token of `generation`, for at most `lifetime`.
    ///
    /// When this returns [`Claim::Claimed`], the intent is on disk.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked: then nothing may be redeemed.
    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, VaultError>;

    /// Stores what was redeemed, if `generation` is still the stored one; ends any claim.
    ///
    /// Whether the claim still holds does not matter: a late winner saves the only live token.
    /// A refresh token or details that `tokens` lacks are kept from before (RFC 6749 section 6).
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked: try again, the tokens are not saved.
    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, VaultError>;

    /// Gives a claim back after a transient failure; tells whether it was still held.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked.
    fn release(&self, grant: &GrantKey, epoch: Epoch) -> Result<bool, VaultError>;

    /// Notes that the authorization server rejected the refresh token of `generation`.
    ///
    /// Only if the stored refresh token is still the rejected one. Deletes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked.
    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, VaultError>;

    /// Returns this handle's own name as an owner of claims.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::File`] if its lock file cannot be made.
    fn owner(&self) -> Result<OwnerId, VaultError>;

    /// Tells whether an owner lives; one that cannot be judged from here counts as alive.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Exposed`] if the run-time folder is not ours alone.
    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, VaultError>;

    /// Lists the claims whose owners died.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked.
    fn orphans(&self) -> Result<Vec<Orphan>, VaultError>;

    /// Starts to watch for sign-ins, sign-outs and re-authorisations. A refresh is none.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked.
    fn watch(&self) -> Result<Box<dyn Watch>, VaultError>;

    /// Shows to others that this process uses a sign-in, until the value is dropped.
    ///
    /// Whoever attends before reading misses no dismissal. `None` where there is no store yet.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::File`] if its lock file cannot be made.
    fn attend(&self, grant: &GrantKey) -> Result<Option<Box<dyn Presence>>, VaultError>;

    /// Asks all who attend to stop, and waits so long until they have.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::File`] if they cannot be asked.
    fn dismiss(&self, grant: &GrantKey, patience: Duration) -> Result<Dismissed, VaultError>;

    /// Stores a sign-in, in place of an earlier one, which is kept until this is on disk.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the earlier one was tampered with; delete it first.
    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, VaultError>;

    /// Removes a sign-in and destroys its data key.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] if the store stays locked.
    fn delete(&self, grant: &GrantKey) -> Result<Deleted, VaultError>;

    /// Lists the sign-ins of a profile without unsealing any token.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if rows were added, removed or rolled back.
    fn list(&self, profile: &str) -> Result<Vec<Summary>, VaultError>;
}

/// Shows that a sign-in is in use; dropping it says that it is not any more.
pub trait Presence: std::fmt::Debug + Send + Sync {
    /// Tells whether somebody asked to stop. Never waits.
    fn is_dismissed(&self) -> bool;
}

/// What became of those who used a sign-in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dismissed {
    /// How many stopped.
    pub ended: usize,
    /// How many had not when patience was over.
    pub left: usize,
}

/// What the store tells a watcher.
pub trait Watch: Send {
    /// Tells whether something happened since the last call. Never waits for others.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Database`] if the store cannot be read.
    fn changed(&mut self) -> Result<bool, VaultError>;

    /// Waits until something happened, or `at_most` has passed.
    ///
    /// # Errors
    ///
    /// As [`Watch::changed`].
    fn wait(&mut self, at_most: Duration) -> Result<bool, VaultError>;
}

#[cfg(test)]
mod tests;
