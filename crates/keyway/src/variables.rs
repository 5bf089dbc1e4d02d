//! Variables that are kept sealed, for programs that no shell starts: in the vault, or in a store of
//! values.
//!
//! They are the last source: what the process environment or an env file sets, counts before. A host
//! that serves people has no other source.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyway_config::environment::{Environment, Origin, Variables, is_host_variable};
use keyway_config::headers::MAX_VALUE_BYTES;
use keyway_config::template::{is_asked_for, is_variable_name};
use keyway_secret::Secret;
use keyway_store::{StoreError, ValueStore};
use keyway_vault::{Namespace, Vault, VaultError};
use thiserror::Error;

use crate::vault::KeptVault;

/// The variables in one vault, or in a store.
#[derive(Debug)]
pub struct KeptVariables<'a>(Box<dyn ValueStore + 'a>);

/// What may be told of a variable that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptVariable {
    /// Its name.
    pub name: String,
    /// When it was set.
    pub set_at: SystemTime,
    /// How many bytes its value has.
    pub bytes: usize,
}

/// Why a variable is not kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeepError {
    /// No entry could refer to it.
    #[error("a name is made of letters, digits and `_`, and does not begin with a digit")]
    NotAName,
    /// The environment cannot override it, and neither can this.
    #[error("the value of `{name}` comes from the host alone")]
    OfTheHost {
        /// The name.
        name: String,
    },
    /// It would count as unset.
    #[error("an empty value counts as unset")]
    Empty,
    /// The contract allows no longer one.
    #[error("the value is longer than {MAX_VALUE_BYTES} bytes")]
    TooLong,
    /// No environment can hold it.
    #[error("the value contains a NUL byte")]
    ZeroByte,
    /// They cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<VaultError> for KeepError {
    fn from(error: VaultError) -> Self {
        Self::Store(error.into())
    }
}

impl<'a> KeptVariables<'a> {
    /// Opens the variables.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be used.
    pub fn new(vault: &'a Vault) -> Result<Self, VaultError> {
        let rows = vault.sealed(Namespace::new(NAMESPACE)?);
        Ok(Self(Box::new(rows)))
    }

    /// Takes the variables of a store.
    #[must_use]
    pub fn of(store: &Arc<dyn ValueStore>) -> Self {
        Self(Box::new(Arc::clone(store)))
    }

    /// Says whether a variable of that name can be kept.
    ///
    /// # Errors
    ///
    /// [`KeepError::NotAName`] and [`KeepError::OfTheHost`].
    pub fn check_name(name: &str) -> Result<(), KeepError> {
        if !is_variable_name(name) || name.len() > LONGEST_NAME {
            return Err(KeepError::NotAName);
        }
        if is_host_variable(name) {
            let name = name.to_owned();
            return Err(KeepError::OfTheHost { name });
        }
        Ok(())
    }

    /// Keeps a value; one that was kept under the name is destroyed.
    ///
    /// # Errors
    ///
    /// Returns a [`KeepError`] if the name or the value is of no use.
    pub fn set(
        &self,
        name: &str,
        value: &Secret<String>,
        now: SystemTime,
    ) -> Result<(), KeepError> {
        Self::check_name(name)?;
        let text = value.expose();
        if text.is_empty() {
            return Err(KeepError::Empty);
        }
        if text.len() > MAX_VALUE_BYTES {
            return Err(KeepError::TooLong);
        }
        if text.contains('\0') {
            return Err(KeepError::ZeroByte);
        }
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut row = Vec::with_capacity(TIME_BYTES.saturating_add(text.len()));
        row.extend_from_slice(&since.as_secs().to_le_bytes());
        row.extend_from_slice(text.as_bytes());
        let row = Secret::new(row);
        Ok(self.0.put(name, row.expose())?)
    }

    /// Destroys a value; returns whether there was one.
    ///
    /// # Errors
    ///
    /// Returns why it may still be kept.
    pub fn unset(&self, name: &str) -> Result<bool, StoreError> {
        self.0.delete(name)
    }

    /// Lists what is kept, by name.
    ///
    /// # Errors
    ///
    /// Returns why they cannot be read: one was tampered with, for example.
    pub fn list(&self) -> Result<Vec<KeptVariable>, StoreError> {
        let mut listed = Vec::new();
        for (name, row) in self.0.all()? {
            let Some((time, value)) = row.expose().split_first_chunk::<TIME_BYTES>() else {
                continue;
            };
            let since = Duration::from_secs(u64::from_le_bytes(*time));
            listed.push(KeptVariable {
                name,
                set_at: UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH),
                bytes: value.len(),
            });
        }
        Ok(listed)
    }

    /// Returns all values.
    ///
    /// # Errors
    ///
    /// As [`KeptVariables::list`].
    pub fn all(&self) -> Result<Variables, StoreError> {
        let mut pairs = Vec::new();
        for (name, row) in self.0.all()? {
            let value = row.expose().split_first_chunk::<TIME_BYTES>();
            let value = value.and_then(|(_, value)| String::from_utf8(value.to_vec()).ok());
            pairs.extend(value.map(|value| (name, value)));
        }
        Ok(Variables::from_pairs(pairs))
    }
}

/// The variables of a vault or of stores, read only for a name that no other source has; the vault is
/// opened only if it has any.
pub struct LazyVariables {
    place: Place,
    read: OnceLock<Variables>,
    /// Set inside `read`'s initialization, which runs once; held only to put the error in or to
    /// take it out.
    trouble: Mutex<Option<StoreError>>,
}

/// Where variables are kept.
enum Place {
    Vault(Arc<KeptVault>),
    /// The first that has a variable wins.
    Stores(Arc<[Arc<dyn ValueStore>]>),
}

impl LazyVariables {
    /// Prepares; nothing is opened yet.
    #[must_use]
    pub const fn new(vault: Arc<KeptVault>) -> Self {
        Self::at(Place::Vault(vault))
    }

    /// The same for stores, the first of which wins.
    pub(crate) const fn of_stores(stores: Arc<[Arc<dyn ValueStore>]>) -> Self {
        Self::at(Place::Stores(stores))
    }

    const fn at(place: Place) -> Self {
        Self {
            place,
            read: OnceLock::new(),
            trouble: Mutex::new(None),
        }
    }

    /// Returns why variables that are kept could not be read, once.
    pub fn take_trouble(&self) -> Option<StoreError> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.take()
    }

    /// Returns a value that was kept for one plugin alone, which no file can name.
    pub(crate) fn owned(&self, kept_name: &str) -> Option<Secret<String>> {
        self.variables().get(kept_name)
    }

    fn variables(&self) -> &Variables {
        self.read.get_or_init(|| {
            self.load().unwrap_or_else(|error| {
                let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                *trouble = Some(error);
                Variables::default()
            })
        })
    }

    fn load(&self) -> Result<Variables, StoreError> {
        let vault = match &self.place {
            Place::Vault(vault) => vault,
            Place::Stores(stores) => {
                let of = |store: &Arc<dyn ValueStore>| KeptVariables::of(store).all();
                let all: Vec<_> = stores.iter().rev().map(of).collect::<Result<_, _>>()?;
                return Ok(Variables::joined(all));
            }
        };
        let inspected = Vault::inspect(vault.folders())?;
        let count = inspected.and_then(|found| found.entries.get(NAMESPACE).copied());
        if count.unwrap_or_default() == 0 {
            return Ok(Variables::default());
        }
        let vault = vault.get()?;
        KeptVariables::new(&vault)?.all()
    }
}

impl fmt::Debug for LazyVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyVariables").finish_non_exhaustive()
    }
}

impl Environment for LazyVariables {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        // The id of another plugin can be computed by any: its values have no name of their own.
        if is_owned(name) {
            return None;
        }
        self.variables().get(name)
    }

    fn names(&self) -> Vec<String> {
        // Only a name that was missed is compared with others, so that it is known by now.
        let mut names = self.read.get().map(Environment::names).unwrap_or_default();
        names.retain(|name| !is_owned(name));
        names
    }

    fn origin(&self) -> Origin {
        Origin::Vault
    }
}

/// Says whether a value is kept under a name for one plugin alone: the id of that plugin follows `__`.
fn is_owned(name: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_id = |id: &str| matches!(id.len(), 16 | 32) && id.bytes().all(is_hex);
    let parts = name.rsplit_once("__");
    parts.is_some_and(|(name, id)| is_asked_for(name) && is_id(id))
}

const NAMESPACE: &str = "env";
const LONGEST_NAME: usize = 256;
/// The seconds since 1970 stand before the value.
const TIME_BYTES: usize = 8;

#[cfg(test)]
mod tests;
