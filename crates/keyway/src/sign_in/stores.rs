//! Where sign-ins and what belongs to them are kept: the vault's stores, or a host's own.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "vault")]
use keyway_auth::oauth::ClientIdentity;
use keyway_secret::{Clock, Secret};
use keyway_store::{DocumentCache, GrantStore, OneTimeStore, RecordStore, StoreError};

use super::remembered_grants::RememberedGrants;
use crate::in_flight::InFlight;
#[cfg(feature = "vault")]
use crate::vault::{Discovery, KeptVault, OneTime, Registrations, ToolLists};

/// The stores that signing in needs. Any crate can implement them: see `keyway_store`.
#[derive(Clone)]
pub struct Stores {
    /// The tokens.
    pub(crate) grants: Arc<dyn GrantStore>,
    /// The clients that registered themselves.
    pub(crate) registrations: Arc<dyn RecordStore>,
    /// What was learned of issuers, if people share it who do not share `registrations`.
    pub(crate) issuers: Option<Arc<dyn RecordStore>>,
    /// The metadata of authorization servers, each for a while.
    pub(crate) documents: Arc<dyn DocumentCache>,
    /// What each server listed last.
    pub(crate) tool_lists: Arc<dyn RecordStore>,
    /// Sign-ins that wait for a browser.
    pub(crate) one_time: Arc<dyn OneTimeStore>,
    /// Whether sign-ins are kept elsewhere than in the vault.
    pub(crate) is_apart: bool,
    /// Whether the host itself renews what processes left behind that died.
    is_recovered: bool,
}

impl Stores {
    /// Stores of a host's own. Registrations, metadata and lists are kept in memory until others are
    /// given.
    #[must_use]
    pub fn new(grants: Arc<dyn GrantStore>, clock: Arc<dyn Clock>) -> Self {
        let for_a_while = || {
            Arc::new(MemoryDocuments {
                clock: Arc::clone(&clock),
                all: Mutex::default(),
            })
        };
        Self {
            grants,
            registrations: Arc::<MemoryRecords>::default(),
            issuers: None,
            documents: for_a_while(),
            tool_lists: Arc::<MemoryRecords>::default(),
            one_time: for_a_while(),
            is_apart: true,
            is_recovered: false,
        }
    }

    /// Keeps client registrations here.
    #[must_use]
    pub fn with_registrations(mut self, registrations: Arc<dyn RecordStore>) -> Self {
        self.registrations = registrations;
        self
    }

    /// Keeps here, for all people who use an issuer, what was learned of it.
    #[must_use]
    pub fn with_issuers(mut self, issuers: Arc<dyn RecordStore>) -> Self {
        self.issuers = Some(issuers);
        self
    }

    /// Keeps the metadata of authorization servers here.
    #[must_use]
    pub fn with_documents(mut self, documents: Arc<dyn DocumentCache>) -> Self {
        self.documents = documents;
        self
    }

    /// Keeps what each server listed last here.
    #[must_use]
    pub fn with_tool_lists(mut self, tool_lists: Arc<dyn RecordStore>) -> Self {
        self.tool_lists = tool_lists;
        self
    }

    /// Keeps sign-ins that wait for a browser here.
    #[must_use]
    pub fn with_one_time(mut self, one_time: Arc<dyn OneTimeStore>) -> Self {
        self.one_time = one_time;
        self
    }

    /// Says that the host itself renews what processes left behind that died, for all sign-ins at once.
    /// Otherwise each of these stores is asked for that every few seconds, for as long as one of its
    /// sign-ins is in use.
    #[must_use]
    pub const fn recovered_by_host(mut self) -> Self {
        self.is_recovered = true;
        self
    }

    /// Returns what is asked for claims of processes that died, unless the host does that.
    pub(crate) fn left_behind(&self) -> Option<Arc<dyn GrantStore>> {
        (!self.is_recovered).then(|| Arc::clone(&self.grants))
    }

    /// The same stores, whose claims are counted and whose tokens are remembered while they are
    /// valid. The vault's own stores do the former, and are never away.
    pub(crate) fn counting(mut self, in_flight: &InFlight, clock: &Arc<dyn Clock>) -> Self {
        let grants = RememberedGrants::new(self.grants, in_flight.clone(), Arc::clone(clock));
        self.grants = Arc::new(grants);
        self
    }

    /// The stores of a vault, as one profile sees them. A host of another name than ours has
    /// registrations of its own, since people are shown that name.
    #[cfg(feature = "vault")]
    pub(crate) fn of_vault(
        vault: &Arc<KeptVault>,
        profile: &str,
        identity: &ClientIdentity,
    ) -> Self {
        let owner = owner(profile, identity);
        Self {
            grants: Arc::clone(vault) as _,
            registrations: Arc::new(Registrations::new(Arc::clone(vault), &owner)),
            issuers: None,
            documents: Arc::new(Discovery(Arc::clone(vault))),
            tool_lists: Arc::new(ToolLists(Arc::clone(vault))),
            one_time: Arc::new(OneTime(Arc::clone(vault))),
            is_apart: false,
            is_recovered: false,
        }
    }
}

/// Names whose registrations they are.
#[cfg(feature = "vault")]
pub(super) fn owner(profile: &str, identity: &ClientIdentity) -> String {
    if *identity == ClientIdentity::default() {
        return profile.to_owned();
    }
    format!("{profile}\n{}", identity.name)
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").finish_non_exhaustive()
    }
}

/// Records for the life of the process.
/// The lock is held for one operation on the map.
#[derive(Debug, Default)]
struct MemoryRecords(Mutex<HashMap<String, Secret<Vec<u8>>>>);

impl MemoryRecords {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Secret<Vec<u8>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordStore for MemoryRecords {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        self.lock().get(name).cloned()
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let value = Secret::new(value.to_vec());
        self.lock().insert(name.to_owned(), value);
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.lock().remove(name);
        Ok(())
    }
}

/// Documents for the life of the process, each until it expires.
#[derive(Debug)]
struct MemoryDocuments {
    clock: Arc<dyn Clock>,
    /// Held for one operation on the map; the clock is asked before it is taken.
    all: Mutex<HashMap<String, Document>>,
}

#[derive(Debug)]
struct Document {
    value: Secret<Vec<u8>>,
    until: Instant,
}

impl DocumentCache for MemoryDocuments {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let now = self.clock.monotonic();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, document| document.until > now);
        Some(all.get(name)?.value.clone())
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        let now = self.clock.monotonic();
        let until = now.checked_add(lifetime).unwrap_or(now);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let value = Secret::new(value.to_vec());
        all.insert(name.to_owned(), Document { value, until });
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name);
        Ok(())
    }
}

impl OneTimeStore for MemoryDocuments {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        Ok(DocumentCache::get(self, name))
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        DocumentCache::put(self, name, value, lifetime)
    }

    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let now = self.clock.monotonic();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.remove(name).filter(|document| document.until > now);
        Ok(found.map(|document| document.value))
    }
}

#[cfg(test)]
mod tests {
    use keyway_secret::SystemClock;
    use keyway_store::conformance;

    use super::*;

    #[test]
    fn one_time_values_in_memory_pass_the_conformance_cases() {
        let clock = Arc::new(SystemClock);
        let all = Mutex::default();
        let values = MemoryDocuments { clock, all };
        conformance::one_time_value_is_taken_once_and_in_time(&values).unwrap();
    }

    /// With a look for each person every few seconds, ten thousand people kept the database busy.
    #[cfg(feature = "vault")]
    #[test]
    fn stores_that_the_host_recovers_are_not_looked_at_for_each_person() {
        let folders = keyway_vault::Folders::below("never opened");
        let open = || Err(keyway_vault::VaultError::Busy);
        let vault = Arc::new(KeptVault::new(folders, Box::new(open)));
        let stores = Stores::new(vault, Arc::new(SystemClock));
        assert!(stores.left_behind().is_some());
        let counted = stores.recovered_by_host();
        assert!(counted.left_behind().is_none());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let counted = counted.counting(&InFlight::default(), &clock);
        assert!(
            counted.left_behind().is_none(),
            "also where claims are counted"
        );
    }
}
