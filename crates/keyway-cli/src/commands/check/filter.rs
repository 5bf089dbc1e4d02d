//! Which findings are reported: rules that were selected, severities that were changed, findings
//! that are known already.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::source::MAX_BYTES;
use keyway_lint::check_settings::{CheckSettings, rule_name};
use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::report::identity;

/// What the flags and the repository say together; flags come first.
#[derive(Debug, Default)]
pub(super) struct Filter {
    select: Vec<String>,
    ignore: Vec<String>,
    severity: Vec<(String, Severity)>,
}

impl Filter {
    /// Joins flags and settings.
    pub(super) fn new(
        select: &[String],
        ignore: &[String],
        settings: &CheckSettings,
    ) -> Result<Self, CliError> {
        let names = |given: &[String]| -> Result<Vec<String>, CliError> {
            let names = given.iter().map(|name| rule_name(name.trim()));
            names
                .collect::<Result<_, _>>()
                .map_err(|source| CliError::CheckSettings { file: None, source })
        };
        let select = match names(select)? {
            none if none.is_empty() => settings.select.clone(),
            some => some,
        };
        let mut ignored = names(ignore)?;
        ignored.extend(settings.ignore.iter().cloned());
        Ok(Self {
            select,
            ignore: ignored,
            severity: settings.severity.clone(),
        })
    }

    /// Drops what is not wanted, and changes severities.
    pub(super) fn apply(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut kept = found;
        kept.retain(|found| {
            let code = found.code.as_str();
            let is = |names: &[String]| names.iter().any(|name| name == code);
            (self.select.is_empty() || is(&self.select)) && !is(&self.ignore)
        });
        for found in &mut kept {
            let code = found.code.as_str();
            let changed = self.severity.iter().find(|(name, _)| name == code);
            if let Some((_, severity)) = changed {
                found.severity = *severity;
            }
        }
        kept
    }
}

/// Findings that are known already, by what stays when lines move; with how often each occurs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Baseline {
    version: u32,
    findings: BTreeMap<String, usize>,
}

/// What a baseline made of findings.
#[derive(Debug)]
pub(super) struct Known {
    /// What is new.
    pub(super) kept: Vec<Diagnostic>,
    /// How many are known.
    pub(super) suppressed: usize,
    /// How many of the baseline are gone.
    pub(super) gone: usize,
}

impl Baseline {
    /// Reads a file.
    pub(super) fn read(file: &Path) -> Result<Self, CliError> {
        let failed = |source| CliError::Baseline {
            path: file.to_path_buf(),
            source,
        };
        let text = fs::read_to_string(file).map_err(failed)?;
        let read: Result<Self, _> = serde_json::from_str(&text);
        read.map_err(|_| {
            failed(std::io::Error::other(
                "not a baseline that `keyway check` wrote",
            ))
        })
    }

    /// Makes one of what was found; notes are never errors, so they are left out.
    pub(super) fn of(found: &[Diagnostic]) -> Self {
        let mut findings = BTreeMap::new();
        for found in found.iter().filter(|it| it.severity > Severity::Info) {
            *findings.entry(identity(found)).or_default() += 1;
        }
        Self {
            version: 1,
            findings,
        }
    }

    /// Writes a file.
    #[expect(
        clippy::disallowed_methods,
        reason = "a file of our own making that the person names; it holds no value"
    )]
    pub(super) fn write(&self, file: &Path) -> Result<(), CliError> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        fs::write(file, text).map_err(|source| CliError::Baseline {
            path: file.to_path_buf(),
            source,
        })
    }

    /// Drops what is known, each as often as it is known.
    pub(super) fn apply(mut self, found: Vec<Diagnostic>) -> Known {
        let before = found.len();
        let mut kept = found;
        kept.retain(|found| match self.findings.get_mut(&identity(found)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        Known {
            suppressed: before - kept.len(),
            kept,
            gone: self.findings.values().sum(),
        }
    }
}

/// Finds the settings of a repository: `keyway.toml` in the folder of a path, or above it up to
/// the top of the repository.
pub(super) fn settings_above(path: &Path) -> Result<Option<(PathBuf, CheckSettings)>, CliError> {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(Path::new("."))
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let Ok(folder) = fs::canonicalize(folder) else {
        return Ok(None);
    };
    let top = keyway::load::repository_of(&folder);
    let top = top.unwrap_or_else(|| folder.clone());
    for folder in folder.ancestors().take_while(|it| it.starts_with(&top)) {
        let file = folder.join(SETTINGS_FILE);
        if !file.is_file() {
            continue;
        }
        let bytes = keyway::read::bounded(&file, MAX_BYTES).map_err(keyway::Error::from)?;
        let text = String::from_utf8_lossy(&bytes);
        let settings = CheckSettings::parse(&text).map_err(|source| CliError::CheckSettings {
            file: Some(file),
            source,
        })?;
        return Ok(Some((folder.to_path_buf(), settings)));
    }
    Ok(None)
}

const SETTINGS_FILE: &str = "keyway.toml";
