//! Changes of a file as a unified diff for people; secrets are masked, so it is not a patch.

use keyway_config::edit::TextChange;
use keyway_config::json;
use keyway_config::source::Source;
use keyway_lint::mask::Mask;
use keyway_secret::printable;
use similar::{ChangeTag, TextDiff};

/// A file before and after.
#[derive(Debug, Clone, Copy)]
pub struct Diff<'a> {
    before: &'a Source,
    after: &'a Source,
    kind: TextKind,
    ours: &'a [String],
}

/// What kind of text a file is, which decides what is shown of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextKind {
    /// A configuration file: values are masked by where they stand.
    Document,
    /// Anything else: what is not changed is not shown, since it may hold anything.
    Prose,
}

impl<'a> Diff<'a> {
    /// Compares a file as it was, with empty text for one that is not there yet, and as it would be.
    #[must_use]
    pub const fn new(before: &'a Source, after: &'a Source, kind: TextKind) -> Self {
        Self {
            before,
            after,
            kind,
            ours: &[],
        }
    }

    /// Sets texts of our own making, which are shown wherever they stand in the new file.
    #[must_use]
    pub const fn ours(mut self, ours: &'a [String]) -> Self {
        self.ours = ours;
        self
    }

    /// Renders the changed lines, those of a document with the lines around them.
    #[must_use]
    pub fn render(&self) -> String {
        let diff = TextDiff::from_lines(self.before.text(), self.after.text());
        let (before, after) = (
            masked(self.before, self.kind, &[]),
            masked(self.after, self.kind, self.ours),
        );
        let (before, after) = (lines(&before), lines(&after));
        let context = match self.kind {
            TextKind::Document => CONTEXT,
            TextKind::Prose => 0,
        };
        let mut out = header(self.before.path(), !self.before.text().is_empty());
        for group in diff.grouped_ops(context) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                continue;
            };
            let old = first.old_range().start..last.old_range().end;
            let new = first.new_range().start..last.new_range().end;
            out.push_str(&format!("@@ -{} +{} @@\n", extent(&old), extent(&new)));
            for op in &group {
                for line in diff.iter_changes(op) {
                    let (sign, text) = match line.tag() {
                        ChangeTag::Delete => ('-', line.old_index().and_then(|at| before.get(at))),
                        ChangeTag::Insert => ('+', line.new_index().and_then(|at| after.get(at))),
                        ChangeTag::Equal => (' ', line.old_index().and_then(|at| before.get(at))),
                    };
                    let text = text.copied().unwrap_or_default();
                    let text = printable(text.trim_end_matches(['\r', '\n']));
                    out.push_str(&format!("{sign}{text}\n"));
                }
            }
        }
        out
    }
}

/// Renders what would change in a file; `before` is `None` for one that is not there yet.
#[must_use]
pub fn render_change(file: &str, (before, after): (Option<&str>, &str), kind: TextKind) -> String {
    let before = Source::new(file, before.unwrap_or_default().as_bytes());
    let after = Source::new(file, after.as_bytes());
    Diff::new(&before, &after, kind).render()
}

/// Renders what a migration or a conversion would change in a file.
#[must_use]
pub fn render_text_change(change: &TextChange, kind: TextKind) -> String {
    let texts = (change.before.as_deref(), change.after.as_str());
    render_change(&change.file, texts, kind)
}

/// Renders lines behind the end of a file, of which nothing else is shown.
#[must_use]
pub fn render_added(file: &str, exists: bool, added: &[String]) -> String {
    let mut out = header(file, exists);
    for line in added {
        out.push_str(&format!("+{}\n", printable(line)));
    }
    out
}

fn header(file: &str, exists: bool) -> String {
    let name = printable(file);
    let before = if exists { &name } else { "/dev/null" };
    format!("--- {before}\n+++ {name}\n")
}

fn masked(source: &Source, kind: TextKind, ours: &[String]) -> String {
    let tree = (kind == TextKind::Document).then(|| json::read(source.text()));
    let mask = Mask::new(source, tree.as_ref(), &[]);
    let text = source.text();
    let places = ours.iter().filter(|own| !own.is_empty());
    let places = places.flat_map(|own| text.match_indices(own.as_str()));
    let mut places: Vec<(usize, &str)> = places.collect();
    places.sort_unstable();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (start, own) in places {
        if start >= at {
            out.push_str(&mask.apply(text, at..start));
            out.push_str(own);
            at = start + own.len();
        }
    }
    out.push_str(&mask.apply(text, at..text.len()));
    out
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn extent(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

const CONTEXT: usize = 3;
