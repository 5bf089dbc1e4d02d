//! Entries in YAML, in block style: whole lines come and go, every other line stays as it is.
//!
//! Whether the lines were cut right is not guessed: the caller reads the result again, and everything
//! but the entry must mean what it meant before.

use keyway_config::json::{Node, Tree, Value as Json};
use keyway_config::source::{Source, Span};
use keyway_secret::Secret;

use super::value::Value;
use super::{InstallError, Patch};

/// Reads the text.
pub(super) fn read(source: &Source) -> Result<Tree, InstallError> {
    let tree = keyway_config::yaml::read(source.text());
    let Some(fault) = tree.faults.first() else {
        return Ok(tree);
    };
    let place = source.position(fault.span.start);
    Err(InstallError::NotParsed {
        path: source.path().to_owned(),
        line: place.line,
        column: place.column,
        what: fault.kind.describe().to_owned(),
    })
}

/// Adds an entry behind the others, or replaces the lines of one.
pub(super) fn put(
    source: &Source,
    key: &str,
    name: &str,
    value: &Value,
) -> Result<Patch, InstallError> {
    let text = source.text();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let tree = read(source)?;
    let servers = servers(&tree, key);
    if let Some(extent) = servers.and_then(|it| extent(source, it, name)) {
        let replaced = text.get(extent.start..extent.end).unwrap_or_default();
        let mut inserted = lines(value, name, &extent, newline);
        if !replaced.ends_with('\n') {
            inserted.truncate(inserted.len() - newline.len());
        }
        return Ok(Patch {
            at: extent.start,
            replaced: Secret::new(replaced.to_owned()),
            inserted,
            is_replacement: true,
        });
    }
    let (at, before, extent) = match servers.and_then(|it| last(source, it)) {
        Some(last) => (last.end, "", last),
        // No such key, or nothing below it: a block of its own at the end.
        None if servers.is_none_or(|it| matches!(it.value, Json::Null)) && !has_key(&tree, key) => {
            let extent = Extent {
                start: text.len(),
                end: text.len(),
                indent: "  ".to_owned(),
                is_item: is_list(value),
            };
            let gap = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                newline
            };
            let block = lines(value, name, &extent, newline);
            return Ok(Patch {
                at: text.len(),
                replaced: Secret::new(String::new()),
                inserted: format!("{gap}{key}:{newline}{block}"),
                is_replacement: false,
            });
        }
        None => {
            return Err(InstallError::NoPlace {
                path: source.path().to_owned(),
            });
        }
    };
    let ends_line = text.get(..at).unwrap_or_default().ends_with('\n');
    let gap = if ends_line { before } else { newline };
    let mut inserted = format!("{gap}{}", lines(value, name, &extent, newline));
    if !ends_line {
        inserted.truncate(inserted.len() - newline.len());
    }
    Ok(Patch {
        at,
        replaced: Secret::new(String::new()),
        inserted,
        is_replacement: false,
    })
}

/// Removes an entry, or puts back the lines that it had replaced.
pub(super) fn take(
    source: &Source,
    key: &str,
    name: &str,
    back: Option<&Secret<String>>,
) -> Result<Patch, InstallError> {
    let tree = read(source)?;
    let extent = servers(&tree, key).and_then(|it| extent(source, it, name));
    let extent = extent.ok_or_else(|| InstallError::NoPlace {
        path: source.path().to_owned(),
    })?;
    let replaced = source.text().get(extent.start..extent.end);
    Ok(Patch {
        at: extent.start,
        replaced: Secret::new(replaced.unwrap_or_default().to_owned()),
        inserted: back.map(|back| back.expose().clone()).unwrap_or_default(),
        is_replacement: true,
    })
}

/// The whole lines of an entry.
struct Extent {
    start: usize,
    end: usize,
    /// What stands before its name, or before the dash of an item.
    indent: String,
    is_item: bool,
}

fn servers<'a>(tree: &'a Tree, key: &str) -> Option<&'a Node> {
    let root = tree.root.as_ref()?.as_object()?;
    Some(&root.get(key)?.value)
}

fn has_key(tree: &Tree, key: &str) -> bool {
    servers(tree, key).is_some()
}

/// Finds the lines of one entry.
fn extent(source: &Source, servers: &Node, name: &str) -> Option<Extent> {
    match &servers.value {
        Json::Object(map) => {
            let member = map.get(name)?;
            of_lines(source, member.key_span, member.value.span, false)
        }
        Json::Array(items) => {
            let item = items.iter().find(|item| item_name(item) == Some(name))?;
            of_lines(source, item.span, item.span, true)
        }
        _ => None,
    }
}

/// Finds the lines of the last entry.
fn last(source: &Source, servers: &Node) -> Option<Extent> {
    match &servers.value {
        Json::Object(map) => {
            let member = map.members.last()?;
            of_lines(source, member.key_span, member.value.span, false)
        }
        Json::Array(items) => {
            let item = items.last()?;
            of_lines(source, item.span, item.span, true)
        }
        _ => None,
    }
}

fn of_lines(source: &Source, first: Span, last: Span, is_item: bool) -> Option<Extent> {
    let text = source.text();
    let start = source.line_start(first.start) as usize;
    let head = text.get(start..first.start as usize)?;
    // Anything but blanks and the dash before it: not in block style.
    let rest = head.trim_start();
    if !(rest.is_empty() && !is_item || is_item && rest.trim_end() == "-") {
        return None;
    }
    let mut body = text.get(start..last.end as usize)?.trim_end();
    // A node ends where the next one begins; comments between them are about what follows.
    while let Some((before, line)) = body.rsplit_once('\n') {
        if !line.trim_start().starts_with('#') {
            break;
        }
        body = before.trim_end();
    }
    let after = text.get(start + body.len()..)?;
    let line = after.find('\n').map_or(after.len(), |at| at + 1);
    Some(Extent {
        start,
        end: start + body.len() + line,
        indent: head.get(..head.len() - rest.len())?.to_owned(),
        is_item,
    })
}

fn lines(value: &Value, name: &str, extent: &Extent, newline: &str) -> String {
    let indent = &extent.indent;
    let mut text = String::new();
    if !extent.is_item {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name = if name.chars().all(plain) {
            name.to_owned()
        } else {
            keyway_config::json::quote(name)
        };
        text.push_str(&format!("{indent}{name}:{newline}"));
    }
    for (at, line) in value.yaml_lines().iter().enumerate() {
        let lead = match (extent.is_item, at) {
            (true, 0) => "- ",
            _ => "  ",
        };
        text.push_str(&format!("{indent}{lead}{line}{newline}"));
    }
    text
}

/// Says whether an entry is an item of a list: it begins with its name.
fn is_list(value: &Value) -> bool {
    matches!(value, Value::Members(members)
        if members.first().is_some_and(|(key, _)| key == "name")
            && members.iter().all(|(key, _)| key != "cmd"))
}

/// Returns the name of an item.
pub(super) fn item_name(item: &Node) -> Option<&str> {
    item.as_object()?.get("name")?.value.as_str()
}
