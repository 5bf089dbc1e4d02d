//! `keyway check`: runs every rule over plugins, mends what can be mended, reports the rest.
//!
//! Nothing is run and nothing is sent. Variables are looked at only with `--env`.

mod fixes;

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use keyway::Host;
use keyway::load::Loaded;
use keyway_code::Exit;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::edit::Applicability;
use keyway_lint::{Context, lint};

use self::fixes::{Change, Fixes};
use crate::arguments::connect::variables_host;
use crate::arguments::selection::Selection;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::report::{Format, Look, Report, counted};

/// Check MCP configuration for mistakes and leaked credentials
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway check
  keyway check plugins/one plugins/two --strict
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
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    mend: Mend,
    /// Show what `--fix` would change without writing it
    #[arg(long)]
    diff: bool,
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
struct Mend {
    /// Apply fixes that keep the meaning of the file
    #[arg(long)]
    fix: bool,
    /// With `--fix` or `--diff`, also apply fixes that may change behavior
    #[arg(long)]
    unsafe_fixes: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Check, context: &CommandContext) -> Result<Exit, CliError> {
    let mend = arguments.level()?;
    let linter = Linter {
        strict: arguments.strict,
        resolves: arguments.given.env || arguments.given.env_file.is_some(),
        host: variables_host(arguments.given.env_file.as_deref())?,
    };
    let (mut plugins, failures) = arguments.selection.read(context);
    let mut diagnostics = linter.lint_all(&plugins);
    let mut fixes = Fixes::default();
    if let Some(level) = mend {
        let mut fixed = plugins.clone();
        fixes = fixes::apply(&mut fixed, level, |loaded| linter.lint(loaded));
        if !arguments.diff {
            fixes.write()?;
            plugins = fixed;
            diagnostics = linter.lint_all(&plugins);
        }
    }
    let report = Report::new(&plugins, diagnostics, &failures);
    arguments.print(context, &report, &fixes)
}

impl Check {
    /// Returns which fixes are wanted, if any.
    fn level(&self) -> Result<Option<Applicability>, CliError> {
        let mends = self.mend.fix || self.diff;
        let usage = |what| Err(CliError::Usage { what });
        if self.mend.unsafe_fixes && !mends {
            return usage("`--unsafe-fixes` goes with `--fix` or `--diff`");
        }
        if self.diff && self.format != Format::Human {
            return usage("`--diff` prints a diff and takes no other `--format`");
        }
        if self.mend.fix && !self.diff && self.selection.reads_stdin() {
            return usage("`--fix` cannot change standard input; `--diff` shows the changes");
        }
        Ok(match (mends, self.mend.unsafe_fixes) {
            (false, _) => None,
            (true, false) => Some(Applicability::Safe),
            (true, true) => Some(Applicability::Unsafe),
        })
    }

    /// Prints what is there now, or with `--diff` what would be changed.
    fn print(
        &self,
        context: &CommandContext,
        report: &Report<'_>,
        fixes: &Fixes,
    ) -> Result<Exit, CliError> {
        let exit = if report.has_errors() {
            Exit::Failed
        } else {
            Exit::Done
        };
        let text = if self.diff {
            fixes.changes.iter().map(Change::diff).collect()
        } else if report.is_empty() && self.format == Format::Human {
            String::new()
        } else {
            let colors = self.format == Format::Human && context.colors_output();
            let verbosity = context.verbosity;
            report.render(self.format, Look { verbosity, colors })
        };
        context.print(&text, exit)?;
        if (self.mend.fix || self.diff) && context.verbosity != Verbosity::Quiet {
            let verb = if self.diff { "would fix" } else { "fixed" };
            let problems = counted(fixes.count, "problem");
            context.print_aside(&format!("{verb} {problems}\n"));
        }
        for failure in report.failures() {
            context.print_error(failure, failure.hint().as_deref());
        }
        Ok(exit)
    }
}

/// What the rules are run with.
struct Linter {
    strict: bool,
    resolves: bool,
    host: Host,
}

impl Linter {
    /// Runs the rules over everything; what several paths have in common is reported once.
    fn lint_all(&self, plugins: &[Loaded]) -> Vec<Diagnostic> {
        let mut seen = HashSet::new();
        let found = plugins.iter().flat_map(|loaded| self.lint(loaded));
        found
            .filter(|found| {
                let place = found.location.as_ref();
                let place = place.map(|place| (place.file.clone(), place.span));
                seen.insert((found.code, place, found.message.clone()))
            })
            .collect()
    }

    fn lint(&self, loaded: &Loaded) -> Vec<Diagnostic> {
        let plugin = &loaded.plugin;
        let strict = self.strict;
        let context = Context::new(plugin).strict(strict);
        let variables = self.host.variable_scope(loaded);
        match variables.as_ref().ok().filter(|_| self.resolves) {
            Some(variables) => lint(&context.with_scope(variables.scope())),
            None => lint(&context),
        }
    }
}
