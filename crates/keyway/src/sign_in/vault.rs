//! The vault as signing in sees it: opened when something is in it or has to be.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::variables::LazyVariables;
use blake2::{Blake2b256, Digest as _};
use keyway_auth::ports::{DocumentCache, RecordStore};
use keyway_config::resolve::RemoteSpec;
use keyway_secret::Secret;
use keyway_store::{
    ChangeFeed, Claim, ClaimId, Commit, Deleted, Fingerprint, Generation, Grant, GrantKey,
    GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, StoppedUsers, StoreError, Tokens,
    UseMarker,
};
use keyway_vault::{Folders, Namespace, Vault, VaultError};

/// Opens the vault.
pub type OpenVault = Box<dyn Fn() -> Result<Vault, VaultError> + Send + Sync>;

/// A vault that is opened at first use; while there is none, reading finds nothing and makes none.
pub struct KeptVault {
    folders: Folders,
    open: OpenVault,
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
        *opened = Some(Arc::clone(&vault));
        Ok(vault)
    }

    /// Returns the variables that it keeps, read when one is missed.
    #[must_use]
    pub fn variables(self: &Arc<Self>) -> LazyVariables {
        LazyVariables::new(Arc::clone(self))
    }

    /// Returns where it is.
    pub(crate) const fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Returns the folder for locks, made together with the vault.
    pub(super) fn locks(&self) -> Option<PathBuf> {
        self.get().ok().map(|_| self.folders.runtime.clone())
    }

    /// Returns the vault if there is one.
    pub(crate) fn existing(&self) -> Result<Option<Arc<Vault>>, VaultError> {
        if super::database(&self.folders).exists() {
            self.get().map(Some)
        } else {
            Ok(None)
        }
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
        if matches!(claim, Claim::Claimed(_)) {
            self.in_flight.claimed().insert(grant.clone());
        }
        Ok(claim)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        let committed = self.get()?.commit(grant, generation, tokens)?;
        self.in_flight.claimed().remove(grant);
        Ok(committed)
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let released = self.get()?.release(grant, claim)?;
        self.in_flight.claimed().remove(grant);
        Ok(released)
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        let marked = self.get()?.mark_reauth(grant, generation, rejected)?;
        self.in_flight.claimed().remove(grant);
        Ok(marked)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        self.get()?.owner()
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.get()?.owner_alive(owner)
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        match self.existing()? {
            Some(vault) => vault.orphans(),
            None => Ok(Vec::new()),
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
        self.in_flight.claimed().remove(grant);
        Ok(generation)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        match self.existing()? {
            Some(vault) => {
                let deleted = vault.delete(grant)?;
                // Whoever signs out claims first, so that nobody renews what is revoked.
                self.in_flight.claimed().remove(grant);
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

/// What a process must not end in the middle of: tokens that are renewed, and what is stored aside.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The sign-ins whose refresh token this process has claimed.
    claimed: Mutex<HashSet<GrantKey>>,
    /// How much is being stored that nobody waits for otherwise.
    stores: AtomicUsize,
}

impl InFlight {
    /// Waits until nothing is renewed or stored any more, or for so long.
    ///
    /// A process that ends between the server's answer and our commit takes the only valid token
    /// with it. So a process that is about to end waits here first, inside the runtime.
    pub async fn settled(&self, limit: Duration) {
        let settled = async {
            while self.0.stores.load(Ordering::Relaxed) > 0 || !self.claimed().is_empty() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        drop(tokio::time::timeout(limit, settled).await);
    }

    /// Begins to store something.
    pub(super) fn storing(&self) -> Storing {
        self.0.stores.fetch_add(1, Ordering::Relaxed);
        Storing(self.clone())
    }

    fn claimed(&self) -> MutexGuard<'_, HashSet<GrantKey>> {
        self.0
            .claimed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is being stored, and that a process that is about to end waits for as well.
#[derive(Debug)]
pub(super) struct Storing(InFlight);

impl Drop for Storing {
    fn drop(&mut self) {
        self.0.0.stores.fetch_sub(1, Ordering::Relaxed);
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The clients that registered themselves, of one profile.
#[derive(Debug)]
pub(super) struct Registrations {
    vault: Arc<KeptVault>,
    profile: String,
}

impl Registrations {
    pub(super) fn new(vault: Arc<KeptVault>, profile: &str) -> Self {
        Self {
            vault,
            profile: profile.to_owned(),
        }
    }

    fn name(&self, name: &str) -> String {
        format!("{}:{}{name}", self.profile.len(), self.profile)
    }
}

impl RecordStore for Registrations {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let vault = self.vault.existing().ok()??;
        let record = vault.sealed(Namespace::new(NAMESPACE).ok()?);
        let record = record.get(&self.name(name)).ok()??;
        Some(record.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let vault = self.vault.get()?;
        let records = vault.sealed(Namespace::new(NAMESPACE)?);
        records.put(&self.name(name), value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let Some(vault) = self.vault.existing()? else {
            return Ok(());
        };
        let records = vault.sealed(Namespace::new(NAMESPACE)?);
        records.delete(&self.name(name))?;
        Ok(())
    }
}

/// The discovery documents. Their names say whose they are.
#[derive(Debug)]
pub(super) struct Discovery(pub(super) Arc<KeptVault>);

impl DocumentCache for Discovery {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let vault = self.0.existing().ok()??;
        let documents = vault.sealed(Namespace::new(DISCOVERY).ok()?);
        Some(documents.get(name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        let vault = self.0.get()?;
        let documents = vault.sealed(Namespace::new(DISCOVERY)?);
        documents.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(());
        };
        let documents = vault.sealed(Namespace::new(DISCOVERY)?);
        documents.delete(name)?;
        Ok(())
    }
}

/// What each server listed last. Only a convenience: without a vault nothing is kept.
#[derive(Debug)]
pub(super) struct ToolLists(pub(super) Arc<KeptVault>);

impl RecordStore for ToolLists {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let vault = self.0.existing().ok()??;
        let lists = vault.sealed(Namespace::new(LISTS).ok()?);
        Some(lists.get(name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(());
        };
        vault.sealed(Namespace::new(LISTS)?).put(name, value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(());
        };
        vault.sealed(Namespace::new(LISTS)?).delete(name)?;
        Ok(())
    }
}

/// Names an address together with the headers that go with it, and gives neither away.
pub(super) fn fingerprint(remote: &RemoteSpec) -> String {
    let mut hash = Blake2b256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    add(remote.address.url().expose());
    let mut headers: Vec<_> = remote.headers.iter().collect();
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, value) in headers {
        add(&name.to_ascii_lowercase());
        add(value.value().expose());
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

const NAMESPACE: &str = "registrations";
const DISCOVERY: &str = "discovery";
pub(super) const LISTS: &str = "lists";
