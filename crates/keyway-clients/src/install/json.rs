//! Entries in JSON, where comments, indentation and line ends stay as they are.

use keyway_config::edit::Edit;
use keyway_config::json::{self, FaultKind, Node, Tree};
use keyway_config::source::{BYTE_ORDER_MARK, Source, Span};
use keyway_secret::Secret;

use super::value::{Layout, Value, member};
use super::{InstallError, Patch};
use crate::clients::Tolerance;

/// Adds an entry behind the others, or replaces the value of one.
pub(super) fn put(
    source: &Source,
    (keys, tolerance): (&[String], Tolerance),
    name: &str,
    value: &Value,
) -> Result<Patch, InstallError> {
    let text = source.text();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some(root) = root(source, tolerance)? else {
        let layout = Layout {
            newline,
            unit: DEFAULT_UNIT,
            base: "",
            is_flat: false,
        };
        let at = mark(text);
        let whole = nested(keys, Value::wrapped(name, value.clone()));
        return Ok(Patch {
            at,
            replaced: Secret::new(text.get(at..).unwrap_or_default().to_owned()),
            inserted: format!("{}{newline}", whole.render(&layout, 0)),
            is_replacement: false,
        });
    };
    let unit = unit_of(source, &root);
    let is_flat = !text
        .get(root.span.range())
        .unwrap_or_default()
        .contains('\n');
    let layout = |base| Layout {
        newline,
        unit,
        base,
        is_flat,
    };
    let (servers, missing) = deepest(source, &root, keys)?;
    if let Some((key, rest)) = missing.split_first() {
        let entry = nested(rest, Value::wrapped(name, value.clone()));
        return insert(source, servers, (key, &entry), layout);
    }
    let there = servers.as_object().and_then(|object| object.get(name));
    match there {
        Some(there) => {
            let base = indent_of(source, there.key_span);
            let mut layout = layout(base);
            layout.is_flat |= !source.slice(servers.span).contains('\n');
            Ok(Patch {
                at: there.value.span.start as usize,
                replaced: Secret::new(source.slice(there.value.span).to_owned()),
                inserted: value.render(&layout, 0),
                is_replacement: true,
            })
        }
        None => insert(source, servers, (name, value), layout),
    }
}

/// Removes an entry, or puts back the text that it had replaced.
pub(super) fn take(
    source: &Source,
    keys: &[String],
    name: &str,
    back: Option<&Secret<String>>,
) -> Result<Patch, InstallError> {
    let refused = || InstallError::NoPlace {
        path: source.path().to_owned(),
    };
    let root = json::read(source.text()).root.ok_or_else(refused)?;
    let (servers, missing) = deepest(source, &root, keys)?;
    let servers = servers.as_object().filter(|_| missing.is_empty());
    let servers = servers.ok_or_else(refused)?;
    let mut places = servers.members.iter();
    let index = places.position(|member| member.key == name);
    let index = index.ok_or_else(refused)?;
    let member = servers.members.get(index).ok_or_else(refused)?;
    let (span, inserted) = match back {
        Some(back) => (member.value.span, back.expose().clone()),
        None => {
            let edit = Edit::remove_member(source, servers, index).ok_or_else(refused)?;
            (edit.span, edit.replacement)
        }
    };
    Ok(Patch {
        at: span.start as usize,
        replaced: Secret::new(source.slice(span).to_owned()),
        inserted,
        is_replacement: true,
    })
}

/// Adds a member behind the last one of an object, comments of the last one before it.
fn insert<'a>(
    source: &'a Source,
    object: &Node,
    (key, value): (&str, &Value),
    layout: impl Fn(&'a str) -> Layout<'a>,
) -> Result<Patch, InstallError> {
    let members = object.as_object().map(|object| object.members.as_slice());
    let last = members.and_then(<[_]>::last);
    let start = last.map_or(object.span.start + 1, |last| last.value.span.end);
    let gap = Span::between(start, object.span.end.saturating_sub(1));
    let gap = source.slice(gap);
    let kept = gap.trim_end();
    let own_line = last.is_some_and(|last| starts_line(source, last.key_span));
    let own = last.filter(|_| own_line);
    let base = match own {
        Some(last) => indent_of(source, last.key_span),
        None => indent_of(source, object.span),
    };
    let mut layout = layout(base);
    layout.is_flat |= last.is_some() && !own_line && !gap.contains('\n');
    let depth = usize::from(own.is_none());
    let rendered = member(key, &value.render(&layout, depth));
    let has_comma = last.is_some() && comma_at(kept).is_some();
    let comma = if last.is_some() && !has_comma {
        ","
    } else {
        ""
    };
    let after = if has_comma { "," } else { "" };
    let inserted = if layout.is_flat {
        let space = if last.is_some() { " " } else { "" };
        format!("{comma}{kept}{space}{rendered}{after}")
    } else {
        format!("{comma}{kept}{}{rendered}{after}", layout.line(depth))
    };
    let tail = gap.get(kept.len()..).unwrap_or_default();
    // An object that had nothing in it closes on a line of its own.
    let (replaced, inserted) = if layout.is_flat || tail.contains('\n') {
        (kept, inserted)
    } else {
        let closing = Layout {
            base: indent_of(source, object.span),
            ..layout
        };
        (gap, format!("{inserted}{}", closing.line(0)))
    };
    Ok(Patch {
        at: start as usize,
        replaced: Secret::new(replaced.to_owned()),
        inserted,
        is_replacement: false,
    })
}

/// Reads the text as the client would.
pub(super) fn read(source: &Source, tolerance: Tolerance) -> Result<Tree, InstallError> {
    root(source, tolerance).map(Tree::new)
}

/// Reads the text as the client would; `None` if there is nothing in it.
fn root(source: &Source, tolerance: Tolerance) -> Result<Option<Node>, InstallError> {
    let text = source.text();
    if text.get(mark(text)..).unwrap_or_default().trim().is_empty() {
        return Ok(None);
    }
    let tree = json::read(text);
    let fault = tree.faults.iter().find(|fault| match fault.kind {
        FaultKind::Comment => tolerance < Tolerance::Comments,
        FaultKind::TrailingComma => tolerance < Tolerance::Commas,
        _ => true,
    });
    if let Some(fault) = fault {
        let place = source.position(fault.span.start);
        return Err(InstallError::NotParsed {
            path: source.path().to_owned(),
            line: place.line,
            column: place.column,
            what: fault.kind.describe().to_owned(),
        });
    }
    match tree.root {
        Some(root) if root.as_object().is_some() => Ok(Some(root)),
        root => {
            let place = source.position(root.map_or(0, |root| root.span.start));
            Err(InstallError::NotParsed {
                path: source.path().to_owned(),
                line: place.line,
                column: place.column,
                what: "expected an object".to_owned(),
            })
        }
    }
}

/// Follows keys as far as they lead; returns those that are not there yet as well.
fn deepest<'a, 'k>(
    source: &Source,
    root: &'a Node,
    keys: &'k [String],
) -> Result<(&'a Node, &'k [String]), InstallError> {
    let mut node = root;
    for (at, key) in keys.iter().enumerate() {
        let Some(found) = node.as_object().and_then(|it| it.get(key)) else {
            return Ok((node, keys.get(at..).unwrap_or_default()));
        };
        let is_whole = |it: &json::Object| it.repeated().is_empty();
        if !found.value.as_object().is_some_and(is_whole) {
            let place = source.position(found.value.span.start);
            return Err(InstallError::NotServers {
                path: source.path().to_owned(),
                key: key.clone(),
                line: place.line,
                column: place.column,
            });
        }
        node = &found.value;
    }
    Ok((node, &[]))
}

fn nested(keys: &[String], value: Value) -> Value {
    let wrap = |value, key: &String| Value::wrapped(key, value);
    keys.iter().rev().fold(value, wrap)
}

/// Finds the comma between two members, those in comments left out.
fn comma_at(gap: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = gap.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(',') {
            return Some(at);
        }
        let length = if rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            rest.chars().next().map(char::len_utf8)
        };
        at += length.unwrap_or(rest.len());
    }
    None
}

fn mark(text: &str) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    }
}

/// Says whether nothing but blanks stands before `span` on its line.
fn starts_line(source: &Source, span: Span) -> bool {
    let start = source.line_start(span.start);
    let end = span.start;
    start > 0 && source.slice(Span::between(start, end)).trim().is_empty()
}

/// Returns the blanks at the beginning of the line on which `span` begins.
fn indent_of(source: &Source, span: Span) -> &str {
    let start = source.line_start(span.start);
    let end = span.start;
    let line = source.slice(Span::between(start, end));
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let blanks = line.len() - line.trim_start().len();
    line.get(..blanks).unwrap_or_default()
}

/// Returns how far the file indents one level.
fn unit_of<'a>(source: &'a Source, root: &Node) -> &'a str {
    let members = root.as_object().map(|root| root.members.as_slice());
    let first = members.and_then(<[_]>::first);
    let first = first.filter(|first| starts_line(source, first.key_span));
    let indent = first.map(|first| indent_of(source, first.key_span));
    indent
        .filter(|indent| !indent.is_empty())
        .unwrap_or(DEFAULT_UNIT)
}

const DEFAULT_UNIT: &str = "  ";
