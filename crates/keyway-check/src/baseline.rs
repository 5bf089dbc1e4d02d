//! Findings that are known already, kept in a file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use keyway_config::diagnostic::{Diagnostic, Severity};
use serde::{Deserialize, Serialize};

use crate::error::CheckError;
use crate::file_names::FileNames;
use crate::report::identity_in;
use crate::report::json::to_text;

/// Findings that are known already, by what stays when lines move; with how often each occurs.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    /// By file, rule and identity.
    findings: BTreeMap<String, OfFile>,
}

type OfFile = BTreeMap<String, BTreeMap<String, usize>>;

/// The file.
#[derive(Serialize, Deserialize)]
struct BaselineFile<F> {
    version: u32,
    findings: F,
}

/// What a baseline made of findings.
#[derive(Debug)]
#[non_exhaustive]
pub struct NewFindings {
    /// What is new.
    pub kept: Vec<Diagnostic>,
    /// How many are known.
    pub suppressed: usize,
    /// How many of the baseline are gone.
    pub gone: usize,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns [`CheckError::Baseline`] if it cannot be read, or is not a baseline of this version.
    pub fn read(file: &Path) -> Result<Self, CheckError> {
        let earlier = "written by an earlier version; `--update-baseline` writes it again";
        Self::read_any(file)?.ok_or_else(|| CheckError::Baseline {
            path: file.to_path_buf(),
            source: std::io::Error::other(earlier),
        })
    }

    /// The same; `None` for one of an earlier version, which may be replaced.
    pub(crate) fn read_any(file: &Path) -> Result<Option<Self>, CheckError> {
        let failed = |source| CheckError::Baseline {
            path: file.to_path_buf(),
            source,
        };
        // The repository may name the file: a device or a pipe has no end.
        if !fs::metadata(file).map_err(failed)?.is_file() {
            return Err(failed(std::io::Error::other("not a file")));
        }
        let mut bounded = fs::File::open(file).map_err(failed)?.take(MAX_BYTES);
        let mut text = Vec::new();
        bounded.read_to_end(&mut text).map_err(failed)?;
        let not_ours = |_| {
            failed(std::io::Error::other(
                "not a baseline that `keyway check` wrote",
            ))
        };
        let read: BaselineFile<serde_json::Value> =
            serde_json::from_slice(&text).map_err(not_ours)?;
        if read.version < VERSION {
            return Ok(None);
        }
        let findings = serde_json::from_value(read.findings).map_err(not_ours)?;
        Ok(Some(Self { findings }))
    }

    /// Makes one of what was found; notes are never errors, so they are left out.
    #[must_use]
    pub fn of(found: &[Diagnostic], names: &FileNames) -> Self {
        let mut findings: BTreeMap<String, OfFile> = BTreeMap::new();
        for found in found.iter().filter(|it| it.severity > Severity::Info) {
            let file = names.of(found);
            let identity = identity_in(found, &file);
            let of_file = findings.entry(file).or_default();
            let of_rule = of_file.entry(found.code.as_str().to_owned()).or_default();
            *of_rule.entry(identity).or_default() += 1;
        }
        Self { findings }
    }

    /// Takes over what another records and a check does not speak of.
    pub(crate) fn keep_rest(&mut self, recorded: &Self, speaks_of: impl Fn(&str, &str) -> bool) {
        for (file, of_file) in &recorded.findings {
            for (rule, of_rule) in of_file.iter().filter(|(rule, _)| !speaks_of(file, rule)) {
                let own = self.findings.entry(file.clone()).or_default();
                own.insert(rule.clone(), of_rule.clone());
            }
        }
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// Returns [`CheckError::Baseline`] if it cannot be written.
    #[expect(
        clippy::disallowed_methods,
        reason = "a file of our own making that the person names; it holds no value"
    )]
    pub fn write(&self, file: &Path) -> Result<(), CheckError> {
        let text = to_text(&BaselineFile {
            version: VERSION,
            findings: &self.findings,
        });
        fs::write(file, text).map_err(|source| CheckError::Baseline {
            path: file.to_path_buf(),
            source,
        })
    }

    /// Drops what is known, each as often as it is known. Of what is left of the record, what the
    /// check speaks of, by file and rule, is gone.
    #[must_use]
    pub fn apply(
        mut self,
        found: Vec<Diagnostic>,
        names: &FileNames,
        speaks_of: impl Fn(&str, &str) -> bool,
    ) -> NewFindings {
        let before = found.len();
        let mut kept = found;
        kept.retain(|found| {
            let file = names.of(found);
            let of_file = self.findings.get_mut(&file);
            let of_rule = of_file.and_then(|it| it.get_mut(found.code.as_str()));
            match of_rule.and_then(|it| it.get_mut(&identity_in(found, &file))) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            }
        });
        let mut gone = 0;
        for (file, of_file) in &self.findings {
            let rules = of_file.iter().filter(|(rule, _)| speaks_of(file, rule));
            gone += rules
                .map(|(_, it)| it.values().sum::<usize>())
                .sum::<usize>();
        }
        NewFindings {
            suppressed: before - kept.len(),
            kept,
            gone,
        }
    }
}

/// By file and rule since the second.
const VERSION: u32 = 2;

/// Some hundred thousand findings.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
