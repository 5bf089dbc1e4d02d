//! Writing an entry of ours into a client's file, and taking it out again.
//!
//! [`ClientFile`] is a client's file as it was read. [`ClientFile::put`] and [`ClientFile::undo`]
//! say what would change as a [`Patch`], which replaces one stretch of text and leaves every other
//! byte alone; [`Receipts`] remembers patches, so that one can be undone exactly. An entry of ours
//! starts `keyway run`: it names a server, and never holds a credential.

mod adopt;
mod error;
mod json;
mod mcp_remote;
mod receipts;
mod toml;

use std::path::{Path, PathBuf};

use keyway_config::source::{MAX_BYTES, Source};
use keyway_secret::Secret;

use crate::clients::{Client, Syntax};
use keyway::error::{LoadError, WriteError};
use keyway::{read, write};

pub use self::adopt::{Adoption, Home};
pub use self::error::InstallError;
pub use self::mcp_remote::{Recognised, Remote, recognise};
pub use self::receipts::{Receipt, Receipts};

/// What a client shall start: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program, absolute.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// An entry that stands in a client's file.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it starts; `None` for an entry of another kind.
    pub program: Option<String>,
    /// The arguments, which may hold a credential.
    pub args: Vec<Secret<String>>,
    /// The variables that it sets.
    pub env: Vec<(String, Secret<String>)>,
}

impl Listed {
    /// Says whether the entry starts `command` and nothing else.
    #[must_use]
    pub fn is(&self, command: &Command) -> bool {
        self.program.as_deref() == Some(command.program.as_str())
            && self.args.len() == command.args.len()
            && self
                .args
                .iter()
                .zip(&command.args)
                .all(|(a, b)| a.expose() == b)
    }
}

/// A client's file as it was read. Its text may hold a secret, so `Debug` leaves it out.
#[derive(Clone)]
pub struct ClientFile {
    client: &'static Client,
    path: PathBuf,
    /// `None` if there is no such file.
    before: Option<String>,
    /// The text with all patches so far.
    text: String,
}

/// One stretch of text in the place of another.
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
        let before = match read::bounded(&path, MAX_BYTES) {
            Ok(bytes) if bytes.len() <= MAX_BYTES => Some(String::from_utf8(bytes)),
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

    /// Returns the entries of the file.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the text is not what the client reads.
    pub fn entries(&self) -> Result<Vec<Listed>, InstallError> {
        let source = self.source();
        match self.client.syntax {
            Syntax::Json(tolerance) => json::entries(&source, self.client.key, tolerance),
            Syntax::Toml => toml::entries(&source, self.client.key),
        }
    }

    /// Adds an entry, or puts it in the place of one of the same name.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the text has no place for it; nothing is changed then.
    pub fn put(&mut self, name: &str, command: &Command) -> Result<Patch, InstallError> {
        let source = self.source();
        let patch = match self.client.syntax {
            Syntax::Json(tolerance) => {
                let value = json::Value::of(command, self.client.says_type);
                json::put(&source, (self.client.key, tolerance), name, &value)
            }
            Syntax::Toml => toml::put(&source, self.client.key, name, command),
        }?;
        self.accept(&patch, |listed| {
            let found = listed.iter().find(|entry| entry.name == name);
            found.is_some_and(|entry| entry.is(command))
        })?;
        Ok(patch)
    }

    /// Takes back what a receipt says was written; `false` if it is not there any more.
    ///
    /// Where the text around it is as it was, the bytes are as before. Where the client wrote its
    /// file anew, the entry alone goes, or what it had replaced comes back.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::Changed`] if somebody changed the entry since.
    pub fn undo(&mut self, receipt: &Receipt) -> Result<bool, InstallError> {
        let name = receipt.name.as_str();
        let entries = self.entries()?;
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
            return Ok(false);
        };
        if !entry.is(&receipt.command) {
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
                    Syntax::Json(_) => json::take(&self.source(), self.client.key, name, back),
                    Syntax::Toml => toml::take(&self.source(), self.client.key, name, back),
                }?
            }
        };
        let command = &receipt.command;
        self.accept(&patch, |listed| {
            let mut found = listed.iter().filter(|entry| entry.name == name);
            found.all(|entry| !entry.is(command))
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

    /// Takes a patch over if the text is then still whole: the others are as before, and `is_right`.
    fn accept(
        &mut self,
        patch: &Patch,
        is_right: impl FnOnce(&[Listed]) -> bool,
    ) -> Result<(), InstallError> {
        let before = self.entries()?;
        let mut after = self.clone();
        after.text = patch.apply(&self.text);
        let refused = || InstallError::NoPlace {
            path: read::shown(&self.path),
        };
        let listed = after.entries().map_err(|_| refused())?;
        let is_kept = before.len().abs_diff(listed.len()) <= 1;
        if !is_kept || !is_right(&listed) {
            return Err(refused());
        }
        self.text = after.text;
        Ok(())
    }

    fn source(&self) -> Source {
        Source::new(&read::shown(&self.path), self.text.as_bytes())
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

#[cfg(test)]
mod tests;
