//! The one row that says which key seals this vault and where it comes from.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::Damage;
use crate::error::VaultError;
use crate::key::{Cost, KeyRecord};
use crate::key_source::SourceKind;
use crate::seal::{Key, KeyId};

use super::{data_key, manifest};

/// The header of a vault.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// The vault's own random name.
    pub(crate) vault: KeyId,
    pub(crate) key: KeyRecord,
    /// The data key of the manifests.
    pub(crate) index: KeyId,
}

/// Reads the name of the current vault key.
pub(super) fn key_id(connection: &Connection) -> Result<KeyId, VaultError> {
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT key_id FROM header")
        .and_then(|mut query| query.query_row([], |row| row.get(0)).optional())
        .map_err(VaultError::database(READ))?;
    let bytes = bytes.ok_or_else(|| VaultError::corrupt(WHAT, Damage::Missing))?;
    KeyId::from_slice(&bytes).ok_or_else(damaged)
}

/// Reads the header.
pub(super) fn read(connection: &Connection) -> Result<Header, VaultError> {
    let row = connection
        .query_row(
            "SELECT vault, source, key_id, check_value, index_key, salt, memory_kib, passes, lanes
             FROM header",
            [],
            |row| {
                let cost = match row.get::<_, Option<Vec<u8>>>(5)? {
                    Some(salt) => Some((salt, row.get(6)?, row.get(7)?, row.get(8)?)),
                    None => None,
                };
                Ok(Row {
                    vault: row.get(0)?,
                    source: row.get(1)?,
                    key_id: row.get(2)?,
                    check: row.get(3)?,
                    index: row.get(4)?,
                    cost,
                })
            },
        )
        .optional()
        .map_err(VaultError::database(READ))?;
    let row = row.ok_or_else(|| VaultError::corrupt(WHAT, Damage::Missing))?;
    row.decode().ok_or_else(damaged)
}

/// Writes the header and the first manifest of a new vault.
pub(super) fn create(
    connection: &Connection,
    vault: KeyId,
    key: &Key,
    record: &KeyRecord,
) -> Result<(), VaultError> {
    let failed = || VaultError::database("be initialised");
    let tx = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(failed())?;
    let index = data_key::create(&tx, &data_key::wrap_key(key)?, &record.id)?;
    manifest::initialise(&tx, &index)?;
    write(
        &tx,
        &Header {
            vault,
            key: record.clone(),
            index: *index.id(),
        },
    )?;
    tx.commit().map_err(failed())
}

/// Writes the row itself, where there is none.
pub(super) fn write(connection: &Connection, header: &Header) -> Result<(), VaultError> {
    connection
        .execute(
            "INSERT INTO header (id, vault, source, key_id, check_value, index_key)
             VALUES (1, ?1, '', x'', x'', ?2)",
            params![header.vault.as_bytes(), header.index.as_bytes()],
        )
        .map_err(VaultError::database("be initialised"))?;
    write_key(connection, &header.key)
}

/// Records another vault key.
pub(super) fn write_key(connection: &Connection, record: &KeyRecord) -> Result<(), VaultError> {
    let cost = record.cost.as_ref();
    connection
        .execute(
            "UPDATE header SET source = ?1, key_id = ?2, check_value = ?3,
             salt = ?4, memory_kib = ?5, passes = ?6, lanes = ?7",
            params![
                record.kind.as_str(),
                record.id.as_bytes(),
                record.check,
                cost.map(|c| c.salt),
                cost.map(|c| c.memory_kib),
                cost.map(|c| c.passes),
                cost.map(|c| c.lanes),
            ],
        )
        .map(drop)
        .map_err(VaultError::database("record its key"))
}

/// The header as it stands in the table.
struct Row {
    vault: Vec<u8>,
    source: String,
    key_id: Vec<u8>,
    check: Vec<u8>,
    index: Vec<u8>,
    cost: Option<(Vec<u8>, u32, u32, u32)>,
}

impl Row {
    fn decode(self) -> Option<Header> {
        let cost = match self.cost {
            Some((salt, memory_kib, passes, lanes)) => Some(Cost {
                salt: salt.try_into().ok()?,
                memory_kib,
                passes,
                lanes,
            }),
            None => None,
        };
        Some(Header {
            vault: KeyId::from_slice(&self.vault)?,
            key: KeyRecord {
                kind: SourceKind::from_name(&self.source)?,
                id: KeyId::from_slice(&self.key_id)?,
                cost,
                check: self.check,
            },
            index: KeyId::from_slice(&self.index)?,
        })
    }
}

fn damaged() -> VaultError {
    VaultError::corrupt(WHAT, Damage::Altered)
}

const WHAT: &str = "the vault's header";
const READ: &str = "read its header";
