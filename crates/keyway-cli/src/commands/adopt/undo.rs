//! Taking back what was written into clients' files, all of it or some.

use std::collections::BTreeMap;
use std::path::PathBuf;

use keyway_clients::clients::Client;
use keyway_clients::install::{ClientFile, Home, InstallError, Receipt, Receipts};
use keyway_code::Exit;
use keyway_secret::printable;

use super::super::install::{Consent, NO_HOME, diff, lines};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// Undoes the changes that `is_meant`, after showing them.
pub(crate) fn run(
    context: &CommandContext,
    consent: &Consent,
    is_meant: impl Fn(&Receipt) -> bool,
) -> Result<Exit, CliError> {
    let mut undone = Undone::plan(context, is_meant)?;
    if undone.files.is_empty() {
        undone.records.save()?;
        context.print_aside("no Keyway entries in any client\n");
        return Ok(Exit::Done);
    }
    if !consent.agreed(context, &undone.diff())? {
        return Ok(consent.refused());
    }
    let restored = undone.write()?;
    context.print(&lines("restored", &restored), Exit::Done)?;
    Ok(Exit::Done)
}

/// Changes that are to be taken back.
pub(crate) struct Undone {
    records: Receipts,
    files: Vec<(ClientFile, bool)>,
    servers: Vec<String>,
}

impl Undone {
    /// Works out what the files would be. An entry that was changed since stays, with a note.
    pub(crate) fn plan(
        context: &CommandContext,
        is_meant: impl Fn(&Receipt) -> bool,
    ) -> Result<Self, CliError> {
        let data = ProcessEnvironment::data_folder().ok_or(CliError::Usage { what: NO_HOME })?;
        let mut records = Receipts::open(&data)?;
        let all = std::mem::take(&mut records.all);
        let (meant, kept): (Vec<Receipt>, Vec<Receipt>) = all.into_iter().partition(&is_meant);
        records.all = kept;
        let mut by_file: BTreeMap<PathBuf, Vec<Receipt>> = BTreeMap::new();
        let mut servers: Vec<String> = Vec::new();
        for receipt in meant {
            servers.extend(receipt.own_server.clone());
            let of_file = by_file.entry(receipt.file.clone()).or_default();
            of_file.push(receipt);
        }
        let mut files = Vec::new();
        for (path, receipts) in by_file {
            let client = receipts.first().and_then(|it| Client::by_name(&it.client));
            let Some(client) = client else { continue };
            let mut file = ClientFile::read(client, path)?;
            // The last first: each then finds the text as it left it.
            for receipt in receipts.iter().rev() {
                match file.undo(receipt) {
                    Ok(_) => {}
                    Err(error @ InstallError::Changed { .. }) => {
                        context.print_aside(&format!("note: {error}; keeping it\n"));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            let is_new = receipts.iter().any(|receipt| receipt.is_new_file);
            if file.is_changed() {
                files.push((file, is_new));
            }
        }
        let is_used = |name: &String| {
            let mut kept = records.all.iter();
            kept.any(|receipt| receipt.own_server.as_ref() == Some(name))
        };
        servers.retain(|name| !is_used(name));
        Ok(Self {
            records,
            files,
            servers,
        })
    }

    /// Says whether there is nothing to take back.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Shows what would change.
    pub(crate) fn diff(&self) -> String {
        let mut text: String = self.files.iter().map(|(file, _)| diff(file, &[])).collect();
        for server in &self.servers {
            text.push_str(&format!("own plugin: `{}` is removed\n", printable(server)));
        }
        text
    }

    /// Writes the files, then the record, then the own plugin, which nothing uses by now.
    pub(crate) fn write(&mut self) -> Result<Vec<PathBuf>, CliError> {
        let mut restored = Vec::new();
        for (file, is_new) in &self.files {
            self.records.back_up(file)?;
            file.write(*is_new)?;
            restored.push(file.path().to_path_buf());
        }
        self.records.save()?;
        let mut home = Home::open(&own_plugin::folder()?)?;
        let mut is_changed = false;
        for server in &self.servers {
            is_changed |= home.remove(server)?;
        }
        if is_changed {
            home.write()?;
        }
        Ok(restored)
    }
}
