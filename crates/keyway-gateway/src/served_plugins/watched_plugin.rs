//! One plugin that is served, and what it was when it could last be read.

use std::path::PathBuf;
use std::sync::Arc;

use keyway::load::Loaded;

/// One plugin.
///
/// ```text
/// loaded ──file gone──▶ missed ──still gone──▶ removed ──file back──▶ loaded
///   └──broken file──▶ loaded as before, and a note says why
/// not there yet ──file made──▶ loaded
/// ```
#[derive(Debug)]
pub(super) struct WatchedPlugin {
    pub(super) path: PathBuf,
    /// As it was when it last could be read; none if it is gone.
    pub(super) loaded: Option<Arc<Loaded>>,
    /// What was wrong with it when that was last said.
    pub(super) told: Option<String>,
    pub(super) is_missed: bool,
}

impl WatchedPlugin {
    pub(super) fn name(&self) -> Option<String> {
        Some(self.loaded.as_ref()?.plugin.name())
    }

    /// Returns a file that could be used before, or was not there, and cannot be used now.
    pub(super) fn newly_broken(&self, now: &Loaded) -> Option<String> {
        let was_broken = |file: &str| {
            let before = self.loaded.as_ref().map(|it| it.plugin.documents.iter());
            let mut before = before.into_iter().flatten();
            before.any(|it| it.source.path() == file && !it.is_usable())
        };
        let mut documents = now.plugin.documents.iter();
        let broken = documents.find(|it| !it.is_usable() && !was_broken(it.source.path()));
        broken.map(|document| document.source.path().to_owned())
    }
}
