//! Applies fixes in memory, round by round, and writes the files that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use keyway::load::Loaded;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::edit::{self, Applicability, Edit, Fix};
use keyway_config::source::Source;

use crate::error::CliError;
use crate::report::diff::{Diff, TextKind};
use crate::report::document;

/// What the fixes changed.
#[derive(Debug, Default)]
pub(super) struct Fixes {
    /// How many were applied.
    pub(super) count: usize,
    /// The files, each once.
    pub(super) changes: Vec<Change>,
}

/// A file before and after.
#[derive(Debug)]
pub(super) struct Change {
    before: Source,
    after: Source,
    kind: TextKind,
    path: Option<PathBuf>,
}

/// Applies every fix up to `level` until none is left, and changes `plugins` accordingly.
pub(super) fn apply(
    plugins: &mut [Loaded],
    level: Applicability,
    lint: impl Fn(&Loaded) -> Vec<Diagnostic>,
) -> Fixes {
    let mut fixes = Fixes::default();
    let mut changed = BTreeSet::new();
    for loaded in plugins {
        let original = loaded.clone();
        let mut files = BTreeSet::new();
        let mut count = 0;
        for _ in 0..MAX_ROUNDS {
            let found = lint(loaded);
            let round = Round::choose(loaded, &found, level);
            if round.count == 0 {
                break;
            }
            count += round.count;
            for (file, edits) in round.edits {
                let text = loaded
                    .source(&file)
                    .map(|source| edit::apply(source.text(), &edits));
                loaded.set_text(&file, &text.unwrap_or_default());
                files.insert(file);
            }
        }
        let new = files
            .iter()
            .filter_map(|file| change(&original, loaded, file));
        // The same file given twice gets the same fixes twice; it is changed once.
        let new: Vec<Change> = new
            .filter(|change| changed.insert(change.identity()))
            .collect();
        if !new.is_empty() {
            fixes.count += count;
        }
        fixes.changes.extend(new);
    }
    fixes
}

impl Fixes {
    /// Writes every changed file; those before a failure stay written, each of them whole.
    pub(super) fn write(&self) -> Result<(), CliError> {
        for change in &self.changes {
            if let Some(path) = &change.path {
                let (before, after) = (change.before.text(), change.after.text());
                keyway::write::replace(path, before.as_bytes(), after.as_bytes())?;
            }
        }
        Ok(())
    }
}

impl Change {
    /// Shows the change.
    pub(super) fn diff(&self) -> String {
        let Self {
            before,
            after,
            kind,
            ..
        } = self;
        let kind = *kind;
        Diff {
            before,
            after,
            kind,
            ours: &[],
        }
        .render()
    }

    fn identity(&self) -> PathBuf {
        let canonical = self.path.as_ref().and_then(|path| path.canonicalize().ok());
        canonical.unwrap_or_else(|| self.before.path().into())
    }
}

fn change(original: &Loaded, fixed: &Loaded, file: &str) -> Option<Change> {
    let (before, after) = (original.source(file)?, fixed.source(file)?);
    (before.text() != after.text()).then(|| Change {
        before: before.clone(),
        after: after.clone(),
        kind: match document(original, file) {
            Some(_) => TextKind::Document,
            None => TextKind::Prose,
        },
        path: original.path_of(file).map(PathBuf::from),
    })
}

/// The fixes that can be applied together.
#[derive(Default)]
struct Round<'a> {
    count: usize,
    edits: BTreeMap<Arc<str>, Vec<&'a Edit>>,
}

impl<'a> Round<'a> {
    fn choose(loaded: &Loaded, found: &'a [Diagnostic], level: Applicability) -> Self {
        let mut round = Self::default();
        for fix in found.iter().filter_map(|found| found.fix.as_ref()) {
            let is_wanted =
                level == Applicability::Unsafe || fix.applicability == Applicability::Safe;
            if is_wanted && is_possible(loaded, fix) && round.has_room_for(fix) {
                round.count += 1;
                for edit in &fix.edits {
                    round.edits.entry(edit.file.clone()).or_default().push(edit);
                }
            }
        }
        round
    }

    /// Says whether no edit of the fix touches one that was chosen; it is all or none.
    fn has_room_for(&self, fix: &Fix) -> bool {
        let is_free = |edit: &Edit| {
            let chosen = self.edits.get(&edit.file).map(Vec::as_slice);
            let mut chosen = chosen.unwrap_or_default().iter();
            chosen.all(|chosen| {
                chosen.span.end < edit.span.start || edit.span.end < chosen.span.start
            })
        };
        !fix.edits.is_empty() && fix.edits.iter().all(is_free)
    }
}

/// Says whether every file of the fix was read as it is on disk.
fn is_possible(loaded: &Loaded, fix: &Fix) -> bool {
    fix.edits.iter().all(|edit| {
        let source = loaded.source(&edit.file);
        source.is_some_and(|source| source.defect().is_none())
    })
}

/// A fix may enable another; more rounds than this mean that two undo each other.
const MAX_ROUNDS: usize = 5;
