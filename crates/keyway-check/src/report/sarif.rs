//! `--format sarif`: SARIF 2.1.0, for code scanning services.
//!
//! Text of the file itself is never part of it: no snippets, and no fix that would carry a value.
//! Files of a repository are named from its top, as code scanning wants them, wherever the program
//! is started; fingerprints go by these names.

use std::collections::HashMap;

use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::edit::Fix;
use keyway_config::source::{Location, Span};
use keyway_lint::RULES;
use keyway_lint::mask::{in_name, looks_secret};
use serde_json::{Value, json};

use super::{Report, Text, identity_in};
use crate::file_names::{from_repository, from_root};

/// Renders the report.
pub(super) fn render(report: &Report<'_>) -> String {
    let files = Files::of(report);
    let found = report.diagnostics.iter();
    let results = found.map(|found| result(found, &files));
    let failures = report
        .failures
        .iter()
        .map(|failure| json!({"level": "error", "message": {"text": failure.to_string()}}));
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "keyway",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": RULES.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.failures.is_empty(),
                "toolExecutionNotifications": failures.collect::<Vec<_>>(),
            }],
            "results": results.collect::<Vec<_>>(),
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn rule(rule: &keyway_lint::Rule) -> Value {
    json!({
        "id": rule.id.as_str(),
        "shortDescription": {"text": rule.summary},
        // `helpUri` must be absolute, and the pages have no address of their own.
        "help": {"text": format!("See `docs/rules/{}.md` in the documentation of keyway.", rule.id)},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

/// The files that findings point into.
struct Files<'a> {
    texts: HashMap<&'a str, Text<'a>>,
    /// Names from the top of the repository, of those that are in one.
    names: HashMap<&'a str, String>,
}

impl<'a> Files<'a> {
    fn of(report: &'a Report<'_>) -> Self {
        let texts = report.texts();
        let found = report.diagnostics.iter();
        let places = found.flat_map(|found| {
            let related = found.related.iter().map(|related| &related.location);
            found.location.iter().chain(related)
        });
        let mut names = HashMap::new();
        for place in places {
            let file: &str = &place.file;
            // Each file is looked up once.
            if !names.contains_key(file) {
                names.insert(file, from_repository(file));
            }
        }
        let names = names.into_iter();
        let names = names.filter_map(|(file, name)| Some((file, name?)));
        Self {
            texts,
            names: names.collect(),
        }
    }

    /// The name that fingerprints go by; without a repository it is good on this machine alone.
    fn recorded(&self, file: &str) -> String {
        let name = self.names.get(file).cloned();
        name.unwrap_or_else(|| from_root(file))
    }

    fn artifact(&self, file: &str) -> Value {
        match self.names.get(file) {
            Some(name) => json!({"uri": uri(name), "uriBaseId": "%SRCROOT%"}),
            None => json!({"uri": uri(file)}),
        }
    }
}

fn result(diagnostic: &Diagnostic, files: &Files<'_>) -> Value {
    let text = match &diagnostic.hint {
        Some(hint) => format!("{}\n{hint}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let file = diagnostic.location.as_ref().map_or("", |it| &it.file);
    let mut result = json!({
        "ruleId": diagnostic.code.as_str(),
        "level": level(diagnostic.severity),
        "message": {"text": text},
        "partialFingerprints": {"keywayFinding/v1": identity_in(diagnostic, &files.recorded(file))},
    });
    let Some(object) = result.as_object_mut() else {
        return result;
    };
    if let Some(index) = RULES.iter().position(|rule| rule.id == diagnostic.code) {
        object.insert("ruleIndex".to_owned(), json!(index));
    }
    if let Some(location) = &diagnostic.location {
        object.insert(
            "locations".to_owned(),
            json!([place(location, None, files)]),
        );
    }
    if let Some(related) = &diagnostic.related {
        let place = place(&related.location, Some(&related.message), files);
        object.insert("relatedLocations".to_owned(), json!([place]));
    }
    if let Some(fix) = diagnostic
        .fix
        .as_ref()
        .filter(|fix| is_showable(fix, &files.texts))
    {
        object.insert("fixes".to_owned(), json!([changes(fix, files)]));
    }
    result
}

fn place(location: &Location, message: Option<&str>, files: &Files<'_>) -> Value {
    let mut place = json!({
        "physicalLocation": {
            "artifactLocation": files.artifact(&location.file),
            "region": {
                "startLine": location.start.line,
                "startColumn": location.start.column,
                "endLine": location.end.line,
                "endColumn": location.end.column,
            },
        },
        "logicalLocations": [{"fullyQualifiedName": in_name(location.pointer.as_str())}],
    });
    if let (Some(object), Some(message)) = (place.as_object_mut(), message) {
        object.insert("message".to_owned(), json!({"text": message}));
    }
    place
}

/// Says whether a fix neither takes away nor brings in anything that is hidden in the file.
fn is_showable(fix: &Fix, texts: &HashMap<&str, Text<'_>>) -> bool {
    fix.edits.iter().all(|edit| {
        let text = texts.get(&*edit.file);
        text.is_some_and(|text| !text.mask.touches(edit.span)) && !looks_secret(&edit.replacement)
    })
}

fn changes(fix: &Fix, files: &Files<'_>) -> Value {
    let changes = fix.edits.iter().filter_map(|edit| {
        let region = region(edit.span, files.texts.get(&*edit.file)?);
        Some(json!({
            "artifactLocation": files.artifact(&edit.file),
            "replacements": [{
                "deletedRegion": region,
                "insertedContent": {"text": edit.replacement},
            }],
        }))
    });
    json!({
        "description": {"text": fix.title},
        "artifactChanges": changes.collect::<Vec<_>>(),
    })
}

fn region(span: Span, text: &Text<'_>) -> Value {
    let (start, end) = (
        text.source.position(span.start),
        text.source.position(span.end),
    );
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    }
}

/// Makes a path a URI reference (RFC 3986 §4.2).
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
