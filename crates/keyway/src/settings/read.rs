//! Reads `config.toml`, or says in one sentence why it is not used.

use std::fmt;
use std::path::Path;

use keyway_config::diagnostic::Diagnostic;
use keyway_secret::printable;

use super::{Parsed, Settings, SettingsError, load};

/// Why the file is not used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SettingsRefusal {
    what: String,
    /// The file is there, but not readable: this is a program that another Keyway started.
    pub is_hidden: bool,
    /// What the person can do next.
    pub hint: Option<String>,
}

impl fmt::Display for SettingsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for SettingsRefusal {}

/// Reads the file of a folder; without one everything is as by default.
///
/// # Errors
///
/// Returns why the file is not used. One that is understood in part is not used at all: a command
/// must not guess what the rest was to say.
pub fn read(folder: &Path, home: Option<&Path>) -> Result<Settings, SettingsRefusal> {
    match load(folder, home) {
        Ok(parsed) if parsed.diagnostics.is_empty() => Ok(parsed.settings),
        Ok(parsed) => Err(misunderstood(&parsed)),
        Err(error) => Err(unreadable(&error)),
    }
}

fn misunderstood(parsed: &Parsed) -> SettingsRefusal {
    let count = parsed.diagnostics.len();
    let errors = if count == 1 { "error" } else { "errors" };
    let first: Vec<String> = parsed.diagnostics.iter().take(SHOWN).map(line).collect();
    SettingsRefusal {
        what: format!("`config.toml` has {count} {errors}: {}", first.join("; ")),
        is_hidden: false,
        hint: parsed
            .diagnostics
            .iter()
            .find_map(|found| found.hint.clone()),
    }
}

fn line(found: &Diagnostic) -> String {
    let message = printable(&found.message);
    match &found.location {
        Some(place) => {
            let (line, column) = (place.start.line, place.start.column);
            format!("{}:{line}:{column}: {message}", printable(&place.file))
        }
        None => message,
    }
}

fn unreadable(error: &SettingsError) -> SettingsRefusal {
    let cause = std::error::Error::source(error);
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    SettingsRefusal {
        what: format!("{error}{cause}"),
        is_hidden: matches!(error, SettingsError::Unreadable { source, .. }
            if source.kind() == std::io::ErrorKind::PermissionDenied),
        hint: error.hint(),
    }
}

/// How many errors are told at once.
const SHOWN: usize = 5;
