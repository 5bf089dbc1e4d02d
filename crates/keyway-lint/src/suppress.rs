//! What an author wrote beside a finding to accept it: a rule, and the reason.
//!
//! In JSON it is a key `_keyway_ignore` of the entry or of the file, as in
//! `"_keyway_ignore": {"unpinned-package": "pinned by the lock file"}`; where comments are allowed,
//! and in prose and scripts, it is `keyway-ignore RULE: reason` in a comment on the line itself or
//! on the one above. Only `keyway check` looks at them: what is approved, resolved or sent does not
//! depend on them.

use std::cell::Cell;

use keyway_code::Code;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::document::Document;
use keyway_config::json::{Node, Object, Value};
use keyway_config::plugin::Plugin;
use keyway_config::source::{Pointer, Source, Span};
use keyway_secret::printable;

use crate::rules::RULES;

/// What is left of the findings about a plugin.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Applied {
    /// The findings that no note accepts, and the notes that accept nothing.
    pub kept: Vec<Diagnostic>,
    /// How many were accepted.
    pub suppressed: usize,
}

/// Drops the findings that the plugin's own files accept with a reason.
///
/// `pedantic` says whether the rules ran that are left out otherwise: a note about one that did not
/// run is not called unused.
#[must_use]
pub fn apply(plugin: &Plugin, found: Vec<Diagnostic>, pedantic: bool) -> Applied {
    let notes = notes_in(plugin);
    let mut applied = Applied::default();
    for diagnostic in found {
        let mut fitting = notes.iter().filter(|note| note.accepts(&diagnostic));
        if let Some(note) = fitting.next() {
            note.is_used.set(true);
            applied.suppressed += 1;
        } else {
            applied.kept.push(diagnostic);
        }
    }
    let unused = notes.iter().filter_map(|note| note.complaint(pedantic));
    applied.kept.extend(unused);
    applied
}

/// A note in a file.
struct Note<'a> {
    source: &'a Source,
    span: Span,
    pointer: Pointer,
    rule: String,
    reason: String,
    reach: NoteScope,
    is_used: Cell<bool>,
}

/// Which findings of the file a note is about.
enum NoteScope {
    /// All of the file.
    File,
    /// Those about an entry.
    Below(Pointer),
    /// Those that begin on these lines.
    Lines(u32, u32),
}

impl Note<'_> {
    fn accepts(&self, diagnostic: &Diagnostic) -> bool {
        let Some(location) = &diagnostic.location else {
            return false;
        };
        let is_here = match &self.reach {
            NoteScope::File => true,
            NoteScope::Below(pointer) => {
                let below = location.pointer.as_str().strip_prefix(pointer.as_str());
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            NoteScope::Lines(first, last) => (*first..=*last).contains(&location.start.line),
        };
        is_here
            && !self.reason.is_empty()
            && diagnostic.code.as_str() == self.rule
            && &*location.file == self.source.path()
    }

    /// Says what is wrong with the note, if it accepts nothing.
    fn complaint(&self, pedantic: bool) -> Option<Diagnostic> {
        let rule = RULES.iter().find(|rule| rule.id.as_str() == self.rule);
        let shown = printable(&self.rule);
        let (message, hint) = match rule {
            None => (
                format!("there is no rule `{shown}` to ignore"),
                "`keyway explain RULE` knows the names of rules",
            ),
            Some(_) if self.reason.is_empty() => (
                format!("`{shown}` is not ignored without a reason"),
                "write why the finding is accepted behind the name of the rule",
            ),
            Some(_) if self.is_used.get() => return None,
            Some(rule) if rule.is_pedantic() && !pedantic => return None,
            Some(_) => (
                format!("nothing here is reported by `{shown}`, so there is nothing to ignore"),
                "remove the note",
            ),
        };
        let mut diagnostic = Diagnostic::new(Code::UnusedSuppression, Severity::Warning, message);
        diagnostic.location = Some(self.source.locate(self.span, &self.pointer));
        diagnostic.hint = Some(hint.to_owned());
        Some(diagnostic)
    }
}

fn notes_in(plugin: &Plugin) -> Vec<Note<'_>> {
    let mut notes = Vec::new();
    for document in &plugin.documents {
        keys(document, &mut notes);
        if document.syntax.is_json() {
            comments_of_json(document, &mut notes);
        } else {
            comments(&document.source, &["#"], &mut notes);
        }
    }
    for source in &plugin.snapshot.prose {
        comments(source, &["#", "//", "<!--"], &mut notes);
    }
    notes
}

/// The keys of the file and of its entries.
fn keys<'a>(document: &'a Document, notes: &mut Vec<Note<'a>>) {
    let root = document.tree.root.as_ref().and_then(Node::as_object);
    let whole = root.map(|root| (root, Pointer::default(), NoteScope::File));
    let entries = document.entries.iter().filter_map(|entry| {
        let object = document.object_of(entry)?;
        let reach = NoteScope::Below(entry.pointer.clone());
        Some((object, entry.pointer.clone(), reach))
    });
    for (object, pointer, reach) in whole.into_iter().chain(entries) {
        key(document, object, (&pointer, &reach), notes);
    }
}

fn key<'a>(
    document: &'a Document,
    object: &Object,
    (pointer, reach): (&Pointer, &NoteScope),
    notes: &mut Vec<Note<'a>>,
) {
    let Some(member) = object.get(KEY) else {
        return;
    };
    let pointer = pointer.child(KEY);
    let mut add = |rule: &str, reason: &str, span: Span| {
        notes.push(Note {
            source: &document.source,
            span,
            pointer: pointer.clone(),
            rule: rule.trim().to_owned(),
            reason: reason.trim().to_owned(),
            reach: match reach {
                NoteScope::Below(entry) => NoteScope::Below(entry.clone()),
                _ => NoteScope::File,
            },
            is_used: Cell::new(false),
        });
    };
    match &member.value.value {
        Value::Object(rules) => {
            for rule in &rules.members {
                let reason = rule.value.as_str().unwrap_or_default();
                add(&rule.key, reason, rule.key_span);
            }
        }
        Value::Array(items) => {
            for item in items {
                let (rule, reason) = split(item.as_str().unwrap_or_default());
                add(rule, reason, item.span);
            }
        }
        Value::String(text) => {
            let (rule, reason) = split(text);
            add(rule, reason, member.value.span);
        }
        _ => add("", "", member.value.span),
    }
}

/// The comments of JSON are known by place, so that a string is not taken for one.
fn comments_of_json<'a>(document: &'a Document, notes: &mut Vec<Note<'a>>) {
    let faults = document.tree.faults.iter();
    let comments = faults.filter(|fault| fault.kind == keyway_config::json::FaultKind::Comment);
    for fault in comments {
        let text = document.source.slice(fault.span);
        let start = fault.span.start as usize;
        note_in(&document.source, (text, start), notes);
    }
}

/// Comments by their beginning, line by line.
fn comments<'a>(source: &'a Source, marks: &[&str], notes: &mut Vec<Note<'a>>) {
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let before = line.find(WORD).and_then(|at| line.get(..at));
        if before.is_some_and(|before| marks.iter().any(|mark| before.contains(mark))) {
            note_in(source, (line, start), notes);
        }
        start += line.len();
    }
}

/// Reads `keyway-ignore RULE: reason` in a comment.
fn note_in<'a>(source: &'a Source, (text, start): (&str, usize), notes: &mut Vec<Note<'a>>) {
    let Some(at) = text.find(WORD) else {
        return;
    };
    let rest = text.get(at + WORD.len()..).unwrap_or_default();
    let rest = rest.lines().next().unwrap_or_default();
    let rest = rest
        .trim_end()
        .trim_end_matches("-->")
        .trim_end_matches("*/");
    let (rule, reason) = split(rest);
    let span = Span::new(start + at, start + at + WORD.len() + rest.len());
    let line = source.position(span.start).line;
    notes.push(Note {
        source,
        span,
        pointer: Pointer::default(),
        rule: rule.trim().to_owned(),
        reason: reason.trim().to_owned(),
        reach: NoteScope::Lines(line, line.saturating_add(1)),
        is_used: Cell::new(false),
    });
}

fn split(text: &str) -> (&str, &str) {
    text.trim().split_once(':').unwrap_or((text.trim(), ""))
}

const KEY: &str = "_keyway_ignore";
const WORD: &str = "keyway-ignore ";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Context, lint};

    fn applied(path: &str, text: &str) -> (Vec<String>, usize) {
        let plugin = Plugin::from_text("/plugin", path, text);
        let found = lint(&Context::new(&plugin));
        let applied = apply(&plugin, found, false);
        let kept = applied.kept.iter();
        let kept = kept.map(|it| format!("{}: {}", it.code, it.message));
        (kept.collect(), applied.suppressed)
    }

    const ENTRY: &str = r#""s": {"type": "http", "url": "http://h.example/mcp"NOTE}"#;

    fn with(note: &str) -> (Vec<String>, usize) {
        let entry = ENTRY.replace("NOTE", note);
        applied(".mcp.json", &format!(r#"{{"mcpServers": {{{entry}}}}}"#))
    }

    #[test]
    fn a_key_of_the_entry_accepts_what_is_found_there() {
        for note in [
            r#", "_keyway_ignore": {"insecure-url": "a lab without certificates"}"#,
            r#", "_keyway_ignore": ["insecure-url: a lab"]"#,
            r#", "_keyway_ignore": "insecure-url: a lab""#,
        ] {
            assert_eq!(with(note), (vec![], 1), "{note}");
        }
        assert_eq!(with("").1, 0);
    }

    #[test]
    fn without_a_reason_or_a_rule_nothing_is_accepted() {
        let (kept, suppressed) = with(r#", "_keyway_ignore": "insecure-url""#);
        assert_eq!(suppressed, 0);
        assert!(
            kept.iter().any(|it| it.starts_with("insecure-url")),
            "{kept:?}"
        );
        assert!(
            kept.iter().any(|it| it.contains("without a reason")),
            "{kept:?}"
        );
        let (kept, _) = with(r#", "_keyway_ignore": {"no-such-rule": "x"}"#);
        assert!(
            kept.iter().any(|it| it.contains("there is no rule")),
            "{kept:?}"
        );
    }

    #[test]
    fn a_note_that_accepts_nothing_is_reported() {
        let (kept, suppressed) = with(r#", "_keyway_ignore": {"literal-secret": "a test key"}"#);
        assert_eq!(suppressed, 0);
        assert!(
            kept.iter().any(|it| it.starts_with("unused-suppression")),
            "{kept:?}"
        );
    }

    #[test]
    fn a_key_of_the_file_accepts_everywhere_and_a_comment_on_its_line() {
        let entry = ENTRY.replace("NOTE", "");
        let text = format!(
            r#"{{"_keyway_ignore": {{"insecure-url": "a lab"}}, "mcpServers": {{{entry}}}}}"#
        );
        assert_eq!(applied(".mcp.json", &text), (vec![], 1));
        let text =
            format!("{{\"servers\": {{\n// keyway-ignore insecure-url: a lab\n{entry}\n}}}}");
        assert_eq!(applied(".vscode/mcp.json", &text), (vec![], 1));
        let text =
            "[mcp_servers.s]\nurl = \"http://h.example\" # keyway-ignore insecure-url: a lab\n";
        assert_eq!(applied(".codex/config.toml", text), (vec![], 1));
    }

    #[test]
    fn a_string_that_looks_like_a_comment_accepts_nothing() {
        let text = "{\"mcpServers\": {\"s\": {\"type\": \"http\",\n\"url\": \"http://h.example/# keyway-ignore insecure-url: x\"}}}";
        assert_eq!(applied(".mcp.json", text).1, 0);
    }
}
