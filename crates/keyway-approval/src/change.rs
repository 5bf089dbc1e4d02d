//! What changed since a person said yes.

use keyway_secret::escaped;

use crate::Question;
use crate::fact::Fact;
use crate::manifest::{FileChange, Manifest};
use crate::record::Approval;
use crate::store::ApprovalStore;

/// What differs from what was approved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// What was approved before looked at less than this version does, so that all of it is new.
    pub is_older_version: bool,
    /// What was approved and is no more.
    pub removed: Vec<Fact>,
    /// What was not approved.
    pub added: Vec<Fact>,
    /// The files that differ, by name, as far as they are known one by one.
    pub files: Vec<(String, FileChange)>,
}

impl Changes {
    /// Compares a question with what was approved last for its entry; `None` if nothing was, or if
    /// an approval covers the question as it is.
    ///
    /// A store that cannot be read has nothing to compare with.
    #[must_use]
    pub fn since(question: &Question, store: &dyn ApprovalStore) -> Option<Self> {
        let (source, server) = (&question.source, &question.server);
        let approval = store.find(source, server).ok()??;
        if approval.covers(&question.digest) {
            return None;
        }
        let files = store.find_files(source, server).ok().flatten();
        Some(Self::between(&approval, question, files.as_ref()))
    }

    pub(crate) fn between(
        approval: &Approval,
        question: &Question,
        files: Option<&Manifest>,
    ) -> Self {
        let Some(before) = approval.last_facts() else {
            return Self {
                is_older_version: true,
                ..Self::default()
            };
        };
        let now = &question.facts;
        // Cautions are made for every question, and never stored.
        let same = |one: &Fact, other: &Fact| {
            let key = |fact: &Fact| (fact.kind, fact.masked);
            key(one) == key(other) && one.name == other.name && one.value == other.value
        };
        let missing = |facts: &[Fact], others: &[Fact]| -> Vec<Fact> {
            let is_missing = |fact: &&Fact| !others.iter().any(|other| same(fact, other));
            facts.iter().filter(is_missing).cloned().collect()
        };
        Self {
            is_older_version: false,
            removed: missing(before, now),
            added: missing(now, before),
            files: changed_files(approval, question, files),
        }
    }

    /// Returns the difference line by line: `-` and `+` in front of facts, `~` in front of files.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines_with_files(usize::MAX)
    }

    /// Returns the same with so many files at most, and how the others are listed.
    #[must_use]
    pub fn lines_with_files(&self, most: usize) -> Vec<String> {
        let mut lines = Vec::new();
        if self.is_older_version {
            lines.push(OLDER_VERSION.to_owned());
        }
        let fact = |sign: char, fact: &Fact| {
            let line = format!("{sign} {:<9} {}", fact.kind.label(), fact.text());
            line.trim_end().to_owned()
        };
        lines.extend(self.removed.iter().map(|it| fact('-', it)));
        lines.extend(self.added.iter().map(|it| fact('+', it)));
        let named = self.files.iter().take(most);
        lines.extend(
            named.map(|(path, change)| format!("~ {} ({})", escaped(path), change.as_str())),
        );
        let more = self.files.len().saturating_sub(most);
        if more > 0 {
            lines.push(format!(
                "~ and {more} more files (`keyway status --format json` lists all)"
            ));
        }
        if lines.is_empty() {
            lines.push("~ the files that it runs".to_owned());
        }
        lines
    }
}

/// Returns the files that differ: those of the plugin's tree, and those that count beside it.
fn changed_files(
    approval: &Approval,
    question: &Question,
    files: Option<&Manifest>,
) -> Vec<(String, FileChange)> {
    let mut changed = files
        .map(|files| question.files.changes_since(files))
        .unwrap_or_default();
    let (before, now) = (approval.last_named_files(), question.files.beside_tree());
    let before = before.unwrap_or(&now);
    for (path, content) in &now {
        match before.get(path) {
            None => changed.push((path.clone(), FileChange::Added)),
            Some(old) if old != content => changed.push((path.clone(), FileChange::Changed)),
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    changed.extend(gone.map(|path| (path.clone(), FileChange::Removed)));
    changed.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    changed
}

const OLDER_VERSION: &str =
    "it was approved with an earlier version of Keyway, which checked less than this one";
