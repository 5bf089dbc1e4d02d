//! Putting a copy of the vault in its place.

use std::path::{Path, PathBuf};

use crate::error::VaultError;
use crate::folders::{Folder, Folders};
use crate::grants;
use crate::key::KeySources;
use crate::seal::KeyId;
use crate::store::{Log, Vault, copy_into, swap};
use crate::verify::Verification;

/// What [`Vault::restore`] did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Restored {
    /// How many entries and sign-ins the copy has.
    pub contents: Verification,
    /// Sign-ins that were renewed or ended after the copy was made. Their refresh tokens are not
    /// used again: a server that sees one twice ends the sign-in.
    pub outdated: Vec<String>,
    /// Where the vault is that was there before.
    pub previous: Option<PathBuf>,
}

impl Vault {
    /// Puts a copy in place of the vault in `folders`, which stays under another name.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] while other processes use the vault, [`VaultError::Corrupt`] if
    /// the copy is damaged, and errors about its key. In all of them nothing was changed.
    pub fn restore(
        folders: &Folders,
        sources: KeySources,
        from: &Path,
    ) -> Result<Restored, VaultError> {
        let data = Folder::open(&folders.data)?;
        let draft = format!("new-{}.db", KeyId::random()?);
        let restored = copy_into(&data, &draft, from)
            .and_then(|()| prepare(folders, sources, &draft))
            .and_then(|(contents, outdated)| {
                let previous = swap(&data, &draft, Log::Ends)?;
                Ok(Restored {
                    contents,
                    outdated,
                    previous,
                })
            });
        if restored.is_err() {
            drop(data.remove(&draft));
        }
        restored
    }
}

/// Opens the copy, verifies all of it, and marks what this vault knows better.
fn prepare(
    folders: &Folders,
    sources: KeySources,
    draft: &str,
) -> Result<(Verification, Vec<String>), VaultError> {
    let known = known(folders, &sources);
    let copy = Vault::open_file(folders, draft, sources)?;
    let mut contents = copy.verify()?;
    if !contents.problems.is_empty() {
        return Err(contents.problems.swap_remove(0));
    }
    let outdated = grants::mark_outdated(&copy, known.as_ref())?;
    // The processes that held claims when the copy was made are not these.
    copy.write_scope("end claims", |scope| {
        scope
            .tx
            .execute_batch(&format!("{};", grants::END_CLAIM))
            .map_err(VaultError::database("end claims"))
    })?;
    copy.close_file()?;
    Ok((contents, outdated))
}

/// Asks the present vault, with its journal, how far it got; `None` if it does not open.
fn known(folders: &Folders, sources: &KeySources) -> Option<grants::Known> {
    let present = Vault::exists(folders).is_ok_and(|it| it);
    let vault = present.then(|| Vault::open(folders, sources.clone()).ok());
    grants::known(&vault??).ok()
}
