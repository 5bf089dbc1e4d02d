//! A launcher that waits for what it is to start.
//!
//! ```text
//! none ── start_ahead ──> waits ── a program with the same namespaces ──> that program's
//!                           └──── any other program, no program, or the last clone gone ──> killed
//! ```

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::process::Starting;

/// The launcher that was started ahead, if any; shared by clones. The lock is held for one exchange.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead(Arc<Mutex<Option<(&'static str, Starting)>>>);

impl Ahead {
    /// Keeps a launcher for the namespaces that a word names.
    pub(super) fn put(&self, namespaces: &'static str, starting: io::Result<Starting>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = starting.ok().map(|starting| (namespaces, starting));
    }

    /// Returns the launcher if it is one for these namespaces; any other is killed.
    pub(super) fn take(&self, namespaces: &str) -> Option<Starting> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fits = waiting.filter(|(word, _)| *word == namespaces);
        fits.map(|(_, starting)| starting)
    }
}
