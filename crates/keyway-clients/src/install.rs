//! Writing an entry of ours into a client's file, and taking it out again.
//!
//! [`ClientFile`] is a client's file as it was read. [`ClientFile::put`] and [`ClientFile::undo`]
//! say what would change as a [`Patch`], which replaces one stretch of text and leaves every other
//! byte alone; [`Receipts`] remembers patches, so that one can be undone exactly. An entry of ours
//! starts `keyway run`: it names a server, and never holds a credential.

mod adopt;
mod bridges;
mod entry;
mod error;
mod installation;
mod json;
mod meaning;
mod native;
mod program;
mod receipts;
mod remote;
mod restoration;
mod toml;
mod value;
mod yaml;

use std::path::{Path, PathBuf};

use keyway_config::document::{Document, DocumentKind};
use keyway_config::json::{Node, Tree, Value as Json};
use keyway_config::source::Source;
use keyway_secret::Secret;

use crate::clients::{Client, Syntax};
use keyway_files::error::{LoadError, WriteError};
use keyway_files::{read, write};

pub use self::adopt::{Adoption, Home};
pub use self::bridges::recognise;
pub use self::entry::{Command, HelperEntry, Listed, OwnEntry};
use self::entry::{dialect_of, kept_members};
pub use self::error::InstallError;
pub use self::installation::{Installation, entry_name};
use self::meaning::Meaning;
pub use self::native::recognise_declared;
pub use self::program::LocalProgram;
pub use self::receipts::{Receipt, Receipts, StandsFor};
pub use self::remote::{Recognised, Remote};
pub use self::restoration::Restoration;

/// A client's file as it was read. Its text may hold a secret, so `Debug` leaves it out.
#[derive(Clone)]
pub struct ClientFile {
    client: &'static Client,
    path: PathBuf,
    /// The keys that lead to the entries.
    keys: Vec<String>,
    /// `None` if there is no such file.
    before: Option<String>,
    /// The text with all patches so far.
    text: String,
}

/// A replacement of one stretch of text by another.
#[derive(Clone)]
pub struct Patch {
    at: usize,
    /// What stood there, which may hold a secret.
    replaced: Secret<String>,
    /// What stands there now.
    inserted: String,
    /// Whether an entry of the person's stood there.
    is_replacement: bool,
}

impl ClientFile {
    /// Reads a client's file, which need not be there.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::NotParsed`] with the place for a text that the client itself could
    /// not read.
    pub fn read(client: &'static Client, path: PathBuf) -> Result<Self, InstallError> {
        let before = match read::bounded(&path, MAX_CLIENT_FILE) {
            Ok(bytes) if bytes.len() <= MAX_CLIENT_FILE => Some(String::from_utf8(bytes)),
            Ok(_) => {
                let path = read::shown(&path);
                return Err(LoadError::NotText { path }.into());
            }
            Err(LoadError::Missing { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let before = before.transpose().map_err(|_| LoadError::NotText {
            path: read::shown(&path),
        })?;
        let text = before.clone().unwrap_or_default();
        let file = Self {
            client,
            path,
            keys: vec![client.key.to_owned()],
            before,
            text,
        };
        file.entries()?;
        Ok(file)
    }

    /// Returns whose file it is.
    #[must_use]
    pub const fn client(&self) -> &'static Client {
        self.client
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text as it was read, and with all patches; both for showing the difference.
    #[must_use]
    pub fn texts(&self) -> (Option<&str>, &str) {
        (self.before.as_deref(), &self.text)
    }

    /// Says whether anything would be written.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.before.as_deref() != Some(&self.text)
    }

    /// Looks at other entries of the same file from now on: those below `keys`.
    pub fn turn_to(&mut self, keys: &[&str]) {
        self.keys = keys.iter().map(|key| (*key).to_owned()).collect();
    }

    /// Looks at the entries again that the client reads everywhere.
    pub fn turn_back(&mut self) {
        self.turn_to(&[self.client.key]);
    }

    /// Returns the keys that lead to the entries.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Returns the entries of the file.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the text is not what the client reads.
    pub fn entries(&self) -> Result<Vec<Listed>, InstallError> {
        let tree = self.tree()?;
        let dialect = dialect_of(self.client);
        let Some(servers) = self.servers(&tree)? else {
            return Ok(Vec::new());
        };
        Ok(match &servers.value {
            Json::Object(map) => {
                let members = map.members.iter();
                let listed = members.map(|it| Listed::of(dialect, &it.key, &it.value));
                listed.collect()
            }
            Json::Array(items) => {
                let named = items
                    .iter()
                    .filter_map(|it| Some((yaml::item_name(it)?, it)));
                named
                    .map(|(name, it)| Listed::of(dialect, name, it))
                    .collect()
            }
            _ => Vec::new(),
        })
    }

    /// Returns the file as its host reads it, for what its entries mean.
    #[must_use]
    pub fn document(&self) -> Document {
        Document::parse_at(self.client.read_as, self.source(), DocumentKind::Entries)
    }

    /// Adds an entry, or replaces the one of the same name. What the person says in that
    /// one about switches, limits and tools stays.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the text has no place for it; nothing is changed then.
    pub fn put(&mut self, name: &str, entry: &OwnEntry) -> Result<Patch, InstallError> {
        let source = self.source();
        let tree = self.tree()?;
        let there = self.node(&tree, name)?;
        let kept = there.map(|node| kept_members(&source, dialect_of(self.client), node));
        let value = entry.value(self.client, name, kept.unwrap_or_default());
        let patch = match self.client.syntax {
            Syntax::Json(tolerance) => json::put(&source, (&self.keys, tolerance), name, &value),
            Syntax::Toml => toml::put(&source, self.client.key, name, &value),
            Syntax::Yaml => yaml::put(&source, self.client.key, name, &value),
        }?;
        self.accept(name, &patch, |listed| {
            let found = listed.iter().find(|listed| listed.name == name);
            found.is_some_and(|listed| listed.is(entry))
        })?;
        Ok(patch)
    }

    /// Removes what a receipt says was written; `false` if it is not there any more.
    ///
    /// If the text around it is unchanged, the file gets its former bytes. If the client rewrote
    /// its file, only the entry is removed, or what it had replaced is restored.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::Changed`] if the entry was changed since.
    pub fn undo(&mut self, receipt: &Receipt) -> Result<bool, InstallError> {
        let name = receipt.name.as_str();
        self.keys.clone_from(&receipt.keys);
        let entries = self.entries()?;
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
            return Ok(false);
        };
        if !entry.is(&receipt.entry) {
            let (name, path) = (name.to_owned(), read::shown(&self.path));
            return Err(InstallError::Changed { name, path });
        }
        let mut places = self.text.match_indices(&receipt.inserted);
        let patch = match (places.next(), places.next()) {
            (Some((at, _)), None) => Patch {
                at,
                replaced: Secret::new(receipt.inserted.clone()),
                inserted: receipt.replaced.expose().clone(),
                is_replacement: true,
            },
            _ => {
                let back = receipt.is_replacement.then_some(&receipt.replaced);
                match self.client.syntax {
                    Syntax::Json(_) => json::take(&self.source(), &self.keys, name, back),
                    Syntax::Toml => toml::take(&self.source(), self.client.key, name, back),
                    Syntax::Yaml => yaml::take(&self.source(), self.client.key, name, back),
                }?
            }
        };
        let own = &receipt.entry;
        self.accept(name, &patch, |listed| {
            let mut found = listed.iter().filter(|entry| entry.name == name);
            found.all(|entry| !entry.is(own))
        })?;
        Ok(true)
    }

    /// Writes the text, unless the file changed since it was read.
    ///
    /// A file of ours that is empty again is removed; folders stay.
    ///
    /// # Errors
    ///
    /// Returns a [`WriteError`]; the file is then as it was.
    pub fn write(&self, was_made_by_us: bool) -> Result<(), WriteError> {
        let failed = |source| WriteError::Failed {
            path: self.path.clone(),
            source,
        };
        match &self.before {
            None => {
                if let Some(folder) = self.path.parent() {
                    std::fs::create_dir_all(folder).map_err(failed)?;
                }
                write::create(&self.path, self.text.as_bytes(), OWNER_ONLY)
            }
            Some(before) => {
                write::replace(&self.path, before.as_bytes(), self.text.as_bytes())?;
                if was_made_by_us && self.text.is_empty() {
                    std::fs::remove_file(&self.path).map_err(failed)?;
                }
                Ok(())
            }
        }
    }

    /// Takes a patch over if the text is then still whole: everything but the entry means what it
    /// meant, and `is_right`.
    fn accept(
        &mut self,
        name: &str,
        patch: &Patch,
        is_right: impl FnOnce(&[Listed]) -> bool,
    ) -> Result<(), InstallError> {
        let mut after = self.clone();
        after.text = patch.apply(&self.text);
        let refused = || InstallError::NoPlace {
            path: read::shown(&self.path),
        };
        let listed = after.entries().map_err(|_| refused())?;
        let is_kept = match (self.others(name), after.others(name)) {
            (Ok(before), Ok(after)) => before == after,
            _ => false,
        };
        if !is_kept || !is_right(&listed) {
            return Err(refused());
        }
        self.text = after.text;
        Ok(())
    }

    /// Returns what the file means without one entry and without the objects that only it needs.
    fn others(&self, name: &str) -> Result<Option<Meaning>, InstallError> {
        let tree = self.tree()?;
        let root = tree.root.as_ref().map(Meaning::of);
        Ok(root.and_then(|root| root.without(&self.keys, name)))
    }

    fn tree(&self) -> Result<Tree, InstallError> {
        let source = self.source();
        match self.client.syntax {
            Syntax::Json(tolerance) => json::read(&source, tolerance),
            Syntax::Toml => toml::read(&source),
            Syntax::Yaml => yaml::read(&source),
        }
    }

    /// Returns what stands under the keys.
    fn servers<'a>(&self, tree: &'a Tree) -> Result<Option<&'a Node>, InstallError> {
        let Some(mut node) = tree.root.as_ref() else {
            return Ok(None);
        };
        for key in &self.keys {
            let Some(found) = node.as_object().and_then(|it| it.get(key)) else {
                return Ok(None);
            };
            node = &found.value;
        }
        let is_whole = match &node.value {
            Json::Object(map) => map.repeated().is_empty(),
            Json::Array(_) | Json::Null => self.client.syntax == Syntax::Yaml,
            _ => false,
        };
        if is_whole {
            return Ok(Some(node));
        }
        let place = self.source().position(node.span.start);
        Err(InstallError::NotServers {
            path: read::shown(&self.path),
            key: self.keys.last().cloned().unwrap_or_default(),
            line: place.line,
            column: place.column,
        })
    }

    fn node<'a>(&self, tree: &'a Tree, name: &str) -> Result<Option<&'a Node>, InstallError> {
        let servers = self.servers(tree)?;
        Ok(servers.and_then(|servers| match &servers.value {
            Json::Object(map) => Some(&map.get(name)?.value),
            Json::Array(items) => items.iter().find(|it| yaml::item_name(it) == Some(name)),
            _ => None,
        }))
    }

    fn source(&self) -> Source {
        Source::with_limit(
            &read::shown(&self.path),
            self.text.as_bytes(),
            MAX_CLIENT_FILE,
        )
    }
}

impl Patch {
    fn apply(&self, text: &str) -> String {
        let end = self.at + self.replaced.expose().len();
        let before = text.get(..self.at).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default();
        format!("{before}{}{after}", self.inserted)
    }
}

impl std::fmt::Debug for ClientFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Patch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patch")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

const OWNER_ONLY: u32 = 0o600;
/// The largest file of a client that is read. Claude Code keeps its history beside the entries, so
/// that its file is often larger than any file of a plugin.
pub(crate) const MAX_CLIENT_FILE: usize = 32 * 1024 * 1024;

#[cfg(test)]
mod tests;
