//! Findings that are known already, kept in a file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use keyway_config::diagnostic::{Diagnostic, Severity};
use serde::{Deserialize, Serialize};

use crate::error::CheckError;
use crate::report::identity_in;
use crate::report::json::to_text;

/// Findings that are known already, by what stays when lines move; with how often each occurs.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    findings: BTreeMap<String, usize>,
}

/// How a record names the files of its findings.
#[derive(Debug, Clone, Default)]
pub struct FileNames {
    /// The folder below which they are named; without one they are named as the call has them.
    top: Option<PathBuf>,
}

impl FileNames {
    /// Names files from the top of the repository that holds `record`, or from its folder, so that
    /// it says the same wherever the program is started.
    #[must_use]
    pub fn beside(record: &Path) -> Self {
        let folder = record.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let top = |folder: PathBuf| keyway_files::load::repository_of(&folder).unwrap_or(folder);
        Self {
            top: folder.ok().map(top),
        }
    }

    fn identity(&self, found: &Diagnostic) -> String {
        let file = found.location.as_ref().map_or("", |it| &it.file);
        identity_in(found, &self.name(file).unwrap_or_else(|| file.to_owned()))
    }

    /// What is not a file below the folder, such as standard input, keeps its name.
    fn name(&self, file: &str) -> Option<String> {
        let path = fs::canonicalize(file).ok()?;
        let below = path.strip_prefix(self.top.as_ref()?).ok()?;
        let parts = below
            .components()
            .map(|it| it.as_os_str().to_string_lossy());
        Some(parts.collect::<Vec<_>>().join("/"))
    }
}

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
    /// Returns [`CheckError::Baseline`] if it cannot be read, or is not a baseline.
    pub fn read(file: &Path) -> Result<Self, CheckError> {
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
        let read: Result<BaselineFile<_>, _> = serde_json::from_slice(&text);
        match read {
            Ok(BaselineFile { findings, .. }) => Ok(Self { findings }),
            Err(_) => Err(failed(std::io::Error::other(
                "not a baseline that `keyway check` wrote",
            ))),
        }
    }

    /// Makes one of what was found; notes are never errors, so they are left out.
    #[must_use]
    pub fn of(found: &[Diagnostic], names: &FileNames) -> Self {
        let mut findings = BTreeMap::new();
        for found in found.iter().filter(|it| it.severity > Severity::Info) {
            *findings.entry(names.identity(found)).or_default() += 1;
        }
        Self { findings }
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
            version: 1,
            findings: &self.findings,
        });
        fs::write(file, text).map_err(|source| CheckError::Baseline {
            path: file.to_path_buf(),
            source,
        })
    }

    /// Drops what is known, each as often as it is known.
    #[must_use]
    pub fn apply(mut self, found: Vec<Diagnostic>, names: &FileNames) -> NewFindings {
        let before = found.len();
        let mut kept = found;
        kept.retain(
            |found| match self.findings.get_mut(&names.identity(found)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            },
        );
        NewFindings {
            suppressed: before - kept.len(),
            kept,
            gone: self.findings.values().sum(),
        }
    }
}

/// Some hundred thousand findings.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
