//! Entries as text: a new file of a host, or an existing one with more entries in it.
//!
//! What stands in an existing file stays as it is, comments and order included; only members are
//! added. YAML is only written as a new file.

mod toml;
mod yaml;

use super::WrittenEntry;
use super::text::{Slot, input_id};
use super::value::HostValue;
use crate::dialect::{Asks, Dialect, Layout, Syntax};
use crate::document::Document;
use crate::json::{self, Node, Value, quote};
use crate::source::BYTE_ORDER_MARK;

/// Why entries cannot be added to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeFault {
    /// The file cannot be read as its host reads it.
    #[error("the file is not valid {syntax}")]
    Unreadable {
        /// What it should be.
        syntax: &'static str,
    },
    /// What stands where the entries belong is something else.
    #[error("`{key}` is not an object")]
    NotAnObject {
        /// The key.
        key: String,
    },
    /// An entry of that name is there.
    #[error("entry `{name}` already exists")]
    Exists {
        /// Its name.
        name: String,
    },
    /// Files of this syntax are only written as new files.
    #[error("entries cannot be added to an existing file of {syntax}")]
    OnlyNew {
        /// The syntax.
        syntax: &'static str,
    },
}

/// Writes a new file of `target` with `entries`.
#[must_use]
pub fn new_file(target: &Dialect, entries: &[WrittenEntry]) -> String {
    let mut members: Vec<(String, HostValue)> = target
        .head
        .iter()
        .map(|(key, value)| ((*key).to_owned(), HostValue::Text((*value).to_owned())))
        .collect();
    let asked = asked(entries);
    if target.asks == Asks::Inputs && !asked.is_empty() {
        let inputs = asked.iter().map(|slot| input(slot)).collect();
        members.push(("inputs".to_owned(), HostValue::List(inputs)));
    }
    let servers = if target.layout == Layout::List {
        HostValue::List(entries.iter().map(with_name).collect())
    } else {
        let entries = entries.iter();
        HostValue::Members(
            entries
                .map(|it| (it.name.clone(), it.value.clone()))
                .collect(),
        )
    };
    let mut keys = target.written_under().iter().rev();
    let last = keys.next().copied().unwrap_or("mcpServers").to_owned();
    let wrapped = keys.fold((last, servers), |inner, key| {
        ((*key).to_owned(), HostValue::Members(vec![inner]))
    });
    members.push(wrapped);
    let root = HostValue::Members(members);
    match target.syntax {
        Syntax::Json | Syntax::JsonWithComments | Syntax::Jsonc => {
            format!("{}\n", as_json(&root, "\n", "  "))
        }
        Syntax::Toml => toml::write(&root),
        Syntax::Yaml => {
            let mut text = String::new();
            yaml::write(&root, 0, &mut text);
            text
        }
    }
}

/// Adds `entries` to the text of a file that is there.
///
/// # Errors
///
/// Returns a [`MergeFault`]; nothing of the file is lost or replaced in any case.
pub fn merge(existing: &Document, entries: &[WrittenEntry]) -> Result<String, MergeFault> {
    let target = existing.dialect;
    let text = existing.source.text();
    if text.trim_start_matches(BYTE_ORDER_MARK).trim().is_empty() {
        return Ok(new_file(target, entries));
    }
    let syntax = existing.syntax.name();
    if existing.source.defect().is_some() || existing.faults().next().is_some() {
        return Err(MergeFault::Unreadable { syntax });
    }
    let taken = entries
        .iter()
        .find(|it| existing.entries.iter().any(|old| old.name == it.name));
    if let Some(entry) = taken {
        let name = entry.name.clone();
        return Err(MergeFault::Exists { name });
    }
    match existing.syntax {
        Syntax::Yaml => Err(MergeFault::OnlyNew { syntax }),
        Syntax::Toml => toml::merge(text, target, entries),
        Syntax::Json | Syntax::JsonWithComments | Syntax::Jsonc => {
            merge_json(text, target, entries)
        }
    }
}

fn merge_json(
    text: &str,
    target: &Dialect,
    entries: &[WrittenEntry],
) -> Result<String, MergeFault> {
    let mut text = text.to_owned();
    if target.asks == Asks::Inputs {
        for slot in asked(entries) {
            text = with_input(&text, target, slot)?;
        }
    }
    for entry in entries {
        let mut path: Vec<&str> = target.written_under().to_vec();
        path.push(&entry.name);
        text = put(&text, &path, &entry.value)?;
    }
    Ok(text)
}

/// Adds an input that a file of an editor asks for, beside the entries, unless it asks for it
/// already.
///
/// # Errors
///
/// Returns a [`MergeFault`] if `inputs` is something else, or the text is not an object.
pub fn with_input(text: &str, target: &Dialect, slot: &Slot) -> Result<String, MergeFault> {
    let tree = json::read(text);
    let root = tree.root.as_ref().and_then(Node::as_object);
    let around = root.map(|root| target.around_entries(root));
    let around = around.and_then(|places| places.first().copied());
    let mut path = around.unwrap_or_default().to_vec();
    path.push("inputs");
    with_item(text, &path, ("id", &input_id(&slot.name)), input(slot))
}

/// Declares in the manifest of an extension that its host asks for a variable.
///
/// # Errors
///
/// Returns a [`MergeFault`] if `settings` is something else, or the text is not an object.
pub fn with_setting(text: &str, slot: &Slot) -> Result<String, MergeFault> {
    with_item(text, &["settings"], ("envVar", &slot.name), setting(slot))
}

/// Adds an object to the list at a path of the file, if none there has the same `id` under `key`.
fn with_item(
    text: &str,
    path: &[&str],
    (key, id): (&str, &str),
    item: HostValue,
) -> Result<String, MergeFault> {
    let tree = json::read(text);
    let root = tree.root.as_ref();
    let found = path
        .iter()
        .try_fold(root, |node, key| {
            Some(Some(&node?.as_object()?.get(key)?.value))
        })
        .flatten();
    match found {
        Some(Node {
            value: Value::Array(items),
            span,
        }) => {
            let mut ids = items
                .iter()
                .filter_map(|item| item.as_object()?.get(key)?.value.as_str());
            if ids.any(|known| known == id) {
                return Ok(text.to_owned());
            }
            let last = items.last().map(|item| item.span.range());
            Ok(behind(text, (span.range(), last), |newline, unit| {
                as_json(&item, newline, unit)
            }))
        }
        Some(_) => Err(MergeFault::NotAnObject {
            key: path.join("."),
        }),
        None => put(text, path, &HostValue::List(vec![item])),
    }
}

/// Adds a member at a path of JSON, with the objects on the way that are missing; one that is
/// there already stays as it is.
///
/// # Errors
///
/// Returns a [`MergeFault`] if something else than an object is on the way.
pub fn put(text: &str, path: &[&str], value: &HostValue) -> Result<String, MergeFault> {
    let tree = json::read(text);
    let unreadable = MergeFault::Unreadable {
        syntax: Syntax::Json.name(),
    };
    let mut node = tree.root.as_ref().ok_or(unreadable)?;
    let mut rest = path;
    let mut above = "";
    loop {
        let not_an_object = || MergeFault::NotAnObject {
            key: above.to_owned(),
        };
        let object = node.as_object().ok_or_else(not_an_object)?;
        let Some((&key, behind_key)) = rest.split_first() else {
            return Ok(text.to_owned());
        };
        if let Some(member) = object.get(key) {
            (node, rest, above) = (&member.value, behind_key, key);
            continue;
        }
        let inner = behind_key.iter().rev().fold(value.clone(), |inner, key| {
            HostValue::Members(vec![((*key).to_owned(), inner)])
        });
        let last = object.members.last();
        let last = last.map(|member| member.key_span.range().start..member.value.span.range().end);
        return Ok(behind(text, (node.span.range(), last), |newline, unit| {
            format!("{}: {}", quote(key), as_json(&inner, newline, unit))
        }));
    }
}

/// Adds a text to a list at a path of JSON, with the list if it is missing; one that is there
/// already stays.
///
/// # Errors
///
/// Returns a [`MergeFault`] if something else stands there, or on the way.
pub(super) fn with_text(text: &str, path: &[&str], word: &str) -> Result<String, MergeFault> {
    let tree = json::read(text);
    let found = tree.root.as_ref().and_then(|root| {
        path.iter()
            .try_fold(root, |node, key| Some(&node.as_object()?.get(key)?.value))
    });
    match found {
        Some(Node {
            value: Value::Array(items),
            span,
        }) => {
            if items.iter().any(|item| item.as_str() == Some(word)) {
                return Ok(text.to_owned());
            }
            let last = items.last().map(|item| item.span.range());
            let (start, end) = (span.range().end - 1, last.map(|last| last.end));
            let (at, comma) = end.map_or((start, ""), |end| (end, ", "));
            let (head, tail) = text.split_at_checked(at).unwrap_or((text, ""));
            Ok(format!("{head}{comma}{}{tail}", quote(word)))
        }
        Some(_) => Err(MergeFault::NotAnObject {
            key: path.last().copied().unwrap_or_default().to_owned(),
        }),
        None => put(text, path, &HostValue::texts([word])),
    }
}

/// Puts text behind the last of the things between two brackets, laid out like it.
fn behind(
    text: &str,
    (brackets, last): (std::ops::Range<usize>, Option<std::ops::Range<usize>>),
    write: impl Fn(&str, &str) -> String,
) -> String {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let unit = unit(text);
    let indent_at = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let line = before
            .rfind('\n')
            .map_or(before, |found| before.get(found + 1..).unwrap_or_default());
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        line.get(..blank).unwrap_or_default()
    };
    match last {
        Some(last) => {
            let newline = format!("{line_end}{}", indent_at(last.start));
            let added = write(&newline, unit);
            let (head, tail) = text.split_at_checked(last.end).unwrap_or((text, ""));
            format!("{head},{newline}{added}{tail}")
        }
        None => {
            let outer = indent_at(brackets.start);
            let newline = format!("{line_end}{outer}{unit}");
            let added = write(&newline, unit);
            let inside = text
                .get(brackets.start + 1..brackets.end.saturating_sub(1))
                .unwrap_or_default();
            let head = text.get(..=brackets.start).unwrap_or_default();
            let tail = text
                .get(brackets.end.saturating_sub(1)..)
                .unwrap_or_default();
            format!(
                "{head}{newline}{added}{}{line_end}{outer}{tail}",
                inside.trim_end()
            )
        }
    }
}

/// Returns what a file is indented by.
fn unit(text: &str) -> &str {
    let indented = text
        .lines()
        .find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let line = indented.unwrap_or("  x");
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blank.min(8)).unwrap_or("  ")
}

fn as_json(value: &HostValue, newline: &str, unit: &str) -> String {
    let inner = format!("{newline}{unit}");
    match value {
        HostValue::Text(text) => quote(text),
        HostValue::Number(number) => number.to_string(),
        HostValue::Flag(flag) => flag.to_string(),
        HostValue::List(items) => {
            let is_flat = !items
                .iter()
                .any(|item| matches!(item, HostValue::Members(_)));
            let items: Vec<String> = items
                .iter()
                .map(|item| as_json(item, &inner, unit))
                .collect();
            if is_flat {
                return format!("[{}]", items.join(", "));
            }
            format!("[{inner}{}{newline}]", items.join(&format!(",{inner}")))
        }
        HostValue::Members(members) if members.is_empty() => "{}".to_owned(),
        HostValue::Members(members) => {
            let members = members.iter();
            let members: Vec<String> = members
                .map(|(key, value)| format!("{}: {}", quote(key), as_json(value, &inner, unit)))
                .collect();
            format!("{{{inner}{}{newline}}}", members.join(&format!(",{inner}")))
        }
    }
}

fn with_name(entry: &WrittenEntry) -> HostValue {
    let mut members = vec![("name".to_owned(), HostValue::Text(entry.name.clone()))];
    if let HostValue::Members(own) = &entry.value {
        members.extend(own.iter().cloned());
    }
    HostValue::Members(members)
}

/// Returns what all entries together ask for, each once.
fn asked(entries: &[WrittenEntry]) -> Vec<&Slot> {
    let mut asked: Vec<&Slot> = Vec::new();
    for slot in entries.iter().flat_map(|entry| &entry.asked) {
        if !asked.iter().any(|known| known.name == slot.name) {
            asked.push(slot);
        }
    }
    asked
}

fn input(slot: &Slot) -> HostValue {
    let text = |text: &str| HostValue::Text(text.to_owned());
    let mut members = vec![
        ("type".to_owned(), text("promptString")),
        ("id".to_owned(), text(&input_id(&slot.name))),
        ("description".to_owned(), text(&slot.name)),
    ];
    if slot.is_secret {
        members.push(("password".to_owned(), HostValue::Flag(true)));
    } else if let Some(default) = slot.written_default() {
        members.push(("default".to_owned(), text(default)));
    }
    HostValue::Members(members)
}

fn setting(slot: &Slot) -> HostValue {
    let text = |text: &str| HostValue::Text(text.to_owned());
    HostValue::Members(vec![
        ("name".to_owned(), text(&slot.name)),
        ("description".to_owned(), text(&slot.name)),
        ("envVar".to_owned(), text(&slot.name)),
        ("sensitive".to_owned(), HostValue::Flag(slot.is_secret)),
    ])
}
