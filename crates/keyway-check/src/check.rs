//! One check, from the settings of a repository to what is reported.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use keyway::Host;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::dialect::is_in_bundle;
use keyway_config::edit::Applicability;
use keyway_files::error::LoadError;
use keyway_files::load::tree::in_parallel;
use keyway_files::load::{Loaded, Loader};
use keyway_lint::check_settings::CheckSettings;
use keyway_lint::{Context, lint, suppress};

use crate::baseline::{Baseline, NewFindings};
use crate::earlier::Earlier;
use crate::error::CheckError;
use crate::file_names::FileNames;
use crate::filter::{Filter, Filtered};
use crate::fixes::{self, Fixed};
use crate::report::Report;
use crate::settings::{named_by_settings, settings_above};
use crate::targets::{self, Excluded, Input, Targets};

/// What is checked for, and how severely.
///
/// What a repository's `keyway.toml` says comes second: it adds to what is ignored, and counts for
/// the rest where nothing is set here.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// How much is reported, and how severely.
    pub rigor: Rigor,
    /// Whether variables that are not set are reported.
    pub resolves_variables: bool,
    /// Only these rules, if any are named.
    pub select: Vec<String>,
    /// Not these rules.
    pub ignore: Vec<String>,
    /// Findings that are known already.
    pub known: KnownFindings,
    /// What to repair.
    pub fix: FixPolicy,
    /// Where `~` leads in files of hosts.
    pub home: Option<PathBuf>,
}

/// How much is reported, and how severely.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Rigor {
    /// Whether tolerated spellings and fields are errors.
    pub strict: bool,
    /// Whether to report findings that are rarely acted on.
    pub pedantic: bool,
}

/// Which findings are known already.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct KnownFindings {
    /// The file that records them.
    pub baseline: Option<PathBuf>,
    /// Whether the findings of this check are recorded there; the file need not be there then.
    pub is_updated: bool,
    /// A commit or branch: what was there already is not reported.
    pub since: Option<String>,
}

/// What to repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixPolicy {
    /// Nothing.
    #[default]
    Never,
    /// Work out what fixes up to this level would change, and write nothing.
    Show(Applicability),
    /// Apply fixes up to this level and write the files.
    Write(Applicability),
}

/// A check that is ready to run: settings and baseline are read.
#[derive(Debug)]
pub struct Check {
    options: CheckOptions,
    host: Host,
    filter: Filter,
    exclusions: Option<Excluded>,
    /// The file of known findings; without content if it is yet to be written.
    baseline: Option<(PathBuf, Option<Baseline>)>,
}

/// What a check found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// What was looked at, as it is now.
    pub plugins: Vec<Loaded>,
    /// What could not be looked at.
    pub failures: Vec<LoadError>,
    /// Whether a folder has more than was looked at.
    pub is_cut: bool,
    /// What is reported.
    pub diagnostics: Vec<Diagnostic>,
    /// How many findings were accepted by notes or are known.
    pub suppressed: usize,
    /// How many findings of the baseline are gone.
    pub gone: usize,
    /// What fixes changed, or would change.
    pub fixed: Fixed,
    /// What the repository's own settings took out of the report.
    pub by_settings: BySettings,
}

/// What a repository's `keyway.toml` took out of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BySettings {
    /// Warnings and errors that it leaves out; they are among the suppressed ones.
    pub ignored: usize,
    /// Warnings and errors that it makes notes.
    pub lowered: usize,
    /// Files and folders that it excludes.
    pub excluded: usize,
}

impl Checked {
    /// Puts together what is printed.
    #[must_use]
    pub fn report(&self) -> Report<'_> {
        Report::new(&self.plugins, self.diagnostics.clone(), &self.failures)
            .with_suppressed(self.suppressed)
    }
}

impl Check {
    /// Reads what the repository around `place` says about its checks, and the baseline.
    ///
    /// # Errors
    ///
    /// Returns [`CheckError::Settings`] for a rule or a `keyway.toml` that cannot be understood, and
    /// [`CheckError::Baseline`] for a baseline that cannot be read.
    pub fn open(mut options: CheckOptions, host: Host, place: &Path) -> Result<Self, CheckError> {
        let (folder, settings) = match settings_above(place)? {
            Some((folder, settings)) => (Some(folder), settings),
            None => (None, CheckSettings::default()),
        };
        let filter = Filter::new(&options.select, &options.ignore, &settings)?;
        let baseline = baseline(&options.known, folder.as_deref(), &settings)?;
        let exclusions = folder.and_then(|folder| Excluded::new(folder, &settings.exclude));
        options.rigor.pedantic |= settings.pedantic;
        Ok(Self {
            options,
            host,
            filter,
            exclusions,
            baseline,
        })
    }

    /// Reads what is to be checked; without inputs, the current folder.
    #[must_use]
    pub fn read(&self, inputs: Vec<Input>) -> Targets {
        targets::read(&self.loader(), inputs, self.exclusions.as_ref())
    }

    /// Runs the rules, repairs what is to be repaired, and drops what is known.
    ///
    /// # Errors
    ///
    /// Returns [`CheckError::Write`] if a file could not be repaired, [`CheckError::Baseline`] if the
    /// baseline cannot be written, and [`CheckError::Since`] if git does not have the commit.
    pub fn run(self, targets: Targets) -> Result<Checked, CheckError> {
        let Targets {
            mut plugins,
            failures,
            is_cut,
            paths,
            excluded,
        } = targets;
        let mut findings = self.lint_all(&plugins);
        let mut fixed = Fixed::default();
        if let FixPolicy::Show(level) | FixPolicy::Write(level) = self.options.fix {
            let mut repaired = plugins.clone();
            fixed = fixes::apply(&mut repaired, level, |loaded| {
                self.filter.apply(self.lint(loaded).kept).kept
            });
            if matches!(self.options.fix, FixPolicy::Write(_)) {
                fixed.write()?;
                plugins = repaired;
                findings = self.lint_all(&plugins);
            }
        }
        let Filtered {
            kept,
            ignored,
            lowered,
        } = self.filter.apply(findings.kept);
        let mut checked = Checked {
            diagnostics: kept,
            suppressed: findings.suppressed + ignored,
            by_settings: BySettings {
                ignored,
                lowered,
                excluded,
            },
            plugins,
            failures,
            is_cut,
            gone: 0,
            fixed,
        };
        checked.gone = self.drop_recorded(&mut checked, &paths)?;
        if let Some(reference) = &self.options.known.since {
            let earlier = Earlier::at(reference)?;
            self.drop_older(&mut checked, &earlier, &paths);
        }
        Ok(checked)
    }

    /// Drops what the baseline records, and records what is there if that is wanted. Returns how
    /// many of its findings are gone: of files that were looked at, by rules that were applied.
    fn drop_recorded(&self, checked: &mut Checked, paths: &[PathBuf]) -> Result<usize, CheckError> {
        let Some((file, recorded)) = &self.baseline else {
            return Ok(0);
        };
        let names = FileNames::beside(file);
        let extent = names.extent(paths);
        let speaks_of = |file: &str, rule: &str| extent.has(file) && self.filter.has(rule);
        let recorded = match recorded {
            Some(recorded) if !self.options.known.is_updated => recorded.clone(),
            recorded => {
                let mut now = Baseline::of(&checked.diagnostics, &names);
                if let Some(recorded) = recorded {
                    now.keep_rest(recorded, speaks_of);
                }
                now.write(file)?;
                now
            }
        };
        let found = std::mem::take(&mut checked.diagnostics);
        let new = recorded.apply(found, &names, speaks_of);
        Ok(checked.keep(new))
    }

    /// Drops what was there at another commit.
    fn drop_older(&self, checked: &mut Checked, earlier: &Earlier, paths: &[PathBuf]) {
        let before: Vec<Input> = earlier.paths(paths).into_iter().map(Input::Path).collect();
        // Without any path this folder would be read again.
        if before.is_empty() {
            return;
        }
        let before = targets::read(&self.loader(), before, None);
        let mut old = self.filter.apply(self.lint_all(&before.plugins).kept).kept;
        earlier.rename(&mut old);
        // What an older commit had and this one has not is an improvement, not a stale record.
        let names = FileNames::default();
        let found = std::mem::take(&mut checked.diagnostics);
        let new = Baseline::of(&old, &names).apply(found, &names, |_, _| false);
        let _none_gone = checked.keep(new);
    }

    fn loader(&self) -> Loader {
        Loader::default().home(self.options.home.clone())
    }

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
        let Rigor { strict, pedantic } = self.options.rigor;
        let plugin = &loaded.plugin;
        let context = Context::new(plugin).strict(strict).pedantic(pedantic);
        let variables = self.host.variable_scope(loaded);
        let wanted = variables
            .as_ref()
            .ok()
            .filter(|_| self.options.resolves_variables);
        let found = match wanted {
            Some(variables) => lint(&context.with_scope(variables.scope())),
            None => lint(&context),
        };
        let mut applied = suppress::apply(plugin, found, pedantic);
        for found in &mut applied.kept {
            let file = found.location.as_ref().map_or("", |it| &it.file);
            // What is wrong in a bundle is repaired where it is packed from.
            if is_in_bundle(file) {
                found.fix = None;
            }
        }
        Findings {
            kept: applied.kept,
            suppressed: applied.suppressed,
        }
    }
}

/// What the rules found, without what was accepted.
#[derive(Default)]
struct Findings {
    kept: Vec<Diagnostic>,
    suppressed: usize,
}

impl Checked {
    /// Keeps what is new; returns how many of the known are gone.
    fn keep(&mut self, new: NewFindings) -> usize {
        self.diagnostics = new.kept;
        self.suppressed += new.suppressed;
        new.gone
    }
}

/// Returns the file of known findings with its content; it need not be there if it is written.
fn baseline(
    known: &KnownFindings,
    folder: Option<&Path>,
    settings: &CheckSettings,
) -> Result<Option<(PathBuf, Option<Baseline>)>, CheckError> {
    let named = settings.baseline.as_deref().zip(folder);
    let file = match (&known.baseline, named) {
        (Some(file), _) => file.clone(),
        (None, Some((name, folder))) => named_by_settings(folder, name)?,
        (None, None) => return Ok(None),
    };
    if known.is_updated {
        let recorded = match file.exists() {
            true => Baseline::read_any(&file)?,
            false => None,
        };
        return Ok(Some((file, recorded)));
    }
    let recorded = Baseline::read(&file)?;
    Ok(Some((file, Some(recorded))))
}
