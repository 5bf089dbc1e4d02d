//! From the text of `config.toml` to settings and diagnostics.

use keyway_config::diagnostic::Diagnostic;
use keyway_config::source::Source;

use super::{Around, Settings, build, tree};

/// A file that was read: what was understood of it, and what is wrong with it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Parsed {
    /// What was understood.
    pub settings: Settings,
    /// What is wrong; with any of these nothing should be connected to, because what the person
    /// meant is not known.
    pub diagnostics: Vec<Diagnostic>,
}

impl Settings {
    /// Reads the text of a file under the name to show in messages; at most 1 MiB.
    #[must_use]
    pub fn parse(file: &str, bytes: &[u8], around: Around<'_>) -> Parsed {
        let source = Source::new(file, bytes);
        let mut found = tree::read(&source);
        let settings = build::settings(&mut found, around);
        let mut diagnostics = found.into_diagnostics();
        let place = |finding: &Diagnostic| finding.location.as_ref().map(|place| place.span);
        diagnostics.sort_by_key(place);
        Parsed {
            settings,
            diagnostics,
        }
    }
}
