//! `keyway uninstall`: takes out of a client's file exactly what `keyway install` put there.

use clap::Args;
use keyway_clients::install::Receipt;

use super::install::{Consent, Target, Work, diff, lines};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;

/// Take out of the file of an MCP client what `install` wrote, and nothing else
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    target: Target,
    /// Only the entry of this name
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the command.
pub(crate) fn run(arguments: &Uninstall, context: &CommandContext) -> Result<Exit, CliError> {
    let mut work = Work::open(&arguments.target)?;
    let path = work.file.path().to_path_buf();
    let is_meant = |receipt: &Receipt| {
        let wanted = arguments.server.as_ref();
        receipt.file == path && wanted.is_none_or(|wanted| *wanted == receipt.name)
    };
    let all = std::mem::take(&mut work.records.all);
    let (meant, kept): (Vec<Receipt>, Vec<Receipt>) = all.into_iter().partition(is_meant);
    if meant.is_empty() {
        context.print_aside("nothing of ours is there\n");
        return Ok(Exit::Done);
    }
    // The last first: each then finds the text as it left it.
    for receipt in meant.iter().rev() {
        work.file.undo(receipt)?;
    }
    let is_ours = meant.iter().any(|receipt| receipt.is_new_file);
    work.records.all = kept;
    if !work.file.is_changed() {
        work.records.save()?;
        context.print_aside("nothing of ours is there\n");
        return Ok(Exit::Done);
    }
    if !arguments.consent.agreed(context, &diff(&work.file, &[]))? {
        return Ok(arguments.consent.refused());
    }
    work.records.back_up(&work.file)?;
    work.file.write(is_ours)?;
    work.records.save()?;
    context.print(&lines("restored", &[path]), Exit::Done)?;
    Ok(Exit::Done)
}
