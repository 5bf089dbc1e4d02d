//! Where in a file the entries stand, and what a file is that has them nowhere.

use super::{Document, DocumentKind, Wrapper};
use crate::dialect::{DIALECTS, Dialect, Holds, Layout};
use crate::json::{Node, Object, Value};
use crate::source::Pointer;

/// Finds the values under the keys of a dialect; one inside of another that was found counts once.
pub(super) fn find<'a>(root: &'a Object, dialect: &Dialect) -> Vec<(&'a Node, Pointer)> {
    let mut found: Vec<(&Node, Pointer)> = Vec::new();
    for keys in dialect.wrappers {
        let mut here = Vec::new();
        walk(root, keys, &Pointer::default(), &mut here);
        for (node, pointer) in here {
            let around = format!("{}/", pointer.as_str());
            let is_around = found
                .iter()
                .any(|(_, known)| known.as_str().starts_with(&around));
            // An entry may be called like the last key: `mcp.servers` of a host that has `mcp` too.
            let may_be_entry = dialect
                .wrappers
                .iter()
                .any(|other| other.len() < keys.len() && keys.starts_with(other));
            let is_entry = may_be_entry && node.as_object().is_some_and(has_endpoint);
            if !is_around && !is_entry {
                found.push((node, pointer));
            }
        }
    }
    found
}

fn walk<'a>(
    object: &'a Object,
    keys: &[&str],
    pointer: &Pointer,
    found: &mut Vec<(&'a Node, Pointer)>,
) {
    let Some((key, rest)) = keys.split_first() else {
        return;
    };
    let members = object.members.iter();
    for member in members.filter(|member| *key == "*" || member.key == *key) {
        let is_last_of_its_key = object
            .get(&member.key)
            .is_some_and(|last| last.key_span == member.key_span);
        if !is_last_of_its_key {
            continue;
        }
        let pointer = pointer.child(&member.key);
        if rest.is_empty() {
            found.push((&member.value, pointer));
        } else if let Some(inner) = member.value.as_object() {
            walk(inner, rest, &pointer, found);
        }
    }
}

/// Says what a file is that has none of its host's keys.
pub(super) fn without(root: &Object, document: &Document) -> Wrapper {
    let is_settings = document
        .file
        .is_some_and(|file| file.holds == Holds::Settings);
    if document.kind == DocumentKind::Manifest || root.members.is_empty() {
        return match document.dialect.layout {
            Layout::MapOrBare if document.kind == DocumentKind::Entries => Wrapper::Bare,
            _ => Wrapper::Absent,
        };
    }
    if let Some(foreign) = foreign(root, document.dialect) {
        return foreign;
    }
    match document.dialect.layout {
        Layout::MapOrBare if !is_settings || is_map_of_entries(root) => Wrapper::Bare,
        _ if is_settings => Wrapper::Absent,
        _ => Wrapper::Missing,
    }
}

/// Finds the key of another host; a server that happens to have such a name does not count.
fn foreign(root: &Object, dialect: &Dialect) -> Option<Wrapper> {
    let others = DIALECTS
        .iter()
        .filter(|other| !std::ptr::eq(**other, dialect));
    // A host that keeps its servers under `mcpServers` is one of many; the contract's speaks for it.
    let keys = others.flat_map(|other| {
        let single = other.wrappers.iter().filter(|keys| keys.len() == 1);
        single.filter_map(move |keys| Some((*keys.first()?, other.name)))
    });
    let mut keys: Vec<(&str, &str)> = keys.collect();
    keys.sort_by_key(|(key, _)| FOREIGN_ORDER.iter().position(|known| known == key));
    keys.into_iter().find_map(|(key, host)| {
        if !FOREIGN_ORDER.contains(&key) {
            return None;
        }
        let member = root.get(key)?;
        let object = member.value.as_object()?;
        let host = if key == "mcpServers" {
            "other hosts"
        } else {
            host
        };
        (!has_endpoint(object)).then_some(Wrapper::Foreign {
            key,
            host,
            span: member.key_span,
        })
    })
}

/// Says whether an entry is part of the host, such as an extension that it brings along.
pub(super) fn is_built_in(node: &Node, dialect: &Dialect) -> bool {
    let Some(entry) = node.as_object() else {
        return false;
    };
    let word = entry.get("type").and_then(|member| member.value.as_str());
    let is_typed = word.is_some_and(|word| dialect.built_in.contains(&word));
    let has_any = |keys: &[&str]| keys.iter().any(|key| entry.get(key).is_some());
    is_typed || dialect.may_lack_endpoint && !has_any(&["command", "url"])
}

fn is_map_of_entries(root: &Object) -> bool {
    let mut entries = root.members.iter().filter_map(|it| it.value.as_object());
    entries.any(has_endpoint)
}

pub(super) fn has_endpoint(object: &Object) -> bool {
    ["command", "url"].iter().any(|field| {
        let value = object.get(field).map(|member| &member.value.value);
        matches!(value, Some(Value::String(_) | Value::Array(_)))
    })
}

/// The keys of other hosts that are looked for, in this order.
const FOREIGN_ORDER: &[&str] = &[
    "servers",
    "mcp",
    "context_servers",
    "mcp_servers",
    "mcpServers",
];
