//! Changing the vault's key while other processes use the vault.
//!
//! Only the data keys are rewrapped, in one transaction with the header. Every other handle
//! finds another key named there at its next call and asks its source again.

use rusqlite::params;

use crate::error::VaultError;
use crate::key::{KeyRecord, KeySources, Locator, Protection};
use crate::key_source::SourceKind;
use crate::seal::Key;

use super::{Access, Keys, Scope, Vault, data_key, header, transact};

/// What [`Vault::rekey`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rekeyed {
    /// How the new key is protected.
    pub protection: Protection,
    /// Whether the old key still exists where it was kept: the person keeps it, or its source
    /// could not be asked to forget it.
    pub old_key_remains: bool,
}

impl Vault {
    /// Exchanges the vault's key for a new one from the source `kind`, which `sources` offers.
    ///
    /// A generated key that is no longer used is destroyed, and so is what it wrapped. From now on
    /// this handle asks `sources`.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::KeySourceUnavailable`] if `sources` does not offer `kind`, and
    /// [`VaultError::Corrupt`] if a data key cannot be opened. Then the old key stays.
    pub fn rekey(&self, kind: SourceKind, sources: KeySources) -> Result<Rekeyed, VaultError> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let vault = inner.keys.header.vault;
        let locator = Locator {
            sources: &sources,
            config: &self.config,
            vault,
        };
        let (key, record) = locator.make(kind)?;
        let wrap = data_key::wrap_key(&key)?;
        let write = Access::Write;
        let exchanged = transact(
            inner,
            (&self.data, &self.config),
            write,
            "change its key",
            |scope| exchange(scope, &wrap, &record),
        );
        if let Err(error) = exchanged {
            // Only once it is certain that the new key seals nothing may it go.
            if header::key_id(&inner.connection).is_ok_and(|current| current != record.id) {
                locator.retire(&record)?;
            }
            return Err(error);
        }
        let protection = locator.protection(&record);
        let old = inner.keys.header.clone();
        inner.keys = Keys {
            header: header::Header {
                key: record,
                ..old.clone()
            },
            wrap,
            index: inner.keys.index.clone(),
        };
        let new = inner.keys.header.key.id;
        let old_sources = std::mem::replace(&mut inner.sources, sources);
        drop(guard);
        self.erase_now_or_later();
        let locator = Locator {
            sources: &old_sources,
            config: &self.config,
            vault,
        };
        let kept_by_us = matches!(old.key.kind, SourceKind::KeyFile | SourceKind::Keyring);
        let gone = kept_by_us && old.key.id != new && locator.retire(&old.key).is_ok();
        Ok(Rekeyed {
            protection,
            old_key_remains: !gone,
        })
    }
}

/// Rewraps every data key and records the new key.
fn exchange(scope: &Scope<'_>, wrap: &Key, record: &KeyRecord) -> Result<(), VaultError> {
    let failed = || VaultError::database("rewrap its data keys");
    let mut statement = scope
        .tx
        .prepare("SELECT id FROM data_keys")
        .map_err(failed())?;
    let ids: Vec<Vec<u8>> = statement
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect)
        .map_err(failed())?;
    for id in ids {
        let data_key = scope.load_data_key(&id)?;
        let wrapped = data_key::seal(wrap, &record.id, &data_key)?;
        scope
            .tx
            .execute(
                "UPDATE data_keys SET wrapped = ?2 WHERE id = ?1",
                params![id, wrapped],
            )
            .map_err(failed())?;
    }
    header::write_key(scope.tx, record)?;
    scope.want_erasure()
}
