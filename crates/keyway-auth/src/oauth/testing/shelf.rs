//! The real vault, whose clock follows the hand, and which can be told to be locked.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use keyway_secret::Secret;
use keyway_vault::{
    Claim, Commit, Damage, Deleted, Dismissed, Epoch, Fingerprint, Generation, Grant, GrantKey,
    GrantStore, Marked, Namespace, Orphan, OwnerId, Presence, Summary, Tokens, Vault, VaultError,
    Watch,
};

use super::Hand;
use crate::ports::{Documents, Records};

/// One process's handle to the vault.
pub(crate) struct Shelf {
    vault: Vault,
    clock: Arc<Hand>,
    locked: AtomicU32,
    spoilt: AtomicBool,
}

impl Shelf {
    pub(crate) fn new(vault: Vault, clock: Arc<Hand>) -> Self {
        Self {
            vault,
            clock,
            locked: AtomicU32::new(0),
            spoilt: AtomicBool::new(false),
        }
    }

    /// Answers the next writes as a store does that others keep locked.
    pub(crate) fn lock(&self, writes: u32) {
        self.locked.store(writes, Ordering::SeqCst);
    }

    /// Answers each reading as a store does whose rows were tampered with.
    pub(crate) fn spoil(&self) {
        self.spoilt.store(true, Ordering::SeqCst);
    }

    pub(crate) fn mend(&self) {
        self.spoilt.store(false, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), VaultError> {
        let take = |left: u32| left.checked_sub(1);
        let taken = self
            .locked
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        if taken.is_ok() {
            return Err(VaultError::Busy);
        }
        Ok(())
    }
}

impl GrantStore for Shelf {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, VaultError> {
        if self.spoilt.load(Ordering::SeqCst) {
            return Err(VaultError::Corrupt {
                what: "a sign-in".to_owned(),
                how: Damage::Altered,
            });
        }
        let mut found = self.vault.read(grant)?;
        if let Some(found) = &mut found {
            found.now = found.now.after(self.clock.passed());
        }
        Ok(found)
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, VaultError> {
        self.check()?;
        self.vault.claim(grant, generation, lifetime)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, VaultError> {
        self.check()?;
        self.vault.commit(grant, generation, &self.later(tokens))
    }

    fn release(&self, grant: &GrantKey, epoch: Epoch) -> Result<bool, VaultError> {
        self.check()?;
        self.vault.release(grant, epoch)
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, VaultError> {
        self.check()?;
        self.vault.mark_reauth(grant, generation, rejected)
    }

    fn owner(&self) -> Result<OwnerId, VaultError> {
        self.vault.owner()
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, VaultError> {
        self.vault.owner_alive(owner)
    }

    fn orphans(&self) -> Result<Vec<Orphan>, VaultError> {
        self.vault.orphans()
    }

    fn watch(&self) -> Result<Box<dyn Watch>, VaultError> {
        self.vault.watch()
    }

    fn attend(&self, grant: &GrantKey) -> Result<Option<Box<dyn Presence>>, VaultError> {
        self.vault.attend(grant)
    }

    fn dismiss(&self, grant: &GrantKey, patience: Duration) -> Result<Dismissed, VaultError> {
        self.vault.dismiss(grant, patience)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, VaultError> {
        self.check()?;
        self.vault.put(grant, &self.later(tokens))
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, VaultError> {
        self.check()?;
        self.vault.delete(grant)
    }

    fn list(&self, profile: &str) -> Result<Vec<Summary>, VaultError> {
        self.vault.list(profile)
    }
}

impl Shelf {
    /// The vault's own clock is behind by what the hand has moved.
    fn later(&self, tokens: &Tokens) -> Tokens {
        let mut tokens = tokens.clone();
        let passed = self.clock.passed();
        tokens.lifetime = tokens.lifetime.map(|lifetime| lifetime + passed);
        tokens
    }
}

impl Records for Shelf {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let records = self.vault.sealed(Namespace::new(NAMESPACE).unwrap());
        Some(records.get(name).unwrap()?.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), VaultError> {
        let records = self.vault.sealed(Namespace::new(NAMESPACE)?);
        records.put(name, value).map(drop)
    }

    fn delete(&self, name: &str) -> Result<(), VaultError> {
        let records = self.vault.sealed(Namespace::new(NAMESPACE)?);
        records.delete(name).map(drop)
    }
}

/// The vault's own clock never reaches the end of a document; the hand's does.
impl Documents for Shelf {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let records = self.vault.sealed(Namespace::new(DISCOVERY).unwrap());
        Some(records.get(name).unwrap()?.value)
    }

    fn keep(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), VaultError> {
        let records = self.vault.sealed(Namespace::new(DISCOVERY)?);
        records.put_for(name, value, lifetime).map(drop)
    }

    fn forget(&self, name: &str) -> Result<(), VaultError> {
        let records = self.vault.sealed(Namespace::new(DISCOVERY)?);
        records.delete(name).map(drop)
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

const NAMESPACE: &str = "registrations";
const DISCOVERY: &str = "discovery";
