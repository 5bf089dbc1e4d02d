//! `invalid-entry`: an entry, or what should hold the entries, breaks the grammar and is skipped.

use keyway_code::Code;
use keyway_config::declared::{EntryFault, Transport};
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, DocumentKind, Entry, MAX_SERVERS, Wrapper};
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::quote;
use keyway_config::source::{Pointer, Span};

use super::walk::{is_left_out, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidEntry,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Safe),
    summary: "An entry breaks the grammar of the contract, so it is skipped",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        check_wrapper(document, report);
        check_number(document, report);
        for entry in &document.entries {
            let faults = entry.server.as_ref().err().map_or(&[][..], Vec::as_slice);
            check_faults(document, entry, faults, report);
        }
    }
}

fn check_wrapper(document: &Document, report: &mut Report<'_>) {
    let source = &document.source;
    let is_manifest = document.kind == DocumentKind::Manifest;
    match (&document.wrapper, &document.tree.root) {
        // Without strict JSON the root may be whatever the reader made of it.
        (Wrapper::NotAnObject, Some(root)) if document.tree.faults.is_empty() => {
            let message = format!("the file holds {}, not an object", root.kind());
            let wrapper = document.dialect.wrapper();
            report
                .at(source, root.span, &Pointer::default(), message)
                .hint(format!(
                    "begin with `{{ \"{wrapper}\": {{` and one entry for each server"
                ));
        }
        (Wrapper::BadServers { span, pointer }, _) => {
            let mut keys: Vec<String> = pointer.segments().collect();
            // Behind the key may stand a position in its array.
            keys.retain(|key| key.parse::<usize>().is_err());
            let key = keys.pop().unwrap_or_default();
            let (message, hint) = if is_manifest {
                (
                    format!("`{key}` must be a path, an object of entries or an array of those"),
                    "name the file, as in `\"./.mcp.json\"`, or write the entries here".to_owned(),
                )
            } else {
                (
                    format!("`{key}` must be an object of entries"),
                    format!("write `\"{key}\": {{ \"name\": {{ … }} }}`"),
                )
            };
            report.at(source, *span, pointer, message).hint(hint);
        }
        _ => {}
    }
}

/// Reports all entries beyond the limit as one.
fn check_number(document: &Document, report: &mut Report<'_>) {
    if let Some(first) = document.entries.iter().find(|entry| is_left_out(entry)) {
        let number = document.entries.len();
        let message = format!("the file has {number} entries; only {MAX_SERVERS} are read");
        report
            .at(&document.source, first.name_span, &first.pointer, message)
            .hint("split the servers over several plugins");
    }
}

fn check_faults(
    document: &Document,
    entry: &Entry,
    faults: &[EntryFault],
    report: &mut Report<'_>,
) {
    let mut pointers: Vec<&Pointer> = Vec::new();
    for fault in faults {
        if let EntryFault::WrongKind { pointer, .. } = fault {
            // A list of the wrong kind is also an empty one; once is enough.
            if pointers.contains(&pointer) {
                continue;
            }
            pointers.push(pointer);
        }
        check_fault(document, entry, fault, report);
    }
}

fn check_fault(document: &Document, entry: &Entry, fault: &EntryFault, report: &mut Report<'_>) {
    let mut whole = |message: String, hint: &str| {
        report
            .at(&document.source, entry.name_span, &entry.pointer, message)
            .server(&entry.name)
            .hint(hint);
    };
    match fault {
        EntryFault::NotAnObject { found } => whole(
            format!("entry `{}` is {found}, not an object", shown(&entry.name)),
            "write an object with `url` or `command`",
        ),
        EntryFault::BadName => whole(bad_name(&entry.name), "choose another name"),
        EntryFault::NoEndpoint => whole(
            "the entry has neither `url` nor `command`".to_owned(),
            "give it a `url` to connect to or a `command` to start",
        ),
        EntryFault::TwoEndpoints => whole(
            "the entry has both `url` and `command`".to_owned(),
            "keep one of the two, or make two entries",
        ),
        EntryFault::EmptyCommand { span } => {
            let pointer = entry.pointer.child("command");
            report
                .at(&document.source, *span, &pointer, "`command` is empty")
                .server(&entry.name)
                .hint("name the program to start");
        }
        EntryFault::TypeWithoutItsField { transport, span } => {
            wrong_type(document, entry, *transport, *span, report);
        }
        EntryFault::WrongKind { .. } => wrong_kind(document, entry, fault, report),
        EntryFault::BadVariableName { pointer, span } => {
            report
                .at(
                    &document.source,
                    *span,
                    pointer,
                    "not the name of a variable",
                )
                .server(&entry.name)
                .hint("a name has no blank, no `=` and no other characters than ASCII");
        }
        // Told by `unknown-type`, by `duplicate-key` and once for the whole file.
        EntryFault::UnknownType { .. } | EntryFault::RepeatedKey | EntryFault::TooMany => {}
    }
}

fn bad_name(name: &str) -> String {
    if name.is_empty() {
        "the name of the entry is empty".to_owned()
    } else if name.chars().any(char::is_control) {
        format!("the name `{}` has a control character", shown(name))
    } else {
        format!("the name `{}` is longer than 128 characters", shown(name))
    }
}

fn wrong_type(
    document: &Document,
    entry: &Entry,
    transport: Transport,
    span: Span,
    report: &mut Report<'_>,
) {
    let url = document
        .object_of(entry)
        .and_then(|object| object.get("url")?.value.as_str());
    let (needed, present, meant) = match (transport, url) {
        (Transport::Stdio, url) => {
            let meant = Transport::from_url(url.unwrap_or_default());
            ("command", "url", meant)
        }
        _ => ("url", "command", Transport::Stdio),
    };
    let (source, meant) = (&document.source, meant.as_str());
    let message = format!(
        "`{}` needs `{needed}`, but there is `{present}`",
        transport.as_str()
    );
    report
        .at(source, span, &entry.pointer.child("type"), message)
        .server(&entry.name)
        .hint(format!(
            "set `type` to `{meant}`, or replace `{present}` by `{needed}`"
        ))
        .fix(
            Applicability::Unsafe,
            format!("set `type` to `{meant}`"),
            vec![Edit::replace(source, span, quote(meant))],
        );
}

fn wrong_kind(document: &Document, entry: &Entry, fault: &EntryFault, report: &mut Report<'_>) {
    let EntryFault::WrongKind {
        pointer,
        span,
        expected,
        found,
    } = fault
    else {
        return;
    };
    let place = place(entry, pointer);
    let message = match *found {
        // "must be a port number, not a number" does not help.
        "a number" | "a string" if !expected.contains("string") => {
            format!("{place} must be {expected}")
        }
        found if expected.starts_with(found) => format!("{place} must be {expected}"),
        found => format!("{place} must be {expected}, not {found}"),
    };
    let source = &document.source;
    let finding = report
        .at(source, *span, pointer, message)
        .server(&entry.name);
    let raw = source.slice(*span);
    match (*expected, *found) {
        ("a string", "a number" | "a boolean") => {
            let edits = vec![Edit::replace(source, *span, quote(raw))];
            finding.hint("put the value in double quotes").fix(
                Applicability::Safe,
                "put the value in double quotes",
                edits,
            );
        }
        (expected, "a string") if is_plain(expected, raw.trim_matches('"')) => {
            let edits = vec![Edit::replace(source, *span, raw.trim_matches('"'))];
            finding.hint("write the value without quotes").fix(
                Applicability::Safe,
                "remove the quotes",
                edits,
            );
        }
        ("an array of strings", "a string") => {
            let edits = vec![Edit::replace(source, *span, format!("[{raw}]"))];
            finding
                .hint("write each word as one string of an array")
                .fix(Applicability::Unsafe, "put the value in an array", edits);
        }
        ("a string", "an array") if *pointer == entry.pointer.child("command") => {
            finding.hint("write the first word as `command` and the others as `args`");
        }
        (_, "null") => {
            finding.hint("give it a value, or remove it");
        }
        _ => {}
    }
}

/// Says whether `text` would be what is expected, were it not for the quotes around it.
fn is_plain(expected: &str, text: &str) -> bool {
    match expected {
        "a port number" => text.parse::<u16>().is_ok_and(|port| port > 0),
        "a whole number of milliseconds" => {
            let is_strict = !text.starts_with(['0', '+']);
            is_strict && text.parse::<u64>().is_ok()
        }
        "`true` or `false`" => matches!(text, "true" | "false"),
        _ => false,
    }
}

/// Names a field by the keys that lead to it from its entry.
fn place(entry: &Entry, pointer: &Pointer) -> String {
    let below = pointer.segments().skip(entry.pointer.segments().count());
    let keys: Vec<String> = below.collect();
    match keys.as_slice() {
        [list, index] if index.parse::<usize>().is_ok() && list != "env" && list != "headers" => {
            let number = index.parse::<usize>().unwrap_or_default().saturating_add(1);
            format!("item {number} of `{}`", shown(list))
        }
        keys => format!("`{}`", shown(&keys.join("."))),
    }
}

#[cfg(test)]
mod tests;
