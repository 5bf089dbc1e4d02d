//! Taking back what was written into clients' files, after it was shown.

use keyway_clients::install::{Receipt, Restoration};
use keyway_code::Exit;
use keyway_secret::printable;

use super::super::client_files::{data_folder, diff};
use super::super::confirmation::{Consent, lines};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::error::CliError;

/// Undoes the changes that `is_meant`, after showing them.
pub(crate) fn run(
    context: &CommandContext,
    consent: &Consent,
    is_meant: impl Fn(&Receipt) -> bool,
) -> Result<Exit, CliError> {
    let mut restoration = plan(context, is_meant)?;
    if restoration.is_empty() {
        restoration.forget()?;
        context.print_aside("no Keyway entries in any client\n");
        return Ok(Exit::Done);
    }
    if !consent.agreed(context, &shown(&restoration))? {
        return Ok(consent.refused());
    }
    let restored = restoration.write(&own_plugin::folder()?)?;
    context.print(&lines("restored", &restored), Exit::Done)?;
    Ok(Exit::Done)
}

/// Works out what the files would be, and says which entries stay.
pub(crate) fn plan(
    context: &CommandContext,
    is_meant: impl Fn(&Receipt) -> bool,
) -> Result<Restoration, CliError> {
    let restoration = Restoration::plan(&data_folder()?, is_meant)?;
    for error in restoration.kept() {
        context.print_aside(&format!("note: {error}; keeping it\n"));
    }
    Ok(restoration)
}

/// Shows what would change.
pub(crate) fn shown(restoration: &Restoration) -> String {
    let mut text: String = restoration.files().map(|file| diff(file, &[])).collect();
    for server in restoration.servers() {
        text.push_str(&format!("own plugin: `{}` is removed\n", printable(server)));
    }
    text
}
