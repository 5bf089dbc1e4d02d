//! Files and entries that are left out, in the words of the rules that `keyway check` has for them.

use std::fmt;

use keyway_code::Code;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::document::{Document, Wrapper};
use keyway_config::plugin::Reference;
use keyway_lint::mask;

use super::rules::left_out;
use crate::load::Loaded;

/// A file or an entry that is left out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkippedEntry {
    /// The code of the rule.
    pub code: Code,
    /// What to do.
    pub hint: Option<String>,
    server: Option<String>,
    file: String,
    /// Line and column, from 1.
    place: Option<(u32, u32)>,
    message: String,
}

/// Returns why an entry of a name is left out, or the file that may have it.
#[must_use]
pub fn why_skipped(loaded: &Loaded, name: &str) -> Option<SkippedEntry> {
    let hides = |document: &Document| {
        let mut entries = document.entries.iter();
        !document.is_usable()
            && (document.entries.is_empty() || entries.any(|entry| entry.name == name))
    };
    let documents = &loaded.plugin.documents;
    let file = documents.iter().find(|document| hides(document));
    skipped(loaded).into_iter().find(|one| {
        one.server.as_deref() == Some(name)
            || file.is_some_and(|file| one.server.is_none() && one.file == file.source.path())
    })
}

/// Lists what is left out of a plugin, in the order of its files.
#[must_use]
pub fn skipped(loaded: &Loaded) -> Vec<SkippedEntry> {
    if !is_anything_skipped(loaded) {
        return Vec::new();
    }
    let mut findings = left_out(&loaded.plugin);
    // A rule may quote a name that was made of a token.
    mask::in_diagnostics(&mut findings);
    findings.iter().map(SkippedEntry::of).collect()
}

/// Says whether the rules have to be asked, which costs more than a start should.
fn is_anything_skipped(loaded: &Loaded) -> bool {
    let is_faulty = |document: &Document| {
        let mut entries = document.entries.iter();
        !document.is_usable()
            || matches!(document.wrapper, Wrapper::Foreign { .. })
            || entries.any(|entry| entry.server.is_err())
    };
    let plugin = &loaded.plugin;
    let mut references = plugin.snapshot.references.values();
    plugin.documents.iter().any(is_faulty)
        || references.any(|reference| *reference != Reference::Read)
        || plugin.servers().next().is_none()
}

impl SkippedEntry {
    fn of(finding: &Diagnostic) -> Self {
        let place = finding.location.as_ref();
        Self {
            code: finding.code,
            hint: finding.hint.clone(),
            server: finding.server.clone(),
            file: place.map_or_else(String::new, |place| place.file.to_string()),
            place: place.map(|place| (place.start.line, place.start.column)),
            message: finding.message.clone(),
        }
    }
}

impl fmt::Display for SkippedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(server) = &self.server {
            write!(f, "`{server}` of ")?;
        }
        let Self {
            file,
            message,
            code,
            ..
        } = self;
        write!(f, "`{file}` cannot be used")?;
        if let Some((line, column)) = self.place {
            write!(f, " at {line}:{column}")?;
        }
        write!(f, ": {message} [{code}]")
    }
}
