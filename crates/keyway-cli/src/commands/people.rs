//! `keyway people`: the people whose sign-ins a database keeps.

use std::io::{self, IsTerminal as _};

use clap::{Args, Subcommand};
use keyway_code::Exit;
use keyway_secret::printable;

use super::confirmation::ask;
use crate::arguments::connect::open_database;
use crate::context::CommandContext;
use crate::error::CliError;

/// Manage the people whose sign-ins are in the database
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway people forget https://idp.example 00u1ab2c")]
pub(crate) struct People {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Sign a person out of everything and destroy the key of their data, at every gateway
    ///
    /// Their sign-ins, registrations and cached lists are deleted, and no backup of the database opens
    /// them again without its own copy of the key. The rows of the audit stay. Tokens are not revoked
    /// at their servers. Asks on a terminal.
    #[command(after_help = "\
Examples:
  keyway people forget https://idp.example 00u1ab2c
  keyway people forget https://idp.example 00u1ab2c --yes")]
    Forget {
        /// Issuer that the person signs in to the gateway with
        issuer: String,
        /// The person's `sub` at that issuer
        subject: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &People, context: &CommandContext) -> Result<Exit, CliError> {
    let Action::Forget {
        issuer,
        subject,
        yes,
    } = &arguments.action;
    let what = "there are no people without a database: set `address` in `[vault]` of config.toml";
    let database = open_database(context, None)?.ok_or(CliError::Usage { what })?;
    let [issuer_shown, subject_shown] = [issuer, subject].map(|text| printable(text));
    let question = format!("Delete all sign-ins of `{subject_shown}` at `{issuer_shown}`?");
    if !yes && !io::stdin().is_terminal() {
        let what = "standard input is not a terminal; use `--yes` to delete without asking";
        return Err(CliError::Usage { what });
    }
    if !yes && !ask(context, &question) {
        return Err(keyway::Error::Cancelled.into());
    }
    if !database.forget_person(issuer, subject)? {
        context.print_aside(&format!(
            "nothing is stored for `{subject_shown}` at `{issuer_shown}`: compare both with the names \
             in the audit\n"
        ));
        return Ok(Exit::Failed);
    }
    context.print_aside(&format!(
        "deleted all sign-ins, variables and approvals of `{subject_shown}` at `{issuer_shown}`; files \
         that programs wrote for this person stay below `people` in the data folder of each gateway\n"
    ));
    Ok(Exit::Done)
}
