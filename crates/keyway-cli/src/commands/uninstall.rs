//! `keyway uninstall`: takes out of a client's file exactly what `keyway install` put there.

use std::path::Path;

use clap::Args;
use keyway_clients::install::{ClientFile, Receipt, Receipts};
use keyway_code::Exit;
use keyway_secret::printable;

use super::adopt::undo;
use super::client_files::{Target, data_folder, diff};
use super::confirmation::{Consent, lines};
use crate::context::CommandContext;
use crate::error::CliError;

/// Remove the entries that `keyway install` wrote
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway uninstall claude-code
  keyway uninstall codex docs --dry-run
  keyway uninstall --all")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    target: Option<Target>,
    /// Remove Keyway's entries from every client
    #[arg(long, conflicts_with_all = ["client", "project", "servers"])]
    all: bool,
    /// Entries to remove [default: all that `keyway install` wrote]
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Same as SERVER
    #[arg(long = "server", value_name = "SERVER", hide = true)]
    named: Vec<String>,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the command.
pub(crate) fn run(arguments: &Uninstall, context: &CommandContext) -> Result<Exit, CliError> {
    if arguments.all {
        return undo::run(context, &arguments.consent, |_| true);
    }
    let target = arguments.target.as_ref().ok_or(CliError::Usage {
        what: "name a client, or use `--all`",
    })?;
    let (client, path) = target.file()?;
    let mut file = ClientFile::read(client, path.clone())?;
    let mut records = Receipts::open(&data_folder()?)?;
    let wanted: Vec<&String> = arguments.servers.iter().chain(&arguments.named).collect();
    let is_meant = |receipt: &Receipt| {
        receipt.file == path && (wanted.is_empty() || wanted.contains(&&receipt.name))
    };
    let all = std::mem::take(&mut records.all);
    let (meant, kept): (Vec<Receipt>, Vec<Receipt>) = all.into_iter().partition(is_meant);
    if meant.is_empty() {
        context.print_aside(&nothing(&path));
        return Ok(Exit::Done);
    }
    // The last first: each then finds the text as it left it.
    for receipt in meant.iter().rev() {
        file.undo(receipt)?;
    }
    let is_ours = meant.iter().any(|receipt| receipt.is_new_file);
    records.all = kept;
    if !file.is_changed() {
        records.save()?;
        context.print_aside(&nothing(&path));
        return Ok(Exit::Done);
    }
    if !arguments.consent.agreed(context, &diff(&file, &[]))? {
        return Ok(arguments.consent.refused());
    }
    records.back_up(&file)?;
    file.write(is_ours)?;
    records.save()?;
    context.print(&lines("restored", &[path]), Exit::Done)?;
    Ok(Exit::Done)
}

fn nothing(file: &Path) -> String {
    format!(
        "no Keyway entries in {}\n",
        printable(&file.to_string_lossy())
    )
}
