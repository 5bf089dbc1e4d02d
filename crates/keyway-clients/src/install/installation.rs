//! A client's file with the entries that are added to it, and the record of all of them.

use std::path::{Path, PathBuf};

use super::{ClientFile, InstallError, OwnEntry, Receipt, Receipts};
use crate::clients::Client;

/// Entries that are added to a client's file, and what is to be remembered of that.
///
/// Nothing is written before [`Installation::write`].
#[derive(Debug)]
pub struct Installation {
    file: ClientFile,
    /// What was written earlier.
    records: Receipts,
    /// What this adds.
    receipts: Vec<Receipt>,
    /// The entries that were put and were there already.
    present: Vec<String>,
}

impl Installation {
    /// Reads the client's file at `path`, and the record below Keyway's folder for data.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if one of them cannot be read.
    pub fn open(client: &'static Client, path: PathBuf, data: &Path) -> Result<Self, InstallError> {
        Ok(Self {
            file: ClientFile::read(client, path)?,
            records: Receipts::open(data)?,
            receipts: Vec::new(),
            present: Vec::new(),
        })
    }

    /// Returns the client's file, with what was added.
    #[must_use]
    pub const fn file(&self) -> &ClientFile {
        &self.file
    }

    /// Returns the entries that were added.
    #[must_use]
    pub fn added(&self) -> Vec<&OwnEntry> {
        self.receipts.iter().map(|it| &it.entry).collect()
    }

    /// Returns the text that is written for each entry, and nothing else of the file.
    pub fn inserted(&self) -> impl Iterator<Item = &str> {
        self.receipts.iter().map(|it| it.inserted.as_str())
    }

    /// Returns the names of the entries that were put: those that are not written yet, and those
    /// that were there already.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let added = self.receipts.iter().map(|it| it.name.clone());
        added.chain(self.present.iter().cloned()).collect()
    }

    /// Adds an entry for a server, unless it is there.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::NameTaken`] or [`InstallError::OtherPluginsName`] if another entry has
    /// the name and `replace` is not set.
    pub fn put(
        &mut self,
        (server, entry): (&str, &OwnEntry),
        replace: bool,
    ) -> Result<(), InstallError> {
        let name = entry_name(server);
        let entries = self.file.entries()?;
        let mut is_new_file = false;
        if let Some(there) = entries.iter().find(|entry| entry.name == name) {
            if there.is(entry) {
                self.present.push(name);
                return Ok(());
            }
            let ours = self.records.all.iter().rev().find(|receipt| {
                receipt.file == self.file.path() && receipt.name == name && there.is(&receipt.entry)
            });
            // Another plugin's server of the same name keeps its place.
            if ours.is_some_and(|ours| replace || plugin_of(&ours.entry) == plugin_of(entry)) {
                is_new_file = self.forget(&name)?;
            } else if ours.is_some() {
                let client = self.file.client().title;
                return Err(InstallError::OtherPluginsName { name, client });
            } else if !replace {
                let client = self.file.client().title;
                return Err(InstallError::NameTaken { name, client });
            }
        }
        self.replace(&name, entry)?;
        if let Some(last) = self.receipts.last_mut() {
            last.is_new_file |= is_new_file;
        }
        Ok(())
    }

    /// Puts an entry in the place of one that the person wants replaced.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the text has no place for it.
    pub fn replace(&mut self, name: &str, entry: &OwnEntry) -> Result<(), InstallError> {
        let patch = self.file.put(name, entry)?;
        let receipt = Receipt::new(&self.file, (name, entry), &patch);
        self.receipts.push(receipt);
        Ok(())
    }

    /// Undoes an older entry of ours, so that the new one remembers what was there before both.
    /// Says whether the older one had made the file.
    fn forget(&mut self, name: &str) -> Result<bool, InstallError> {
        let file = self.file.path().to_path_buf();
        let is_it = |receipt: &Receipt| receipt.file == file && receipt.name == name;
        let Some(at) = self.records.all.iter().rposition(is_it) else {
            return Ok(false);
        };
        let receipt = self.records.all.remove(at);
        self.file.undo(&receipt)?;
        Ok(receipt.is_new_file)
    }

    /// Writes the file, after what is needed to undo it. Returns what was written.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`]; a file that could not be written is as it was.
    pub fn write(&mut self) -> Result<Vec<PathBuf>, InstallError> {
        let backup = self.records.back_up(&self.file)?;
        self.records.all.append(&mut self.receipts);
        self.records.save()?;
        self.file.write(false)?;
        let mut written = vec![self.file.path().to_path_buf()];
        written.extend(backup);
        Ok(written)
    }
}

/// Returns the name under which clients list a server: some take letters, digits, `-` and `_` only.
#[must_use]
pub fn entry_name(server: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    server
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}

/// Returns the plugin that an entry of ours is about.
fn plugin_of(entry: &OwnEntry) -> Option<&str> {
    let OwnEntry::Run(command) = entry else {
        return None;
    };
    let at = command.args.iter().position(|arg| arg == "--config")?;
    Some(command.args.get(at + 1)?)
}
