//! Entries of one host's file for another host's: reading it, and what the other becomes.
//!
//! A credential never moves: its place becomes a variable, in the way of the target. What the target
//! cannot say is reported, and an entry that would not work is left out.

use std::path::{Path, PathBuf};

use keyway_config::dialect::Dialect;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::edit::TextChange;
use keyway_config::portable::{MergeFault, merge, new_file};
use keyway_config::source::{MAX_BYTES, Source};
use keyway_files::error::{LoadError, WriteError};
use keyway_files::{read, write};
use keyway_lint::convert::{Conversion, convert};
use keyway_secret::printable;
use thiserror::Error;

/// Entries for a host, and what would become of the file that gets them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Converted {
    /// The entries, and what there is to say about them.
    pub conversion: Conversion,
    /// The file with the entries; `None` if no file gets them, or there are none.
    pub change: Option<TextChange>,
    into: Option<PathBuf>,
}

/// Why nothing was converted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] LoadError),
    /// There is no such server.
    #[error("there is no server `{}`", printable(name))]
    UnknownServer {
        /// As given.
        name: String,
    },
    /// Entries cannot be added to a host's file.
    #[error("`{}` is left as it is", printable(file))]
    NotMerged {
        /// The file.
        file: String,
        /// What stands in the way.
        source: MergeFault,
    },
}

impl Converted {
    /// Converts the entries of files for `target`, all or one, and adds them to the file at `into`.
    /// Nothing is written.
    ///
    /// # Errors
    ///
    /// Returns [`ConvertError::UnknownServer`] if no file has the server, and
    /// [`ConvertError::NotMerged`] if the file has no place for the entries.
    pub fn new(
        documents: &[Document],
        target: &'static Dialect,
        server: Option<&str>,
        into: Option<&Path>,
    ) -> Result<Self, ConvertError> {
        let mut conversion = Conversion::default();
        for document in documents {
            conversion.extend(convert(document, target, server));
        }
        let is_known = |name: &str| {
            let mut entries = documents.iter().flat_map(|document| &document.entries);
            entries.any(|entry| entry.name == name)
        };
        if let Some(name) = server.filter(|name| !is_known(name)) {
            let name = name.to_owned();
            return Err(ConvertError::UnknownServer { name });
        }
        let change = match into {
            Some(path) if !conversion.entries.is_empty() => {
                Some(changed(path, target, &conversion)?)
            }
            _ => None,
        };
        Ok(Self {
            conversion,
            change,
            into: into.map(Path::to_path_buf),
        })
    }

    /// Writes the file, unless it changed since it was read.
    ///
    /// # Errors
    ///
    /// Returns a [`WriteError`]; the file is then as it was.
    pub fn write(&self) -> Result<(), WriteError> {
        let (Some(change), Some(path)) = (&self.change, &self.into) else {
            return Ok(());
        };
        let after = change.after.as_bytes();
        match &change.before {
            Some(before) => write::replace(path, before.as_bytes(), after),
            None => write::create(path, after, READABLE),
        }
    }
}

/// Reads a host's file; whose it is was said, so its name does not matter.
///
/// # Errors
///
/// Returns a [`LoadError`] if it cannot be read.
pub fn read_host_file(dialect: &Dialect, path: &Path) -> Result<Document, LoadError> {
    let bytes = read::bounded(path, MAX_BYTES)?;
    Ok(parse(dialect, path, &bytes))
}

/// Reads bytes as a file of `dialect`, by its ending where the host has files of several syntaxes.
fn parse(dialect: &Dialect, path: &Path, bytes: &[u8]) -> Document {
    let source = Source::new(&read::shown(path), bytes);
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let mut names = dialect
        .files
        .iter()
        .map(|file| file.path.replace('*', "servers"));
    let named = names
        .clone()
        .find(|name| name.ends_with(&format!(".{ending}")));
    let name = named
        .or_else(|| names.next())
        .unwrap_or_else(|| read::shown(path));
    Document::parse_at(&name, source, DocumentKind::Entries)
}

/// Adds the entries to a file, or makes it.
fn changed(
    path: &Path,
    target: &'static Dialect,
    all: &Conversion,
) -> Result<TextChange, ConvertError> {
    let shown = read::shown(path);
    let existing = match read_host_file(target, path) {
        Ok(existing) => existing,
        Err(LoadError::Missing { .. }) => {
            let after = new_file(target, &all.entries);
            return Ok(TextChange::new(shown, None, after));
        }
        Err(error) => return Err(error.into()),
    };
    let before = existing.source.text().to_owned();
    let after = merge(&existing, &all.entries);
    let after = after.map_err(|source| ConvertError::NotMerged {
        file: shown.clone(),
        source,
    })?;
    Ok(TextChange::new(shown, Some(before), after))
}

/// A configuration file, which others may read.
const READABLE: u32 = 0o644;
