//! `keyway vault key`, `move` and `import`: a sign-in for another vault, and from one.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use keyway::vault::{MovedGrant, SealedGrant, TransferFault, TransferKey, VaultError};
use keyway::{Approved, Error, Plan};
use keyway_code::Exit;
use keyway_secret::printable;

use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::server::ServerArg;
use crate::commands::block_on;
use crate::commands::confirmation::ask;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::vault::open_vault;

#[derive(Debug, Args)]
pub(super) struct MoveArgs {
    #[command(flatten)]
    server: ServerArg,
    /// Public key of the vault that gets the sign-in: what `keyway vault key` prints there
    #[arg(long, value_name = "KEY")]
    to: String,
    #[command(flatten)]
    reach: ConnectArgs,
}

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    server: ServerArg,
    /// File that `keyway vault move` wrote [default: standard input]
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Prints the public key of this vault.
pub(super) fn key(context: &CommandContext) -> Result<Exit, CliError> {
    let key = open_vault()?.transfer_key()?;
    context.print(&format!("{key}\n"), Exit::Done)?;
    context.print_aside(&format!("fingerprint {}\n", key.fingerprint()));
    Ok(Exit::Done)
}

/// Seals a sign-in for another vault, after a yes on a terminal.
pub(super) fn move_out(arguments: &MoveArgs, context: &CommandContext) -> Result<Exit, CliError> {
    let to = parse_key(&arguments.to)?;
    block_on(async {
        let host = arguments.reach.host(context, SignInPolicy::NEVER)?;
        let approved = arguments
            .server
            .approved(context, &host, &arguments.reach)
            .await?;
        if let Some(sealed) = written_before(&approved, &to)? {
            return print_sealed(context, &sealed);
        }
        if !confirm(context, &approved, &to)? {
            return Ok(Exit::Done);
        }
        let moved = approved.move_sign_in(&to)?;
        print_moved(context, approved.server(), moved)
    })
}

/// Stores a sign-in that another vault sealed for this one.
pub(super) fn import(arguments: &ImportArgs, context: &CommandContext) -> Result<Exit, CliError> {
    let sealed = read(arguments.from.as_deref())?;
    block_on(async {
        let host = arguments.reach.host(context, SignInPolicy::NEVER)?;
        let approved = arguments
            .server
            .approved(context, &host, &arguments.reach)
            .await?;
        approved.import_sign_in(&sealed)?;
        let server = printable(approved.server());
        context.print_aside(&format!("imported the sign-in to `{server}`\n"));
        Ok(Exit::Done)
    })
}

pub(crate) fn parse_key(text: &str) -> Result<TransferKey, CliError> {
    text.parse().map_err(refused)
}

/// Asks whether the sign-in may go to the holder of a key; a program cannot answer.
pub(crate) fn confirm(
    context: &CommandContext,
    approved: &Approved<Plan>,
    to: &TransferKey,
) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::Usage {
            what: "a sign-in is handed to another vault only after a yes on a terminal",
        });
    }
    let server = printable(approved.server());
    let fingerprint = to.fingerprint();
    context.print_aside(&format!(
        "The sign-in to `{server}` goes to the vault with the key\n  {fingerprint}\n\
         Compare this with what `keyway vault key` shows there.\n"
    ));
    Ok(ask(context, "Hand it over?"))
}

/// Prints what was sealed, and says where it goes.
pub(crate) fn print_moved(
    context: &CommandContext,
    server: &str,
    moved: Option<MovedGrant>,
) -> Result<Exit, CliError> {
    let Some(moved) = moved else {
        return Err(CliError::Absent {
            what: "sign-in",
            list: "keyway status",
        });
    };
    let server = printable(server);
    let fingerprint = &moved.fingerprint;
    context.print_aside(&format!(
        "the sign-in to `{server}` left this vault for {fingerprint}; import it there within an \
         hour: keyway vault import {server}\n"
    ));
    match &moved.sealed {
        Some(sealed) => print_sealed(context, sealed),
        None => Ok(Exit::Done),
    }
}

fn print_sealed(context: &CommandContext, sealed: &SealedGrant) -> Result<Exit, CliError> {
    context.print(&format!("{sealed}\n"), Exit::Done)?;
    Ok(Exit::Done)
}

/// Returns what an earlier call sealed for the same key, in case its output was lost.
fn written_before(
    approved: &Approved<Plan>,
    to: &TransferKey,
) -> Result<Option<SealedGrant>, Error> {
    let moved = approved.moved_sign_in()?;
    let moved = moved.filter(|moved| moved.fingerprint == to.fingerprint());
    Ok(moved.and_then(|moved| moved.sealed))
}

fn read(from: Option<&Path>) -> Result<SealedGrant, CliError> {
    let mut text = String::new();
    let read = match from {
        Some(path) => std::fs::File::open(path)
            .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)),
        None => io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text),
    };
    let path = || from.unwrap_or(Path::new("-")).to_owned();
    read.map_err(|source| CliError::Arguments {
        path: path(),
        source,
    })?;
    text.parse().map_err(refused)
}

fn refused(fault: TransferFault) -> CliError {
    CliError::from(VaultError::from(fault))
}

const MAX_BYTES: u64 = 8 << 20;
