//! Changes to a file as replacements of spans, so that layout, comments and key order survive.

use std::fmt;
use std::sync::Arc;

use crate::json::{Object, quote};
use crate::source::{Source, Span};

/// A change that fixes a finding.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fix {
    /// What it does, in the imperative.
    pub title: String,
    /// Whether it may be applied without thinking.
    pub applicability: Applicability,
    /// The replacements, all or none.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Makes a fix of replacements that belong together.
    #[must_use]
    pub fn new(title: impl Into<String>, applicability: Applicability, edits: Vec<Edit>) -> Self {
        Self {
            title: title.into(),
            applicability,
            edits,
        }
    }
}

/// Whether a fix keeps the meaning of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Applicability {
    /// The entry works as before, or as was plainly meant.
    Safe,
    /// Something may behave differently, or a person has to do something as well.
    Unsafe,
}

/// One replacement in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edit {
    /// The file, as in its [`Source`].
    pub file: Arc<str>,
    /// What is replaced; empty to insert.
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

impl Edit {
    /// Replaces `span` of `source`.
    #[must_use]
    pub fn replace(source: &Source, span: Span, replacement: impl Into<String>) -> Self {
        Self {
            file: source.shared_path(),
            span,
            replacement: replacement.into(),
        }
    }

    /// Removes the member at `index` together with the comma that belonged to it.
    ///
    /// Comments around it stay: they may be about its neighbours.
    #[must_use]
    pub fn remove_member(source: &Source, object: &Object, index: usize) -> Option<Self> {
        let member = object.members.get(index)?;
        let start = member.key_span.start;
        let end = member.value.span.end;
        let before = index
            .checked_sub(1)
            .and_then(|before| object.members.get(before));
        let (span, gap) = match (object.members.get(index + 1), before) {
            (Some(next), _) => {
                let gap = Span {
                    start: end,
                    end: next.key_span.start,
                };
                (
                    Span {
                        start,
                        end: gap.end,
                    },
                    gap,
                )
            }
            (None, Some(before)) => {
                let gap = Span {
                    start: before.value.span.end,
                    end: start,
                };
                (
                    Span {
                        start: gap.start,
                        end,
                    },
                    gap,
                )
            }
            (None, None) => (Span { start, end }, Span { start, end: start }),
        };
        let comments = without_comma(source.slice(gap));
        let comments = if gap.start == end {
            comments.trim_start()
        } else {
            comments.trim_end()
        };
        Some(Self::replace(source, span, comments))
    }

    /// Adds a member behind the one at `index`, laid out like it.
    #[must_use]
    pub fn insert_after(
        source: &Source,
        object: &Object,
        index: usize,
        (key, value): (&str, &str),
    ) -> Option<Self> {
        let member = object.members.get(index)?;
        let line = Span {
            start: source.line_start(member.key_span.start),
            end: member.key_span.start,
        };
        let indent = source.slice(line);
        let separator = if line.start > 0 && indent.trim().is_empty() {
            let newline = if source.text().contains("\r\n") {
                "\r\n"
            } else {
                "\n"
            };
            format!(",{newline}{indent}")
        } else {
            ", ".to_owned()
        };
        let end = member.value.span.end;
        let text = format!("{separator}{}: {value}", quote(key));
        Some(Self::replace(source, Span { start: end, end }, text))
    }
}

/// A whole file before and after. Its texts may hold a secret, so `Debug` leaves them out.
#[derive(Clone)]
#[non_exhaustive]
pub struct TextChange {
    /// The file as a person would write it.
    pub file: Arc<str>,
    /// What was read; `None` if there is no such file yet.
    pub before: Option<String>,
    /// What is to be written.
    pub after: String,
}

impl TextChange {
    /// Makes a change of `file` from `before`, or a new file if there is none.
    #[must_use]
    pub fn new(file: impl Into<Arc<str>>, before: Option<String>, after: String) -> Self {
        Self {
            file: file.into(),
            before,
            after,
        }
    }
}

impl fmt::Debug for TextChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextChange")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// Returns what stands between two members without the comma; commas inside comments stay.
fn without_comma(gap: &str) -> String {
    let mut at = 0;
    while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(after) = rest.strip_prefix(',') {
            return format!("{}{after}", gap.get(..at).unwrap_or_default());
        }
        let comment = if rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            rest.chars().next().map(char::len_utf8)
        };
        at += comment.unwrap_or(rest.len());
    }
    gap.to_owned()
}

/// Applies `edits` to `text` and returns the new text, leaving out every edit that overlaps an
/// earlier one; such a fix is found again on the next run.
#[must_use]
pub fn apply(text: &str, edits: &[&Edit]) -> String {
    let mut ordered: Vec<&Edit> = edits.to_vec();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    ordered.dedup();
    let mut changed = String::with_capacity(text.len());
    let mut at = 0;
    for edit in ordered {
        let range = edit.span.range();
        let Some(kept) = text.get(at..range.start) else {
            continue;
        };
        changed.push_str(kept);
        changed.push_str(&edit.replacement);
        at = range.end;
    }
    changed.push_str(text.get(at..).unwrap_or_default());
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    fn removed(text: &str, index: usize) -> String {
        let source = Source::new("f", text.as_bytes());
        let tree = read(text);
        let object = tree.root.as_ref().unwrap().as_object().unwrap();
        let edit = Edit::remove_member(&source, object, index).unwrap();
        apply(text, &[&edit])
    }

    #[test]
    fn removing_a_member_leaves_valid_json_and_the_layout_of_the_others() {
        let text = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}";
        assert_eq!(removed(text, 0), "{\n  \"b\": 2,\n  \"c\": 3\n}");
        assert_eq!(removed(text, 1), "{\n  \"a\": 1,\n  \"c\": 3\n}");
        assert_eq!(removed(text, 2), "{\n  \"a\": 1,\n  \"b\": 2\n}");
        assert_eq!(removed("{ \"a\": 1 }", 0), "{  }");
    }

    #[test]
    fn comments_around_a_removed_member_stay() {
        let text = "{\n  \"a\": 1, // on a, b\n  \"b\": 2,\n  /* on c */ \"c\": 3\n}";
        assert_eq!(
            removed(text, 0),
            "{\n  // on a, b\n  \"b\": 2,\n  /* on c */ \"c\": 3\n}"
        );
        assert_eq!(
            removed(text, 1),
            "{\n  \"a\": 1, // on a, b\n  /* on c */ \"c\": 3\n}"
        );
        assert_eq!(
            removed(text, 2),
            "{\n  \"a\": 1, // on a, b\n  \"b\": 2\n  /* on c */\n}"
        );
    }

    #[test]
    fn an_inserted_member_is_indented_like_its_neighbour() {
        for (text, expected) in [
            ("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"b\": true\n}"),
            (
                "{\r\n  \"a\": 1\r\n}",
                "{\r\n  \"a\": 1,\r\n  \"b\": true\r\n}",
            ),
            ("{\"a\": 1}", "{\"a\": 1, \"b\": true}"),
        ] {
            let source = Source::new("f", text.as_bytes());
            let tree = read(text);
            let object = tree.root.as_ref().unwrap().as_object().unwrap();
            let edit = Edit::insert_after(&source, object, 0, ("b", "true")).unwrap();
            assert_eq!(apply(text, &[&edit]), expected);
        }
    }

    #[test]
    fn overlapping_edits_do_not_corrupt_the_text() {
        let source = Source::new("f", b"abcdef");
        let first = Edit::replace(&source, Span::new(1, 4), "X");
        let second = Edit::replace(&source, Span::new(2, 5), "Y");
        assert_eq!(apply("abcdef", &[&second, &first]), "aXef");
    }
}
