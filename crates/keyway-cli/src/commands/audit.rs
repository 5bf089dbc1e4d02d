//! `keyway audit`: what happened to the sign-ins in a database, and what was called.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use keyway_code::Exit;
use keyway_gateway::database::{Database, ExportedRows};

use crate::arguments::connect::open_database;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;

/// Verify or export the audit of the database that keeps sign-ins
///
/// It says who signed in and out, which tokens were renewed or rejected and why, and which tools were
/// called, by which gateway and with what outcome. It holds no tokens, arguments or results.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway audit verify
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
  keyway audit verify
  keyway audit verify --export audit.jsonl")]
    Verify {
        /// Also look for rows of this earlier export that are missing or differ
        #[arg(long, value_name = "FILE")]
        export: Option<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
    /// Print rows as JSON Lines, in the order of time
    #[command(after_help = "\
Examples:
  keyway audit export > audit.jsonl
  keyway audit export --since 2026-11-18T09:30:00Z")]
    Export {
        /// Leave out what happened before this date or moment, in UTC
        #[arg(long, value_name = "TIME", value_parser = moment)]
        since: Option<i64>,
        #[command(flatten)]
        place: Place,
    },
}

/// Where the audit is.
#[derive(Debug, Args)]
struct Place {
    /// The PostgreSQL database [default: config.toml]
    #[arg(long, value_name = "ADDRESS")]
    vault: Option<String>,
}

impl Place {
    fn open(&self, context: &CommandContext) -> Result<Database, CliError> {
        let opened = open_database(context, self.vault.as_deref())?;
        opened.ok_or(CliError::Usage {
            what: "there is no audit without a database: use `--vault`, or set `address` in \
                   `[vault]` of config.toml",
        })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Audit, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Verify { export, place } => {
            verify(&place.open(context)?, export.as_deref(), context)
        }
        Action::Export { since, place } => export(&place.open(context)?, *since, context),
    }
}

fn export(
    database: &Database,
    since: Option<i64>,
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let mut text = String::new();
    database.export_audit(since, |line| {
        text.push_str(line);
        if text.len() >= WRITTEN_AT_ONCE {
            context.print(&text, Exit::Done)?;
            text.clear();
        }
        Ok::<_, CliError>(())
    })?;
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

fn verify(
    database: &Database,
    export: Option<&Path>,
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let earlier = match export {
        Some(path) => read(path)?,
        None => ExportedRows::default(),
    };
    let report = database.verify_audit(earlier)?;
    let mut text = String::new();
    for fault in report.faults.iter().take(MOST_FAULTS) {
        text.push_str(&format!("error: {fault}\n"));
    }
    let more = report.faults.len().saturating_sub(MOST_FAULTS);
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
    context.print_aside(&text);
    if !report.faults.is_empty() {
        return Ok(Exit::Failed);
    }
    if context.verbosity != Verbosity::Quiet {
        let rows = if report.rows == 1 { "row" } else { "rows" };
        let text = format!("{} {rows}, none missing or changed\n", report.rows);
        context.print(&text, Exit::Done)?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<ExportedRows, CliError> {
    let read = File::open(path).and_then(|file| ExportedRows::read(BufReader::new(file)));
    read.map_err(|source| CliError::Arguments {
        path: path.to_owned(),
        source,
    })
}

/// Reads a date, or a date and a time of day in UTC, as RFC 3339 writes them; returns seconds since
/// 1970.
fn moment(text: &str) -> Result<i64, String> {
    let wrong = || "use YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ".to_owned();
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, time.strip_suffix('Z').ok_or_else(wrong)?),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2]).ok_or_else(wrong)?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2]).ok_or_else(wrong)?;
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return Err(wrong()),
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return Err(wrong());
    }
    // Years from March on, so that the day of a leap year is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let since_march = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + leaps + since_march - 719_468;
    Ok(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Reads three numbers of so many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split(between);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| is_number)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// There may be millions of short lines.
const WRITTEN_AT_ONCE: usize = 64 * 1024;
/// How many faults are printed.
const MOST_FAULTS: usize = 20;

#[cfg(test)]
mod tests {
    use keyway::events::rfc3339;

    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written_and_nothing_else_is() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2024-02-29T23:59:59Z",
            "2026-11-18T09:30:01Z",
            "2000-03-01T00:00:00Z",
        ] {
            assert_eq!(rfc3339(moment(text).unwrap()), text);
        }
        assert_eq!(moment("2026-11-18"), moment("2026-11-18T00:00:00Z"));
        for text in [
            "",
            "yesterday",
            "2026-11-31",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "2026-11-18T24:00:00Z",
            "2026-11-18T09:30:00",
            "2026-11-18T09:30:00+01:00",
            "+026-11-18",
            "2026-11-18-1",
        ] {
            assert!(moment(text).is_err(), "{text}");
        }
    }
}
