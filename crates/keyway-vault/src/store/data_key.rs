//! Data keys: one per stored value or grant, wrapped by the vault key.
//!
//! Destroying a data key makes every copy of what it sealed worthless, wherever the database or
//! its log still holds one. Changing the vault key only rewraps the data keys.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::Damage;
use crate::error::VaultError;
use crate::seal::{Context, Key, KeyId};

use super::Scope;

/// An unwrapped data key and its public name.
#[derive(Clone, Debug)]
pub(crate) struct DataKey {
    id: KeyId,
    key: Key,
    /// Whether it was made under the vault key that is in use now.
    fresh: bool,
}

impl DataKey {
    pub(crate) const fn id(&self) -> &KeyId {
        &self.id
    }

    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) const fn is_fresh(&self) -> bool {
        self.fresh
    }
}

impl Scope<'_> {
    /// Makes a data key and keeps it, wrapped.
    pub(crate) fn create_data_key(&self) -> Result<DataKey, VaultError> {
        create(self.tx, &self.keys.wrap, &self.keys.header.key.id)
    }

    pub(crate) fn load_data_key(&self, id: &[u8]) -> Result<DataKey, VaultError> {
        let id = KeyId::from_slice(id).ok_or_else(|| VaultError::corrupt(WHAT, Damage::Altered))?;
        load(self.tx, &self.keys.wrap, &self.keys.header.key.id, &id)
    }

    /// Removes a data key and notes that its remains have to be wiped.
    pub(crate) fn destroy_data_key(&self, id: &[u8]) -> Result<(), VaultError> {
        self.tx
            .execute("DELETE FROM data_keys WHERE id = ?1", [id])
            .map_err(VaultError::database("destroy a data key"))?;
        self.want_erasure()
    }
}

/// Derives from the vault key the key that wraps data keys.
pub(super) fn wrap_key(vault_key: &Key) -> Result<Key, VaultError> {
    Ok(vault_key.derive("wrap")?)
}

pub(super) fn create(
    connection: &Connection,
    wrap: &Key,
    vault_key: &KeyId,
) -> Result<DataKey, VaultError> {
    let data = DataKey {
        id: KeyId::random()?,
        key: Key::random()?,
        fresh: true,
    };
    let wrapped = seal(wrap, vault_key, &data)?;
    connection
        .execute(
            "INSERT INTO data_keys (id, born_under, wrapped) VALUES (?1, ?2, ?3)",
            params![data.id.as_bytes(), vault_key.as_bytes(), wrapped],
        )
        .map_err(VaultError::database("keep a data key"))?;
    Ok(data)
}

pub(super) fn load(
    connection: &Connection,
    wrap: &Key,
    vault_key: &KeyId,
    id: &KeyId,
) -> Result<DataKey, VaultError> {
    let row: Option<(Vec<u8>, Vec<u8>)> = connection
        .prepare_cached("SELECT wrapped, born_under FROM data_keys WHERE id = ?1")
        .and_then(|mut query| {
            let row = query.query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)));
            row.optional()
        })
        .map_err(VaultError::database("read a data key"))?;
    let (wrapped, born) = row.ok_or_else(|| VaultError::corrupt(WHAT, Damage::Missing))?;
    let opened = wrap
        .open(&wrapped, &context(id, vault_key))
        .map_err(|how| VaultError::corrupt(WHAT, how))?;
    let bytes = <&[u8; 32]>::try_from(opened.expose().as_slice())
        .map_err(|_| VaultError::corrupt(WHAT, Damage::Altered))?;
    let fresh = born == vault_key.as_bytes();
    Ok(DataKey {
        id: *id,
        key: Key::from_bytes(bytes),
        fresh,
    })
}

pub(super) fn seal(wrap: &Key, vault_key: &KeyId, data: &DataKey) -> Result<Vec<u8>, VaultError> {
    Ok(wrap.seal(data.key.expose(), &context(&data.id, vault_key))?)
}

pub(super) fn context(id: &KeyId, vault_key: &KeyId) -> Context {
    Context::new("data key")
        .bytes(id.as_bytes())
        .bytes(vault_key.as_bytes())
}

const WHAT: &str = "a data key";
