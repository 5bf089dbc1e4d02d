//! Making a sound vault of what still opens in a damaged one.
//!
//! ```text
//!   vault.db, its log ──copy──▶ pages ──rows──▶ tables ──rows that open──▶ draft ──verified──▶ vault.db
//!          └────────────────────── renamed aside, never written to ─────────────────────▶ old-*.db
//! ```
//!
//! Rows are looked for in every page, and not from the root of their table: of a file that was cut
//! off, every whole page counts.
//!
//! Rows are copied as they are, generations included: what lies in the journal still finds the
//! generation that it follows, and a backup from before is still told to be older.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use keyway_store::GrantKey;
use rusqlite::{Connection, params};

use crate::Generation;
use crate::error::VaultError;
use crate::folders::{Folder, Folders};
use crate::grants;
use crate::key::KeySources;
use crate::seal::KeyId;
use crate::store::{
    Contents, Log, Namespace, Scope, Sealed, Vault, collect_rows, copy_aside, exclude_others,
    open_damaged, swap,
};
use crate::verify::Verification;

/// What [`Vault::repair`] did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// How many entries and sign-ins the vault has now.
    pub contents: Verification,
    /// What did not open, or was not what was written last.
    pub lost: Vec<String>,
    /// Lists of contents that did not open: whether what they list was put back to an older state
    /// cannot be told.
    pub unlisted: Vec<String>,
    /// Where the damaged vault is; `None` if nothing was damaged, and nothing was changed.
    pub previous: Option<PathBuf>,
}

impl Vault {
    /// Makes a new vault of everything that opens in the one in `folders`, which stays as it is
    /// under another name.
    ///
    /// The calling process must not have the vault open.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Lost`] if nothing of it can be opened, [`VaultError::Busy`] while
    /// other processes use it, and errors about its key. In all of them nothing was changed.
    pub fn repair(folders: &Folders, sources: KeySources) -> Result<Repaired, VaultError> {
        let data = Folder::open(&folders.data)?;
        Self::exists(folders)?;
        // Held until the end: no process may write what would not be in the new file.
        let alone = exclude_others(&data)?;
        let id = KeyId::random()?;
        let draft = format!("new-{id}.db");
        let aside = Aside {
            vault: &alone,
            data: &data,
            copy: format!("new-{id}-copy.db"),
            tables: format!("new-{id}-tables.db"),
        };
        let repaired = repair(folders, &sources, &aside, &draft);
        aside.remove();
        let repaired = repaired.and_then(|repaired| match repaired {
            Outcome::Sound(contents) => Ok(Repaired {
                contents,
                lost: Vec::new(),
                unlisted: Vec::new(),
                previous: None,
            }),
            Outcome::Rebuilt(contents, found) => Ok(Repaired {
                contents,
                lost: found.lost.into_iter().collect(),
                unlisted: found.unlisted,
                previous: swap(&data, &draft, Log::MovesAside)?,
            }),
        });
        if repaired.is_err() {
            drop(data.remove(&draft));
        }
        repaired
    }
}

enum Outcome {
    Sound(Verification),
    Rebuilt(Verification, Found),
}

/// What of a damaged vault opens, and what does not.
#[derive(Default)]
struct Found {
    lost: BTreeSet<String>,
    unlisted: Vec<String>,
    lists: Vec<Listed>,
}

/// The rows of a namespace that are kept.
struct Listed {
    namespace: String,
    rows: Vec<(String, Generation)>,
    /// The new list must not be taken for one of the old ones.
    beyond: i64,
}

/// What is made on the way, and removed in any case.
struct Aside<'a> {
    /// The vault's own file, locked.
    vault: &'a File,
    data: &'a Folder,
    copy: String,
    tables: String,
}

impl Aside<'_> {
    fn remove(&self) {
        for file in [&self.copy, &self.tables] {
            for side in ["", "-wal", "-shm", "-journal"] {
                drop(self.data.remove(&format!("{file}{side}")));
            }
        }
    }
}

fn repair(
    folders: &Folders,
    sources: &KeySources,
    aside: &Aside<'_>,
    draft: &str,
) -> Result<Outcome, VaultError> {
    copy_aside(aside.vault, aside.data, &aside.copy)?;
    match open_damaged(folders, &aside.copy, sources.clone()) {
        Ok(copy) => match copy.verify() {
            Ok(contents) if contents.problems.is_empty() => return Ok(Outcome::Sound(contents)),
            _ => {}
        },
        // Pages may hold rows although SQLite does not find the way to them.
        Err(VaultError::Lost { .. }) => {}
        Err(error) => return Err(error),
    }
    // Another copy: SQLite may have written to a damaged one, and over rows of it.
    aside.remove();
    copy_aside(aside.vault, aside.data, &aside.copy)?;
    collect_rows(aside.data, &aside.copy, &aside.tables)?;
    let damaged = open_damaged(folders, &aside.tables, sources.clone())?;
    rebuild(folders, sources.clone(), &damaged, draft)
}

/// Writes what opens into a new file and verifies it.
fn rebuild(
    folders: &Folders,
    sources: KeySources,
    damaged: &Vault,
    draft: &str,
) -> Result<Outcome, VaultError> {
    let found = damaged.salvage(draft, |scope| copy_rows(damaged, scope))?;
    let new = Vault::open_file(folders, draft, sources)?;
    new.write_scope(ACTION, |scope| {
        scope.begin_lists()?;
        for list in &found.lists {
            let rows = list.rows.iter().map(|(key, it)| (key.as_str(), *it));
            scope.list_again(&list.namespace, rows, list.beyond)?;
        }
        Ok(())
    })?;
    let mut contents = new.verify()?;
    if !contents.problems.is_empty() {
        return Err(contents.problems.swap_remove(0));
    }
    new.close_file()?;
    Ok(Outcome::Rebuilt(contents, found))
}

/// Copies the rows that open, each with its data key.
fn copy_rows(damaged: &Vault, scope: &Scope<'_>) -> Result<Found, VaultError> {
    let run = |sql: &str, parameters: [&str; 2]| {
        let done = scope.tx.execute(sql, parameters);
        done.map(drop).map_err(VaultError::database(ACTION))
    };
    let mut found = Found::default();
    let mut names: BTreeSet<String> = scope.namespaces().unwrap_or_default().into_iter().collect();
    names.extend(column(
        scope.tx,
        "SELECT DISTINCT namespace FROM records",
        &[],
    )?);
    for name in names.iter().filter_map(|name| Namespace::new(name).ok()) {
        let rows = Sealed::new(damaged, name);
        let what = |key: &str| rows.what(key);
        let named: (&str, &dyn Fn(&str) -> String) = (rows.name(), &what);
        let of_namespace = "SELECT key FROM records WHERE namespace = ?1";
        let keys = column(scope.tx, of_namespace, params![rows.name()])?;
        found.examine(scope, named, keys, |key, contents| {
            let Some((generation, data_key)) = rows.open_row(scope, key, contents)? else {
                return Ok(None);
            };
            scope.copy_data_key(&data_key)?;
            run(COPY_RECORD, [rows.name(), key])?;
            Ok(Some(generation))
        })?;
    }
    let named: (&str, &dyn Fn(&str) -> String) = (grants::NAMESPACE, &grants::named);
    found.examine(scope, named, grants::indexes(scope)?, |index, contents| {
        let Some(grant) = GrantKey::parse_index(index) else {
            return Ok(None);
        };
        let Some((generation, data_key)) = grants::open_row(scope, &grant, contents)? else {
            return Ok(None);
        };
        scope.copy_data_key(&data_key)?;
        run(COPY_GRANT, [grant.profile(), &grant.name()])?;
        Ok(Some(generation))
    })?;
    Ok(found)
}

impl Found {
    /// Takes the rows of a namespace that `take` opens; what it cannot open is lost.
    fn examine(
        &mut self,
        scope: &Scope<'_>,
        (namespace, what): (&str, &dyn Fn(&str) -> String),
        mut keys: BTreeSet<String>,
        mut take: impl FnMut(&str, Option<&mut Contents<'_>>) -> Result<Option<Generation>, VaultError>,
    ) -> Result<(), VaultError> {
        let mut contents = match scope.contents(namespace) {
            Ok(contents) => Some(contents),
            Err(VaultError::Corrupt { what, .. }) => {
                self.unlisted.push(what);
                None
            }
            Err(error) => return Err(error),
        };
        // What is listed and has no row is lost.
        keys.extend(contents.iter().flat_map(Contents::keys).map(str::to_owned));
        let mut rows = Vec::new();
        for key in keys {
            match take(&key, contents.as_mut()) {
                Ok(Some(generation)) => rows.push((key, generation)),
                Ok(None) | Err(VaultError::Corrupt { .. }) => drop(self.lost.insert(what(&key))),
                Err(error) => return Err(error),
            }
        }
        let (_, damaged) = contents.map(Contents::finish).unwrap_or_default();
        for problem in damaged {
            if let VaultError::Corrupt { what, .. } = problem {
                self.unlisted.push(what);
            }
        }
        self.lists.push(Listed {
            namespace: namespace.to_owned(),
            beyond: last_counter(scope, namespace) + 1,
            rows,
        });
        Ok(())
    }
}

/// Returns the highest counter that any list of a namespace seems to have.
fn last_counter(scope: &Scope<'_>, namespace: &str) -> i64 {
    let sealed = scope.revision(namespace).ok().flatten();
    let sealed = sealed.map_or(0, Generation::get);
    let query = "SELECT max(counter) FROM (SELECT counter FROM manifests WHERE namespace = ?1
         UNION ALL SELECT counter FROM buckets WHERE namespace = ?1)";
    let open = scope.tx.query_row(query, [namespace], |row| row.get(0));
    // Not vouched for; it can only be too high, up to where it could not grow any more.
    let open: Option<i64> = open.ok().flatten();
    sealed.max(open.filter(|it| *it < i64::MAX / 2).unwrap_or(0))
}

fn column(
    connection: &Connection,
    query: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<BTreeSet<String>, VaultError> {
    let failed = || VaultError::database(ACTION);
    let mut statement = connection.prepare(query).map_err(failed())?;
    let rows = statement.query_map(parameters, |row| row.get(0));
    rows.and_then(Iterator::collect).map_err(failed())
}

const ACTION: &str = "be repaired";
const COPY_RECORD: &str =
    "INSERT INTO draft.records SELECT * FROM records WHERE namespace = ?1 AND key = ?2";
const COPY_GRANT: &str =
    "INSERT INTO draft.grants SELECT * FROM grants WHERE profile = ?1 AND name = ?2";
