//! What can be told of a vault without its key, for when the key cannot be had.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::error::{Obstacle, VaultError};
use crate::folders::{Folder, Folders};
use crate::key::{KeySources, Locator, Protection};

use super::connection::Opened;
use super::{Vault, connection, header};

/// A vault as it looks from outside. Nothing of it is vouched for by a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Where the database is.
    pub folder: PathBuf,
    /// How many bytes the database and its log take.
    pub bytes: u64,
    /// The version of its tables.
    pub schema: i64,
    /// Where its key comes from, and what that is worth.
    pub protection: Protection,
    /// How many entries there are of each kind; those that have expired count until they are
    /// removed.
    pub entries: BTreeMap<String, u32>,
    /// How many sign-ins there are.
    pub sign_ins: u32,
    /// What keeps it from being changed, if anything does.
    pub obstacle: Option<Obstacle>,
}

impl Vault {
    /// Looks at the vault in `folders` without asking for its key; `None` if there is none.
    ///
    /// Where there is none, nothing is made, not even a folder.
    ///
    /// # Errors
    ///
    /// As [`Vault::open`], apart from everything about keys.
    pub fn inspect(folders: &Folders) -> Result<Option<Inspection>, VaultError> {
        if !Self::exists(folders)? {
            return Ok(None);
        }
        let data = Folder::open(&folders.data)?;
        let Opened {
            connection,
            obstacle,
            ..
        } = connection::open(&data)?;
        let header = header::read(&connection)?;
        let config = Folder::open(&folders.config)?;
        let locator = Locator {
            sources: &KeySources::default(),
            config: &config,
            vault: header.vault,
        };
        let failed = || VaultError::database("be looked at");
        let count = |query| connection.query_row(query, [], |row| row.get(0));
        Ok(Some(Inspection {
            bytes: size(&data),
            schema: connection::schema_of(&connection).map_err(failed())?,
            protection: locator.protection(&header.key),
            entries: by_kind(&connection).map_err(failed())?,
            sign_ins: count("SELECT count(*) FROM grants").map_err(failed())?,
            folder: folders.data.clone(),
            obstacle,
        }))
    }
}

fn by_kind(connection: &Connection) -> rusqlite::Result<BTreeMap<String, u32>> {
    let query = "SELECT namespace, count(*) FROM records GROUP BY namespace";
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Adds up the files; the index that processes share is not kept and does not count.
fn size(data: &Folder) -> u64 {
    let files = [connection::NAME, connection::LOG];
    let sizes = files.iter().filter_map(|name| {
        let metadata = data.path().join(name).metadata();
        Some(metadata.ok()?.len())
    });
    sizes.sum()
}
