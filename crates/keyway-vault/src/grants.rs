//! The tokens of a sign-in, and the protocol by which exactly one process refreshes them.
//!
//! Rotating refresh tokens may be sent once. So whoever wants to refresh first **claims** the
//! generation that they have seen, which is on disk before any request leaves; then redeems the
//! refresh token, holding no lock; then **commits** on condition that the generation is still the
//! same. A loser adopts what the winner stored. A claim whose owner died is taken over at once.

mod key;
mod list;
mod owner;
mod presence;
mod row;
mod sqlite;
mod watch;

use std::time::Duration;

use keyway_secret::Secret;

use crate::error::VaultError;
use crate::store::{Deleted, Generation, Timestamp};

pub use self::key::GrantKey;
pub use self::owner::OwnerId;

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

/// What an authorization server gave out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tokens {
    /// The access token.
    pub access: Secret<String>,
    /// How long the access token lives from now, if the server said so.
    pub lifetime: Option<Duration>,
    /// The refresh token.
    pub refresh: Option<Secret<String>>,
    /// Whatever else belongs to the sign-in, such as its scopes; sealed like the tokens.
    pub details: Option<Secret<Vec<u8>>>,
}

impl Tokens {
    /// Starts with an access token of unknown lifetime.
    #[must_use]
    pub const fn new(access: Secret<String>) -> Self {
        Self {
            access,
            lifetime: None,
            refresh: None,
            details: None,
        }
    }

    /// Adds how long the access token lives.
    #[must_use]
    pub const fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Adds a refresh token.
    #[must_use]
    pub fn with_refresh(mut self, refresh: Secret<String>) -> Self {
        self.refresh = Some(refresh);
        self
    }

    /// Adds what else belongs to the sign-in.
    #[must_use]
    pub fn with_details(mut self, details: Secret<Vec<u8>>) -> Self {
        self.details = Some(details);
        self
    }
}

/// A sign-in as it is stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Grant {
    /// Its version.
    pub generation: Generation,
    /// The access token.
    pub access: Secret<String>,
    /// When the access token ends, if known.
    pub expires_at: Option<Timestamp>,
    /// The store's clock at the moment of reading.
    pub now: Timestamp,
    /// Whether the refresh token was rejected.
    pub state: GrantState,
    /// Whether there is a refresh token.
    pub refreshable: bool,
    /// What else belongs to the sign-in.
    pub details: Secret<Vec<u8>>,
}

/// What is known of a sign-in without unsealing it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Whose sign-in, and to what.
    pub grant: GrantKey,
    /// Its version.
    pub generation: Generation,
    /// When the access token ends, if known.
    pub expires_at: Option<Timestamp>,
    /// Whether the refresh token was rejected.
    pub state: GrantState,
    /// Whether there is a refresh token.
    pub refreshable: bool,
}

/// Whether a sign-in can renew itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantState {
    /// Nothing is known against it.
    Good,
    /// Its refresh token was rejected; the person has to sign in again.
    NeedsReauth,
}

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

#[cfg(test)]
mod tests;
