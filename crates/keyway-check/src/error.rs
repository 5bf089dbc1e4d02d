//! Why a check gave up.

use std::io;
use std::path::{Path, PathBuf};

use keyway_code::Code;
use keyway_files::error::WriteError;
use keyway_lint::check_settings::CheckSettingsError;
use keyway_secret::printable;
use thiserror::Error;

/// Why a check gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// What says how to check is wrong: an option, or a repository's `keyway.toml`.
    #[error("{}", settings_place(file.as_deref()))]
    Settings {
        /// The file; `None` for an option.
        file: Option<PathBuf>,
        /// What is wrong with it.
        source: CheckSettingsError,
    },
    /// A file of known findings cannot be used.
    #[error("cannot use the baseline `{}`", shown(path))]
    Baseline {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The files of another commit cannot be read.
    #[error("cannot compare with `{}`", printable(reference))]
    Since {
        /// The commit or branch, as given.
        reference: String,
        /// What the system or git says.
        source: io::Error,
    },
    /// The repository's settings cannot be read.
    #[error(transparent)]
    Host(#[from] keyway::Error),
    /// A file could not be repaired; it is left as it is.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl CheckError {
    /// Returns the code used in every format.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Settings { .. } => Code::InvalidSetting,
            Self::Baseline { .. } => Code::UnreadableFile,
            Self::Since { .. } => Code::WrongUsage,
            Self::Host(error) => error.code(),
            Self::Write(_) => Code::ConfigError,
        }
    }

    /// Returns what the person can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Settings { .. } => {
                "`keyway explain RULE` knows the rules, docs/check.md the settings"
            }
            Self::Baseline { .. } => "write it: keyway check --baseline FILE --update-baseline",
            Self::Since { .. } => {
                "name a commit of this repository; a shallow clone may not have it: git fetch --depth=1 origin REF"
            }
            Self::Host(error) => return error.hint(),
            Self::Write(_) => return None,
        };
        Some(hint.to_owned())
    }
}

fn settings_place(file: Option<&Path>) -> String {
    match file {
        Some(file) => format!("`{}` cannot be used", shown(file)),
        None => "the call cannot be understood".to_owned(),
    }
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}
