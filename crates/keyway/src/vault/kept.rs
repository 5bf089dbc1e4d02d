//! The vault as signing in sees it: opened when something is in it or has to be.

use std::fmt;
#[cfg(feature = "callback")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{
    ChangeFeed, Claim, ClaimId, Commit, Deleted, Fingerprint, Generation, Grant, GrantKey,
    GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, StoppedUsers, StoreError, Tokens,
    UseMarker,
};
use keyway_vault::{Folders, Vault, VaultError};

use crate::in_flight::InFlight;

/// Opens the vault.
pub type OpenVault = Box<dyn Fn() -> Result<Vault, VaultError> + Send + Sync>;

/// A vault that is opened at first use; while there is none, reading finds nothing and makes none.
pub struct KeptVault {
    folders: Folders,
    open: OpenVault,
    /// Held while the vault is opened, which may wait for the disk or the keyring, so that two
    /// first users open it once. `existing` gives it up before it looks at the disk. The locks of
    /// the vault itself are taken under it only by that opening.
    opened: Mutex<Option<Arc<Vault>>>,
    in_flight: InFlight,
}

impl KeptVault {
    /// Prepares; nothing is opened yet.
    #[must_use]
    pub fn new(folders: Folders, open: OpenVault) -> Self {
        Self {
            folders,
            open,
            opened: Mutex::new(None),
            in_flight: InFlight::default(),
        }
    }

    /// Counts what must not be lost at `in_flight`, which several vaults of a process may share.
    #[must_use]
    pub fn counting(mut self, in_flight: InFlight) -> Self {
        self.in_flight = in_flight;
        self
    }

    /// Returns where it counts what must not be lost.
    pub(crate) const fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// Returns the vault, made if there is none.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be opened.
    pub fn get(&self) -> Result<Arc<Vault>, VaultError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vault) = &*opened {
            return Ok(Arc::clone(vault));
        }
        let vault = Arc::new((self.open)()?);
        // Before anything is read: a process that could not store new tokens left them there.
        vault.commit_journaled();
        *opened = Some(Arc::clone(&vault));
        Ok(vault)
    }

    /// Returns where it is.
    pub(crate) const fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Returns the folder for locks, made together with the vault.
    #[cfg(feature = "callback")]
    pub(crate) fn locks(&self) -> Option<PathBuf> {
        self.get().ok().map(|_| self.folders.runtime.clone())
    }

    /// Returns the vault if there is one. One that is open already is never taken for absent.
    pub(crate) fn existing(&self) -> Result<Option<Arc<Vault>>, VaultError> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vault) = &*opened {
            return Ok(Some(Arc::clone(vault)));
        }
        drop(opened);
        if Vault::exists(&self.folders)? {
            self.get().map(Some)
        } else {
            Ok(None)
        }
    }
}

impl KeptVault {
    /// Counts a claim that was made: from here on the process must not end in the middle of it.
    fn counted(&self, grant: &GrantKey, generation: Generation, claim: Claim) -> Claim {
        if let Claim::Claimed(claimed) = &claim {
            self.in_flight.begin(grant, claimed.id, generation);
        }
        claim
    }
}

impl fmt::Debug for KeptVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptVault").finish_non_exhaustive()
    }
}

impl GrantStore for KeptVault {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        match self.existing()? {
            Some(vault) => vault.read(grant),
            None => Ok(None),
        }
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        let claim = self.get()?.claim(grant, generation, lifetime)?;
        Ok(self.counted(grant, generation, claim))
    }

    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        let claim = self.get()?.take_over(grant, generation, lifetime)?;
        Ok(self.counted(grant, generation, claim))
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        let committed = self.get()?.commit(grant, generation, tokens)?;
        self.in_flight.end_generation(grant, generation);
        Ok(committed)
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let released = self.get()?.release(grant, claim);
        // Whether or not that succeeded: a claim that brought nothing ends with the process as well.
        self.in_flight.end_claim(grant, claim);
        released
    }

    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let ended = self.get()?.answer_lost(grant, claim);
        self.in_flight.end_claim(grant, claim);
        ended
    }

    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError> {
        let ended = self.get()?.postpone(grant, claim, wait);
        self.in_flight.end_claim(grant, claim);
        ended
    }

    fn journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.get()?.journal(grant, generation, tokens)?;
        // Safe from here on, whether or not the commit succeeds in this process.
        self.in_flight.end_generation(grant, generation);
        Ok(())
    }

    fn journal_sign_in(
        &self,
        grant: &GrantKey,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.get()?.journal_sign_in(grant, over, tokens)?;
        if let Some(over) = over {
            self.in_flight.end_generation(grant, over);
        }
        Ok(())
    }

    fn settle_journal(&self, grant: &GrantKey) -> Result<Option<Generation>, StoreError> {
        self.get()?.settle_journal(grant)
    }

    fn reserve(&self, grant: &GrantKey) -> Result<(), StoreError> {
        self.get()?.reserve(grant)
    }

    fn unreserve(&self, grant: &GrantKey) {
        if let Ok(Some(vault)) = self.existing() {
            vault.unreserve(grant);
        }
    }

    fn show_unstored(&self, grant: &GrantKey) {
        if let Ok(Some(vault)) = self.existing() {
            vault.show_unstored(grant);
        }
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        let marked = self.get()?.mark_reauth(grant, generation, rejected)?;
        self.in_flight.end_generation(grant, generation);
        Ok(marked)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        self.get()?.owner()
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.get()?.owner_alive(owner)
    }

    fn owner_process(&self, owner: &OwnerId) -> Option<u32> {
        self.get().ok()?.owner_process(owner)
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        match self.existing()? {
            Some(vault) => vault.orphans(),
            None => Ok(Vec::new()),
        }
    }

    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError> {
        match self.existing()? {
            Some(vault) => vault.refresh_to_revoke(grant),
            None => Ok(None),
        }
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        self.get()?.change_feed()
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        match self.existing()? {
            Some(vault) => vault.mark_in_use(grant),
            None => Ok(None),
        }
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        match self.existing()? {
            Some(vault) => vault.stop_users(grant, timeout),
            None => Ok(StoppedUsers::default()),
        }
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        let generation = self.get()?.put(grant, tokens)?;
        // A sign-in over an earlier one claims that first, and storing it ends the claim.
        self.in_flight.end_generation(grant, generation);
        Ok(generation)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        match self.existing()? {
            Some(vault) => {
                let deleted = vault.delete(grant)?;
                // A sign-out claims first, so that no process renews what is revoked.
                self.in_flight.end_all(grant);
                Ok(deleted)
            }
            None => Ok(Deleted::Absent),
        }
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        match self.existing()? {
            Some(vault) => vault.list(profile),
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_secret::Secret;
    use keyway_vault::KeySources;

    use super::*;

    #[test]
    fn tokens_in_the_journal_are_committed_by_the_next_start() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::below(home.path().join("kw"));
        let grant = GrantKey::new("default").plugin("p").server("s");
        let tokens = |number: u32| {
            let text = |kind: &str| Secret::new(format!("{kind}-{number}"));
            Tokens::new(text("access")).with_refresh(text("refresh"))
        };
        let vault = Vault::open(&folders, KeySources::default()).unwrap();
        let generation = vault.put(&grant, &tokens(1)).unwrap();
        vault.journal(&grant, generation, &tokens(2)).unwrap();
        drop(vault);
        let at = folders.clone();
        let open = move || Vault::open(&at, KeySources::default());
        let next = KeptVault::new(folders, Box::new(open));
        let found = next.read(&grant).unwrap().unwrap();
        assert_eq!(found.access.expose(), "access-2");
    }
}
