//! Taking back what was written into clients' files, all of it or some.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{ClientFile, Home, InstallError, Receipt, Receipts};
use crate::clients::Client;

/// Changes of clients' files that are to be taken back.
///
/// Nothing is written before [`Restoration::write`].
#[derive(Debug)]
pub struct Restoration {
    records: Receipts,
    files: Vec<(ClientFile, bool)>,
    servers: Vec<String>,
    kept: Vec<InstallError>,
}

impl Restoration {
    /// Works out what the files would be without the entries whose receipt `is_meant`; the record is
    /// below Keyway's folder for data. An entry that was changed since stays.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if a file or the record cannot be read.
    pub fn plan(data: &Path, is_meant: impl Fn(&Receipt) -> bool) -> Result<Self, InstallError> {
        let mut records = Receipts::open(data)?;
        let all = std::mem::take(&mut records.all);
        let (meant, others): (Vec<Receipt>, Vec<Receipt>) = all.into_iter().partition(&is_meant);
        records.all = others;
        let mut by_file: BTreeMap<PathBuf, Vec<Receipt>> = BTreeMap::new();
        let mut servers: Vec<String> = Vec::new();
        for receipt in meant {
            servers.extend(receipt.own_server.clone());
            let of_file = by_file.entry(receipt.file.clone()).or_default();
            of_file.push(receipt);
        }
        let (mut files, mut kept) = (Vec::new(), Vec::new());
        for (path, receipts) in by_file {
            let client = receipts.first().and_then(|it| Client::by_name(&it.client));
            let Some(client) = client else { continue };
            let mut file = ClientFile::read(client, path)?;
            // The last first: each then finds the text as it left it.
            for receipt in receipts.iter().rev() {
                match file.undo(receipt) {
                    Ok(_) => {}
                    Err(error @ InstallError::Changed { .. }) => kept.push(error),
                    Err(error) => return Err(error),
                }
            }
            let is_new = receipts.iter().any(|receipt| receipt.is_new_file);
            if file.is_changed() {
                files.push((file, is_new));
            }
        }
        let is_used = |name: &String| {
            let mut others = records.all.iter();
            others.any(|receipt| receipt.own_server.as_ref() == Some(name))
        };
        servers.retain(|name| !is_used(name));
        Ok(Self {
            records,
            files,
            servers,
            kept,
        })
    }

    /// Keeps the person's own plugin as it is, also the servers that no client has any more.
    #[must_use]
    pub fn keeping_servers(mut self) -> Self {
        self.servers.clear();
        self
    }

    /// Says whether no file would change.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files, as they would be.
    pub fn files(&self) -> impl Iterator<Item = &ClientFile> {
        self.files.iter().map(|(file, _)| file)
    }

    /// Returns the servers of the person's own plugin that no client would have afterwards.
    #[must_use]
    pub fn servers(&self) -> &[String] {
        &self.servers
    }

    /// Returns why entries stay.
    #[must_use]
    pub fn kept(&self) -> &[InstallError] {
        &self.kept
    }

    /// Writes the record alone, without the entries that are not there any more.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if it cannot be written.
    pub fn forget(&mut self) -> Result<(), InstallError> {
        self.records.save()
    }

    /// Writes the files, then the record, then the person's own plugin in `own`, which nothing uses by
    /// now. Returns the files.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`]; files before the one that failed stay written.
    pub fn write(&mut self, own: &Path) -> Result<Vec<PathBuf>, InstallError> {
        let mut restored = Vec::new();
        for (file, is_new) in &self.files {
            self.records.back_up(file)?;
            file.write(*is_new)?;
            restored.push(file.path().to_path_buf());
        }
        self.records.save()?;
        Home::open(own)?.remove_all(&self.servers)?;
        Ok(restored)
    }
}
