//! Applies fixes in memory, round by round, and writes the files that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use keyway_config::diagnostic::Diagnostic;
use keyway_config::edit::{self, Applicability, Edit, Fix};
use keyway_config::source::Source;
use keyway_files::error::WriteError;
use keyway_files::load::Loaded;

use crate::diff::{Diff, TextKind};
use crate::report::document;

/// What fixes changed, or would change.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Fixed {
    /// How many were applied.
    pub count: usize,
    /// The files, each once.
    pub files: Vec<FixedFile>,
}

/// A file before and after its fixes.
#[derive(Debug)]
pub struct FixedFile {
    before: Source,
    after: Source,
    kind: TextKind,
    path: Option<PathBuf>,
}

/// Applies every fix up to `level` until none is left, and changes `plugins` accordingly.
pub(crate) fn apply(
    plugins: &mut [Loaded],
    level: Applicability,
    lint: impl Fn(&Loaded) -> Vec<Diagnostic>,
) -> Fixed {
    let mut fixes = Fixed::default();
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
        let new: Vec<FixedFile> = new
            .filter(|change| changed.insert(change.identity()))
            .collect();
        if !new.is_empty() {
            fixes.count += count;
        }
        fixes.files.extend(new);
    }
    fixes
}

impl Fixed {
    /// Writes every changed file; those before a failure stay written, each of them whole.
    pub(crate) fn write(&self) -> Result<(), WriteError> {
        for change in &self.files {
            if let Some(path) = &change.path {
                let (before, after) = (change.before.text(), change.after.text());
                keyway_files::write::replace(path, before.as_bytes(), after.as_bytes())?;
            }
        }
        Ok(())
    }
}

impl FixedFile {
    /// Shows the change as a diff for people, with secrets masked.
    #[must_use]
    pub fn diff(&self) -> String {
        Diff::new(&self.before, &self.after, self.kind).render()
    }

    fn identity(&self) -> PathBuf {
        let canonical = self.path.as_ref().and_then(|path| path.canonicalize().ok());
        canonical.unwrap_or_else(|| self.before.path().into())
    }
}

fn change(original: &Loaded, fixed: &Loaded, file: &str) -> Option<FixedFile> {
    let (before, after) = (original.source(file)?, fixed.source(file)?);
    (before.text() != after.text()).then(|| FixedFile {
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
