//! What a check found, and the formats in which it is printed.
//!
//! Every renderer takes the same [`Report`] and gives text; none of them prints. Source text is
//! shown only through [`Mask`], since it may hold the very secret that the finding is about.

mod github;
mod human;
pub mod json;
mod sarif;

use std::collections::HashMap;

use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::document::Document;
use keyway_config::names::stable_id;
use keyway_config::source::Source;
use keyway_files::error::LoadError;
use keyway_files::load::Loaded;
use keyway_lint::mask::{self, Mask};

pub use self::human::counted;

/// What a check found.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was looked at.
    plugins: &'a [Loaded],
    /// What was found, in the order to print it.
    diagnostics: Vec<Diagnostic>,
    /// What could not be looked at.
    failures: &'a [LoadError],
    /// How many findings were accepted by notes or known from a baseline.
    suppressed: usize,
}

/// How much to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Errors, warnings and a summary.
    Normal,
    /// Notes as well.
    Verbose,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// For people, with the lines in question.
    Human,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
}

/// How the human format looks.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    verbosity: Verbosity,
    colors: bool,
}

impl Look {
    /// Sets how much is shown, without colors.
    #[must_use]
    pub const fn new(verbosity: Verbosity) -> Self {
        let colors = false;
        Self { verbosity, colors }
    }

    /// Sets whether colors are used.
    #[must_use]
    pub const fn colors(mut self, colors: bool) -> Self {
        self.colors = colors;
        self
    }
}

impl<'a> Report<'a> {
    /// Puts a report together.
    ///
    /// Rules never quote a secret; should one quote a name that contains a token, it is
    /// masked here.
    #[must_use]
    pub fn new(
        plugins: &'a [Loaded],
        mut diagnostics: Vec<Diagnostic>,
        failures: &'a [LoadError],
    ) -> Self {
        mask::in_diagnostics(&mut diagnostics);
        Self {
            plugins,
            diagnostics,
            failures,
            suppressed: 0,
        }
    }

    /// Sets how many findings were left out because a suppression accepts them.
    #[must_use]
    pub const fn with_suppressed(mut self, suppressed: usize) -> Self {
        self.suppressed = suppressed;
        self
    }

    /// Returns what could not be looked at.
    #[must_use]
    pub const fn failures(&self) -> &[LoadError] {
        self.failures
    }

    /// Returns what was found.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns how many files of entries were looked at.
    #[must_use]
    pub fn file_count(&self) -> usize {
        let documents = self.plugins.iter();
        documents.map(|found| found.plugin.documents.len()).sum()
    }

    /// Says whether there was nothing to look at.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.plugins.is_empty()
    }

    /// Renders the report; the text ends with a line break unless it is empty.
    #[must_use]
    pub fn render(&self, format: Format, look: Look) -> String {
        match format {
            Format::Human => human::render(self, look),
            Format::Json => json::render(self),
            Format::Sarif => sarif::render(self),
            Format::Github => github::render(self),
        }
    }

    /// Says whether the check failed.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        !self.failures.is_empty() || self.count(Severity::Error) > 0
    }

    /// Counts the findings of a severity.
    fn count(&self, severity: Severity) -> usize {
        let found = self.diagnostics.iter();
        found.filter(|found| found.severity == severity).count()
    }

    /// Finds the texts that findings point into, each masked.
    fn texts(&self) -> HashMap<&str, Text<'_>> {
        let mut texts = HashMap::new();
        for diagnostic in &self.diagnostics {
            let own = diagnostic.location.iter();
            let related = diagnostic.related.iter().map(|related| &related.location);
            for location in own.chain(related) {
                let file = &*location.file;
                if texts.contains_key(file) {
                    continue;
                }
                if let Some(text) = self.text(file) {
                    texts.insert(file, text);
                }
            }
        }
        texts
    }

    fn plugin(&self, file: &str) -> Option<&Loaded> {
        let mut plugins = self.plugins.iter();
        plugins.find(|found| found.source(file).is_some())
    }

    /// Returns the folder of the plugin that a file belongs to, as a person would write it.
    fn folder(&self, file: &str) -> String {
        let folder = self.plugin(file).map(|found| found.plugin.shown(""));
        let folder = folder.unwrap_or_default();
        folder.trim_end_matches('/').to_owned()
    }

    fn text(&self, file: &str) -> Option<Text<'_>> {
        let loaded = self.plugin(file)?;
        let source = loaded.source(file)?;
        let document = document(loaded, file);
        let mask = Mask::new(source, document.map(|found| &found.tree), &self.diagnostics);
        Some(Text { source, mask })
    }
}

/// A file's text together with what must not be seen of it.
#[derive(Debug)]
struct Text<'a> {
    source: &'a Source,
    mask: Mask,
}

/// Names a finding by what stays when lines move: rule, file, place in the document and message.
/// `file` is its name in a record that says the same wherever the program is started.
pub(crate) fn identity_in(diagnostic: &Diagnostic, file: &str) -> String {
    let location = diagnostic.location.as_ref();
    let pointer = location.map_or("", |location| location.pointer.as_str());
    let parts = [diagnostic.code.as_str(), file, pointer, &diagnostic.message];
    stable_id(&parts)
}

/// Returns the document of that name, if it is one.
pub(crate) fn document<'a>(loaded: &'a Loaded, file: &str) -> Option<&'a Document> {
    let mut documents = loaded.plugin.documents.iter();
    documents.find(|document| document.source.path() == file)
}

#[cfg(test)]
mod tests;
