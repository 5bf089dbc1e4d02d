//! `keyway vault migrate` and `keyway vault rekey --database`: sign-ins that a database keeps.

use clap::{Args, ValueEnum};
use keyway_code::Exit;
use keyway_database::{MigrationOutcome, MigrationReport};
use keyway_secret::printable;
use serde::Serialize;

use super::{Format, Output, existing};
use crate::arguments::connect::open_database;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::to_text;
use crate::vault::open_vault;

/// From where to where.
#[derive(Debug, Args)]
pub(super) struct MigrateArgs {
    /// What to move
    #[arg(long, value_enum, value_name = "WHAT")]
    from: Source,
    /// Address of the database, without a password
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    /// Whose sign-ins they become, by issuer and subject; those of the tenant without it
    #[arg(long, num_args = 2, value_names = ["ISSUER", "SUBJECT"])]
    person: Option<Vec<String>>,
    /// Give them to the tenant although the gateway lets people in, who do not get them
    #[arg(long, conflicts_with = "person")]
    for_all: bool,
    #[command(flatten)]
    output: Output,
}

/// Where sign-ins come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Source {
    /// The vault of this machine
    File,
}

/// Moves the sign-ins of the vault into a database.
pub(super) fn migrate(arguments: &MigrateArgs, context: &CommandContext) -> Result<Exit, CliError> {
    let Source::File = arguments.from;
    existing()?;
    let has_people = context.settings()?.gateway.people.is_some();
    if has_people && arguments.person.is_none() && !arguments.for_all {
        return Err(NO_PERSON_NAMED);
    }
    // First: with a database that cannot be used nothing leaves the vault.
    let database = open_database(context, Some(&arguments.to))?.ok_or(NO_DATABASE)?;
    let person = match arguments.person.as_deref() {
        Some([issuer, subject]) => Some((issuer.as_str(), subject.as_str())),
        _ => None,
    };
    context.print_aside(&match person {
        Some((issuer, subject)) => format!(
            "note: the sign-ins of this vault become those of {} at {}\n",
            printable(subject),
            printable(issuer)
        ),
        None => {
            "note: the sign-ins of this vault become those of the tenant: clients with a gateway \
                 token use them, and people do not\n"
                .to_owned()
        }
    });
    let report = database.migrate(&open_vault()?, &arguments.to, person)?;
    let exit = if report.is_complete() {
        Exit::Done
    } else {
        Exit::Failed
    };
    let text = match arguments.output.format {
        Format::Human => lines(&report),
        Format::Json => to_text(&report.json()),
    };
    context.print(&text, exit)?;
    Ok(exit)
}

/// Changes the wrapping key of the database.
pub(super) fn rekey(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let database = open_database(context, None)?.ok_or(NO_DATABASE)?;
    let people = database.rekey()?;
    let text = match format {
        Format::Human if people == 0 => {
            "nothing was changed: the key in `[vault.key]` wraps everything in the database\n"
                .to_owned()
        }
        Format::Human => format!("keys wrapped with the new key: {people}\n"),
        Format::Json => to_text(&Rekeyed {
            schema_version: 1,
            people,
        }),
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Rekeyed {
    schema_version: u32,
    people: u64,
}

const NO_DATABASE: CliError = CliError::Usage {
    what: "there is no database: set `address` in `[vault]` of config.toml",
};

const NO_PERSON_NAMED: CliError = CliError::Usage {
    what: "config.toml lets people in, and none of them would get these sign-ins: name whose they are \
           with `--person ISSUER SUBJECT`, or let them become those of the tenant with `--for-all`",
};

/// Writes a line for each sign-in, and how many there were.
fn lines(report: &MigrationReport) -> String {
    let mut text = String::new();
    for it in &report.sign_ins {
        let outcome = match it.outcome {
            MigrationOutcome::Moved => "moved",
            MigrationOutcome::MovedBefore => "moved before",
            MigrationOutcome::Conflict => "not moved",
            _ => "stays",
        };
        let account = match it.account.as_str() {
            "" => String::new(),
            account => format!(" ({})", printable(account)),
        };
        let name = format!("{}:{}", it.plugin, it.server);
        let name = printable(&name);
        let reason = it.reason.as_ref().map(|reason| format!(": {reason}"));
        text.push_str(&format!(
            "{name}{account}  {outcome}{}\n",
            reason.unwrap_or_default()
        ));
    }
    let count = |outcome| {
        report
            .sign_ins
            .iter()
            .filter(|it| it.outcome == outcome)
            .count()
    };
    let moved = count(MigrationOutcome::Moved);
    let before = count(MigrationOutcome::MovedBefore);
    let left = report
        .sign_ins
        .len()
        .saturating_sub(moved)
        .saturating_sub(before);
    text.push_str(&format!(
        "sign-ins moved: {moved}, moved before: {before}, still in the vault: {left}\n"
    ));
    text
}
