//! A client's file with the entries that a run adds to it, and the record of all of them.

use std::path::PathBuf;

use keyway::load;
use keyway_clients::clients::{Client, Homes};
use keyway_clients::install::{ClientFile, OwnEntry, Receipt, Receipts};

use super::{NO_HOME, Target};
use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// A client's file and what is to be remembered of the changes to it.
#[derive(Debug)]
pub(crate) struct Work {
    /// The file.
    pub(crate) file: ClientFile,
    /// What earlier runs wrote.
    pub(crate) records: Receipts,
    /// What this run adds.
    pub(super) receipts: Vec<Receipt>,
}

impl Work {
    /// Reads the client's file and the record.
    pub(crate) fn open(target: &Target) -> Result<Self, CliError> {
        let client = Client::by_name(&target.client).ok_or(CliError::Usage {
            what: "no such client",
        })?;
        let file = ClientFile::read(client, path(client, target.project)?)?;
        let data = ProcessEnvironment::data_folder().ok_or(CliError::Usage { what: NO_HOME })?;
        Ok(Self {
            file,
            records: Receipts::open(&data)?,
            receipts: Vec::new(),
        })
    }

    /// Adds an entry for a server, unless it is there.
    pub(super) fn put(
        &mut self,
        (server, entry): (&str, &OwnEntry),
        replace: bool,
    ) -> Result<(), CliError> {
        let name = entry_name(server);
        let entries = self.file.entries()?;
        let mut is_new_file = false;
        if let Some(there) = entries.iter().find(|entry| entry.name == name) {
            if there.is(entry) {
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
                return Err(CliError::OtherPluginsName { name, client });
            } else if !replace {
                let client = self.file.client().title;
                return Err(CliError::NameTaken { name, client });
            }
        }
        self.put_in_place(&name, entry)?;
        if let Some(last) = self.receipts.last_mut() {
            last.is_new_file |= is_new_file;
        }
        Ok(())
    }

    /// Replaces an entry that the person wants replaced.
    pub(super) fn put_in_place(&mut self, name: &str, entry: &OwnEntry) -> Result<(), CliError> {
        let patch = self.file.put(name, entry)?;
        let receipt = Receipt::new(&self.file, (name, entry), &patch);
        self.receipts.push(receipt);
        Ok(())
    }

    /// Undoes an older entry of ours, so that the new one remembers what was there before both.
    /// Says whether the older one had made the file.
    fn forget(&mut self, name: &str) -> Result<bool, CliError> {
        let file = self.file.path().to_path_buf();
        let is_it = |receipt: &Receipt| receipt.file == file && receipt.name == name;
        let Some(at) = self.records.all.iter().rposition(is_it) else {
            return Ok(false);
        };
        let receipt = self.records.all.remove(at);
        self.file.undo(&receipt)?;
        Ok(receipt.is_new_file)
    }

    /// Writes the file, after what is needed to undo it.
    pub(super) fn write(&mut self) -> Result<Vec<PathBuf>, CliError> {
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
pub(crate) fn entry_name(server: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    server
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}

fn path(client: &Client, is_project: bool) -> Result<PathBuf, CliError> {
    if is_project {
        let below = client.project.ok_or(CliError::Usage {
            what: "this client has no file for a project",
        })?;
        let here = ProcessEnvironment::current_folder();
        return Ok(load::repository_of(&here).unwrap_or(here).join(below));
    }
    user_file(client)
}

/// Returns where a client keeps the person's own servers.
pub(in crate::commands) fn user_file(client: &Client) -> Result<PathBuf, CliError> {
    let home = ProcessEnvironment::home().ok_or(CliError::Usage { what: NO_HOME })?;
    let config = ProcessEnvironment::config_home().unwrap_or_else(|| home.join(".config"));
    Ok((client.user)(&Homes {
        home,
        config,
        variables: &ProcessEnvironment,
    }))
}

/// Returns the plugin that an entry of ours is about.
fn plugin_of(entry: &OwnEntry) -> Option<&str> {
    let OwnEntry::Run(command) = entry else {
        return None;
    };
    let at = command.args.iter().position(|arg| arg == "--config")?;
    Some(command.args.get(at + 1)?)
}
