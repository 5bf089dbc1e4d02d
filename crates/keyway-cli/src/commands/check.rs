//! `keyway check`: runs every rule over files, plugins and whole repositories, repairs what can be
//! repaired, and reports the rest.
//!
//! Nothing is run and nothing is sent. Variables are looked at only with `--env`.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use keyway::error::LoadError;
use keyway::load::Loader;
use keyway_check::{self as check, CheckOptions, Checked, FixPolicy, FixedFile, Input, Look};
use keyway_code::Exit;
use keyway_config::edit::Applicability;

use crate::arguments::connect::variables_host;
use crate::arguments::selection::{STDIN, Selection, is_stdin};
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::{Verbosity, counted};

/// Check MCP configuration of any host for mistakes and leaked credentials
///
/// A folder is searched for every host's files, plugins and marketplaces, as ripgrep searches: files
/// that version control ignores are left out, hidden folders of hosts are not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway check
  keyway check plugins/one plugins/two --strict
  keyway check . --ignore unknown-field --baseline keyway-baseline.json
  keyway check --since origin/main --format github
  keyway check --fix
  keyway check --format sarif > keyway.sarif")]
pub(crate) struct Check {
    #[command(flatten)]
    selection: Selection,
    /// Report tolerated spellings and fields as errors
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    wanted: Wanted,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    fixes: FixArgs,
    /// Show what `--fix` would change without writing it
    #[arg(long)]
    diff: bool,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the lines in question
    Human,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
}

impl From<Format> for check::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Human => Self::Human,
            Format::Json => Self::Json,
            Format::Sarif => Self::Sarif,
            Format::Github => Self::Github,
        }
    }
}

/// Which findings to report.
#[derive(Debug, Args)]
struct Wanted {
    /// Report only these rules [default: `select` of keyway.toml, else all]
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Leave out findings that FILE records [default: `baseline` of keyway.toml]
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Record all findings of this run in the file of `--baseline`
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// Report only what is new since this commit or branch
    #[arg(long, value_name = "REF")]
    since: Option<String>,
    #[command(flatten)]
    more: More,
}

/// How much has to be there.
#[derive(Debug, Args)]
struct More {
    /// Also report notes that hardly anyone acts on
    #[arg(long)]
    pedantic: bool,
    /// Fail if no file was found
    #[arg(long)]
    require_files: bool,
}

/// Which variables to resolve against.
#[derive(Debug, Args)]
struct Given {
    /// Also report variables that are not set
    #[arg(long)]
    env: bool,
    /// Read unset variables from FILE; implies `--env`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

/// Which fixes to apply.
#[derive(Debug, Args)]
struct FixArgs {
    /// Apply fixes that keep the meaning of the file
    #[arg(long)]
    fix: bool,
    /// With `--fix` or `--diff`, also apply fixes that may change behavior
    #[arg(long)]
    unsafe_fixes: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Check, context: &CommandContext) -> Result<Exit, CliError> {
    let options = arguments.options()?;
    let host = variables_host(arguments.given.env_file.as_deref())?;
    let mut places = arguments.selection.paths().filter(|path| !is_stdin(path));
    let place = places.next().unwrap_or(Path::new("."));
    let check = check::Check::open(options, host, place)?;
    let targets = check.read(arguments.inputs());
    for loaded in &targets.plugins {
        context.read(loaded);
    }
    let checked = check.run(targets)?;
    if checked.gone > 0 {
        let gone = counted(checked.gone, "finding");
        context.print_aside(&format!(
            "warning: {gone} of the baseline no longer there; `--update-baseline` removes them\n"
        ));
    }
    let exit = arguments.print(context, &checked)?;
    if context.verbosity != Verbosity::Quiet {
        context.print_aside(&done_by_settings(checked.by_settings));
    }
    Ok(exit)
}

/// Says what the repository's own settings took out of the report; empty if nothing.
fn done_by_settings(done: check::BySettings) -> String {
    let parts = [
        (done.ignored, "finding", "ignored"),
        (done.lowered, "finding", "made a note"),
        (done.excluded, "path", "excluded"),
    ];
    let parts = parts.iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what, done)| format!("{} {done}", counted(*count, what)))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("by `keyway.toml`: {}\n", parts.join(", "))
}

impl Check {
    fn options(&self) -> Result<CheckOptions, CliError> {
        let mut options = CheckOptions::default();
        options.fix = self.fix()?;
        options.rigor.strict = self.strict;
        options.rigor.pedantic = self.wanted.more.pedantic;
        options.resolves_variables = self.given.env || self.given.env_file.is_some();
        options.select.clone_from(&self.wanted.select);
        options.ignore.clone_from(&self.wanted.ignore);
        options.known.baseline.clone_from(&self.wanted.baseline);
        options.known.is_updated = self.wanted.update_baseline;
        options.known.since.clone_from(&self.wanted.since);
        options.home = ProcessEnvironment::home();
        Ok(options)
    }

    /// Returns which fixes are wanted, if any.
    fn fix(&self) -> Result<FixPolicy, CliError> {
        let fixes = self.fixes.fix || self.diff;
        let usage = |what| Err(CliError::Usage { what });
        if self.fixes.unsafe_fixes && !fixes {
            return usage("`--unsafe-fixes` goes with `--fix` or `--diff`");
        }
        if self.diff && self.format != Format::Human {
            return usage("`--diff` prints a diff and takes no other `--format`");
        }
        if self.fixes.fix && !self.diff && self.selection.reads_stdin() {
            return usage("`--fix` cannot change standard input; `--diff` shows the changes");
        }
        let level = if self.fixes.unsafe_fixes {
            Applicability::Unsafe
        } else {
            Applicability::Safe
        };
        Ok(match (self.diff, self.fixes.fix) {
            (true, _) => FixPolicy::Show(level),
            (false, true) => FixPolicy::Write(level),
            (false, false) => FixPolicy::Never,
        })
    }

    fn inputs(&self) -> Vec<Input> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let inputs = self.selection.paths().map(|path| {
            if is_stdin(path) {
                Input::Text(Box::new(loader.read(STDIN, io::stdin())))
            } else {
                Input::Path(path.to_path_buf())
            }
        });
        inputs.collect()
    }

    /// Returns the status of the call.
    fn exit(&self, report: &check::Report<'_>) -> Exit {
        let is_missing = |failure: &LoadError| matches!(failure, LoadError::Missing { .. });
        if report.failures().iter().any(is_missing) {
            return Exit::Usage;
        }
        let lacks_files = self.wanted.more.require_files && report.file_count() == 0;
        if report.has_errors() || lacks_files {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    /// Prints what is there now, or with `--diff` what would be changed.
    fn print(&self, context: &CommandContext, checked: &Checked) -> Result<Exit, CliError> {
        let report = checked.report();
        let exit = self.exit(&report);
        let text = if self.diff {
            checked.fixed.files.iter().map(FixedFile::diff).collect()
        } else if report.is_empty() && self.format == Format::Human {
            String::new()
        } else {
            let colors = self.format == Format::Human && context.colors_output();
            report.render(
                self.format.into(),
                Look::new(context.verbosity).colors(colors),
            )
        };
        context.print(&text, exit)?;
        if (self.fixes.fix || self.diff) && context.verbosity != Verbosity::Quiet {
            let verb = if self.diff { "would fix" } else { "fixed" };
            let problems = counted(checked.fixed.count, "problem");
            context.print_aside(&format!("{verb} {problems}\n"));
        }
        for failure in report.failures() {
            context.print_error(failure, failure.hint().as_deref());
        }
        if report.is_empty() && report.failures().is_empty() {
            context.print_aside("warning: no MCP configuration found\n");
        }
        if checked.is_cut {
            context.print_aside(
                "warning: the folder is too large or too deep; not all of it was searched\n",
            );
        }
        Ok(exit)
    }
}
