//! `keyway check`: runs every rule over files, plugins and whole repositories, repairs what can be
//! repaired, and reports the rest.
//!
//! Nothing is run and nothing is sent. Variables are looked at only with `--env`.

mod filter;
mod fixes;
mod since;
mod targets;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use keyway::Host;
use keyway::error::LoadError;
use keyway::load::Loaded;
use keyway::load::tree::{Exclusions, in_parallel};
use keyway_code::Exit;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::edit::Applicability;
use keyway_lint::check_settings::CheckSettings;
use keyway_lint::{Context, lint, suppress};

use self::filter::{Baseline, Filter, settings_above};
use self::fixes::{Change, Fixes};
use self::since::Earlier;
use self::targets::Targets;
use crate::arguments::connect::variables_host;
use crate::arguments::selection::{Selection, is_stdin};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::report::{Format, Look, Report, counted};

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
    mend: Mend,
    /// Show what `--fix` would change without writing it
    #[arg(long)]
    diff: bool,
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
    let (settings_folder, settings) = arguments.settings()?;
    let wanted = &arguments.wanted;
    let filter = Filter::new(&wanted.select, &wanted.ignore, &settings)?;
    let known = arguments.baseline(settings_folder.as_deref(), &settings)?;
    let linter = Linter {
        rigor: Rigor {
            strict: arguments.strict,
            pedantic: wanted.more.pedantic || settings.pedantic,
        },
        resolves: arguments.given.env || arguments.given.env_file.is_some(),
        host: variables_host(arguments.given.env_file.as_deref())?,
    };
    let exclusions = settings_folder
        .filter(|_| !settings.exclude.is_empty())
        .and_then(|folder| Exclusions::new(&folder, &settings.exclude));
    let paths: Vec<&Path> = arguments.selection.paths().collect();
    let Targets {
        mut plugins,
        failures,
        is_cut,
    } = targets::read(&paths, exclusions.as_ref());
    for loaded in &plugins {
        context.read(loaded);
    }
    let mut findings = linter.lint_all(&plugins);
    let mut fixes = Fixes::default();
    if let Some(level) = mend {
        let mut fixed = plugins.clone();
        fixes = fixes::apply(&mut fixed, level, |loaded| {
            filter.apply(linter.lint(loaded).kept)
        });
        if !arguments.diff {
            fixes.write()?;
            plugins = fixed;
            findings = linter.lint_all(&plugins);
        }
    }
    let mut diagnostics = filter.apply(findings.kept);
    let mut suppressed = findings.suppressed;
    if let Some((file, known)) = known {
        if wanted.update_baseline {
            Baseline::of(&diagnostics).write(&file)?;
        }
        let known = match known {
            Some(known) if !wanted.update_baseline => known,
            _ => Baseline::of(&diagnostics),
        };
        let known = known.apply(diagnostics);
        diagnostics = known.kept;
        suppressed += known.suppressed;
        if known.gone > 0 {
            let gone = counted(known.gone, "finding");
            context.print_aside(&format!(
                "warning: {gone} of the baseline no longer there; `--update-baseline` removes them\n"
            ));
        }
    }
    if let Some(reference) = &wanted.since {
        let earlier = Earlier::at(reference)?;
        let before = earlier.paths(&paths);
        let before: Vec<&Path> = before.iter().map(PathBuf::as_path).collect();
        // Without any path this folder would be read again.
        if !before.is_empty() {
            let before = targets::read(&before, None);
            let mut old = filter.apply(linter.lint_all(&before.plugins).kept);
            earlier.rename(&mut old);
            let known = Baseline::of(&old).apply(diagnostics);
            diagnostics = known.kept;
            suppressed += known.suppressed;
        }
    }
    let report = Report::new(&plugins, diagnostics, &failures).with_suppressed(suppressed);
    arguments.print(context, &report, &fixes, is_cut)
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

    /// Returns what the repository says about its checks, and its folder.
    fn settings(&self) -> Result<(Option<PathBuf>, CheckSettings), CliError> {
        let mut paths = self.selection.paths().filter(|path| !is_stdin(path));
        let first = paths.next().unwrap_or(Path::new("."));
        Ok(match settings_above(first)? {
            Some((folder, settings)) => (Some(folder), settings),
            None => (None, CheckSettings::default()),
        })
    }

    /// Returns the file of known findings with its content; it need not be there if it is written.
    fn baseline(
        &self,
        folder: Option<&Path>,
        settings: &CheckSettings,
    ) -> Result<Option<(PathBuf, Option<Baseline>)>, CliError> {
        let kept = settings.baseline.as_ref();
        let kept = kept.map(|file| folder.unwrap_or(Path::new("")).join(file));
        let Some(file) = self.wanted.baseline.clone().or(kept) else {
            return Ok(None);
        };
        if self.wanted.update_baseline && !file.exists() {
            return Ok(Some((file, None)));
        }
        let known = Baseline::read(&file)?;
        Ok(Some((file, Some(known))))
    }

    /// Returns the status of the call.
    fn exit(&self, report: &Report<'_>) -> Exit {
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
    fn print(
        &self,
        context: &CommandContext,
        report: &Report<'_>,
        fixes: &Fixes,
        is_cut: bool,
    ) -> Result<Exit, CliError> {
        let exit = self.exit(report);
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
        if report.is_empty() && report.failures().is_empty() {
            context.print_aside("warning: no MCP configuration found\n");
        }
        if is_cut {
            context.print_aside("warning: the folder is too large; not all of it was searched\n");
        }
        Ok(exit)
    }
}

/// What the rules are run with.
struct Linter {
    rigor: Rigor,
    resolves: bool,
    host: Host,
}

/// How much is reported, and how severely.
#[derive(Clone, Copy)]
struct Rigor {
    strict: bool,
    pedantic: bool,
}

/// What the rules found, without what was accepted.
#[derive(Default)]
struct Findings {
    kept: Vec<Diagnostic>,
    suppressed: usize,
}

impl Linter {
    /// Runs the rules over everything; what several paths have in common is reported once.
    fn lint_all(&self, plugins: &[Loaded]) -> Findings {
        let mut seen = HashSet::new();
        let mut all = Findings::default();
        for found in in_parallel(plugins, |loaded| self.lint(loaded)) {
            all.suppressed += found.suppressed;
            all.kept.extend(found.kept.into_iter().filter(|found| {
                let place = found.location.as_ref();
                let place = place.map(|place| (place.file.clone(), place.span));
                seen.insert((found.code, place, found.message.clone()))
            }));
        }
        all
    }

    fn lint(&self, loaded: &Loaded) -> Findings {
        let plugin = &loaded.plugin;
        let context = Context::new(plugin)
            .strict(self.rigor.strict)
            .pedantic(self.rigor.pedantic);
        let variables = self.host.variable_scope(loaded);
        let found = match variables.as_ref().ok().filter(|_| self.resolves) {
            Some(variables) => lint(&context.with_scope(variables.scope())),
            None => lint(&context),
        };
        let applied = suppress::apply(plugin, found, self.rigor.pedantic);
        Findings {
            kept: applied.kept,
            suppressed: applied.suppressed,
        }
    }
}
