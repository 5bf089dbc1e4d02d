//! `keyway audit`: what happened to the sign-ins in a database, and what was called.

mod moment;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use keyway_code::Exit;
use keyway_database::ExportedRows;

use self::moment::parse_moment;
use crate::arguments::connect::open_database;
use crate::context::CommandContext;
use crate::error::CliError;

/// Verify or export the audit of the database that keeps sign-ins
///
/// It says who signed in and out, which tokens were renewed or rejected and why, and which tools were
/// called, by which gateway and with what outcome. It holds no tokens, arguments or results.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway audit export --since 2026-11-01 > audit.jsonl")]
pub(crate) struct Audit {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Look for rows that are missing or were changed
    ///
    /// Rows are chained by hash, and the end of each chain is recorded. If the newest rows were removed
    /// together with that record, only an earlier export can tell: name it with `--export`.
    #[command(after_help = "\
Examples:
  keyway audit verify --export audit.jsonl")]
    Verify {
        /// Also look for rows of this earlier export that are missing or differ
        #[arg(long, value_name = "FILE")]
        export: Option<PathBuf>,
    },
    /// Print rows as JSON Lines, in the order of time
    #[command(after_help = "\
Examples:
  keyway audit export --since 2026-11-18T09:30:00Z")]
    Export {
        /// Leave out what happened before this date or moment, in UTC
        #[arg(long, value_name = "TIME", value_parser = parse_moment)]
        since: Option<i64>,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Audit, context: &CommandContext) -> Result<Exit, CliError> {
    let what = "there is no audit without a database: set `address` in `[vault]` of config.toml";
    let database = open_database(context, None)?.ok_or(CliError::Usage { what })?;
    let earlier = match &arguments.action {
        Action::Export { since } => {
            database.export_audit(*since, |lines| context.print(lines, Exit::Done))?;
            return Ok(Exit::Done);
        }
        Action::Verify { export } => ExportedRows::open(export.as_deref()).map_err(|source| {
            let path = export.clone().unwrap_or_default();
            CliError::Arguments { path, source }
        })?,
    };
    let report = database.verify_audit(earlier)?;
    let is_whole = report.faults.is_empty();
    let exit = if is_whole { Exit::Done } else { Exit::Failed };
    context.print(&report.text(), exit)?;
    Ok(exit)
}
