//! Asking before files are written, and saying what was.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use keyway_code::Exit;
use keyway_secret::printable;

use crate::context::CommandContext;
use crate::error::CliError;

/// Whether to ask.
#[derive(Debug, Args)]
pub(super) struct Consent {
    /// Do not ask for confirmation
    #[arg(long, short, conflicts_with = "dry_run")]
    pub(super) yes: bool,
    /// Show the changes without writing them
    #[arg(long)]
    dry_run: bool,
}

impl Consent {
    /// Shows the changes and asks; `false` if nothing may be written.
    pub(super) fn agreed(&self, context: &CommandContext, shown: &str) -> Result<bool, CliError> {
        if self.dry_run {
            context.print(shown, Exit::Done)?;
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        context.print_aside(shown);
        if !io::stdin().is_terminal() {
            let what = "standard input is not a terminal; use `--yes` to write without asking";
            return Err(CliError::Usage { what });
        }
        let is_agreed = ask(context, "Write this?");
        if !is_agreed {
            context.print_aside("nothing was changed\n");
        }
        Ok(is_agreed)
    }

    /// Returns how a command ends that wrote nothing.
    pub(super) const fn refused(&self) -> Exit {
        if self.dry_run {
            Exit::Done
        } else {
            Exit::Failed
        }
    }
}

/// Asks a question that is answered by yes or no.
pub(super) fn ask(context: &CommandContext, question: &str) -> bool {
    context.print_aside(&format!("{question} [y/N] "));
    matches!(read_line().as_str(), "y" | "yes")
}

/// Reads a line of the answer to a question.
pub(super) fn read_line() -> String {
    let _lost = io::stderr().flush();
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(_) => line.trim().to_ascii_lowercase(),
        Err(_) => String::new(),
    }
}

/// Names files, one on each line.
pub(super) fn lines(verb: &str, files: &[PathBuf]) -> String {
    let lines = files
        .iter()
        .map(|file| format!("{verb} {}\n", printable(&file.to_string_lossy())));
    lines.collect()
}
