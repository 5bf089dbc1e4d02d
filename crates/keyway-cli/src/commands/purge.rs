//! `keyway purge`: everything of Keyway's goes, after it was shown.

use std::path::PathBuf;

use clap::Args;
use keyway::host::known_vaults;
use keyway_code::Exit;

use super::adopt::undo;
use super::confirmation::{Consent, lines};
use super::service;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::vault::folders;
use crate::waiting::waiting_for;

/// Sign out and remove everything that Keyway stores
///
/// Restores the files of MCP clients, removes the service, signs out of every server of every
/// plugin, and deletes vault, key, settings and records.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway purge --dry-run
  keyway purge")]
pub(crate) struct Purge {
    #[command(flatten)]
    consent: Consent,
}

/// Runs the command.
pub(crate) fn run(arguments: &Purge, context: &CommandContext) -> Result<Exit, CliError> {
    let folders = folders()?;
    let mut undone = undo::plan(context, |_| true)?;
    let mut paths: Vec<PathBuf> = [&folders.data, &folders.config, &folders.runtime]
        .map(Clone::clone)
        .into();
    paths.retain(|path| path.exists());
    let units = service::installed()?;
    let mut shown = undo::shown(&undone);
    shown.push_str(&lines("removes", &units));
    shown.push_str(&lines("removes", &paths));
    if shown.is_empty() {
        context.print_aside("Keyway keeps nothing here\n");
        return Ok(Exit::Done);
    }
    if !arguments.consent.agreed(context, &shown)? {
        return Ok(arguments.consent.refused());
    }
    sign_out(context)?;
    let mut removed = Vec::new();
    if !undone.is_empty() {
        removed.extend(undone.write(&own_plugin::folder()?)?);
    }
    context.print(&lines("restored", &removed), Exit::Done)?;
    service::remove(context, &units)?;
    if let Some(known) = known_vaults() {
        known.forget(&folders);
    }
    for path in &paths {
        if !path.exists() {
            continue;
        }
        std::fs::remove_dir_all(path).map_err(|source| CliError::Generate {
            path: path.clone(),
            source,
        })?;
    }
    context.print(&lines("removed", &paths), Exit::Done)?;
    Ok(Exit::Done)
}

/// Signs out where the issuer should know; the rest ends with the vault.
fn sign_out(context: &CommandContext) -> Result<(), CliError> {
    super::block_on(async {
        let host = ConnectArgs::default().host(context, SignInPolicy::NEVER)?;
        let what = "signing out".to_owned();
        for error in waiting_for(context, what, None, host.sign_out_everywhere()).await? {
            context.print_aside(&format!("note: {error}\n"));
        }
        Ok(())
    })
}
