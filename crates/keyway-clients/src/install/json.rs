//! Entries in JSON, where comments, indentation and line ends stay as they are.

use keyway_config::edit::Edit;
use keyway_config::json::{self, FaultKind, Node, Object, quote};
use keyway_config::source::{BYTE_ORDER_MARK, Source, Span};
use keyway_secret::Secret;

use super::{Command, InstallError, Listed, Patch};
use crate::clients::Tolerance;

/// A JSON value that can be laid out anywhere.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Members(Vec<(String, Self)>),
}

impl Value {
    /// Returns the entry that starts a command.
    pub(super) fn of(command: &Command, says_type: bool) -> Self {
        let mut members = Vec::new();
        if says_type {
            members.push(("type".to_owned(), Self::Text("stdio".to_owned())));
        }
        let program = Self::Text(command.program.clone());
        members.push(("command".to_owned(), program));
        members.push(("args".to_owned(), Self::Texts(command.args.clone())));
        Self::Members(members)
    }

    /// Returns an object with one member.
    fn wrapped(key: &str, value: Self) -> Self {
        Self::Members(vec![(key.to_owned(), value)])
    }

    fn render(&self, layout: &Layout<'_>, depth: usize) -> String {
        let members: Vec<String> = match self {
            Self::Text(text) => return quote(text),
            Self::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
                return format!("[{}]", texts.join(", "));
            }
            Self::Members(members) => members
                .iter()
                .map(|(key, value)| member(key, &value.render(layout, depth + 1)))
                .collect(),
        };
        if layout.is_flat {
            return format!("{{{}}}", members.join(", "));
        }
        let (inner, outer) = (layout.line(depth + 1), layout.line(depth));
        let separator = format!(",{inner}");
        format!("{{{inner}{}{outer}}}", members.join(&separator))
    }
}

/// How new text is laid out.
struct Layout<'a> {
    newline: &'static str,
    unit: &'a str,
    /// The indentation that everything is below.
    base: &'a str,
    is_flat: bool,
}

impl Layout<'_> {
    fn line(&self, depth: usize) -> String {
        format!("{}{}{}", self.newline, self.base, self.unit.repeat(depth))
    }
}

/// Lists the entries under `key`.
pub(super) fn entries(
    source: &Source,
    key: &str,
    tolerance: Tolerance,
) -> Result<Vec<Listed>, InstallError> {
    let Some(root) = root(source, tolerance)? else {
        return Ok(Vec::new());
    };
    let Some(servers) = servers(source, &root, key)? else {
        return Ok(Vec::new());
    };
    let object = servers.as_object().map(|object| &object.members);
    let members = object.into_iter().flatten();
    Ok(members
        .map(|member| listed(&member.key, &member.value))
        .collect())
}

/// Adds an entry behind the others, or replaces the value of one.
pub(super) fn put(
    source: &Source,
    (key, tolerance): (&str, Tolerance),
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
        let whole = Value::wrapped(key, Value::wrapped(name, value.clone()));
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
    let Some(servers) = servers(source, &root, key)? else {
        let entry = Value::wrapped(name, value.clone());
        return insert(source, &root, (key, &entry), layout);
    };
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
    key: &str,
    name: &str,
    back: Option<&Secret<String>>,
) -> Result<Patch, InstallError> {
    let refused = || InstallError::NoPlace {
        path: source.path().to_owned(),
    };
    let root = json::read(source.text()).root.ok_or_else(refused)?;
    let servers = servers(source, &root, key)?.and_then(Node::as_object);
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
    let gap = Span {
        start,
        end: object.span.end.saturating_sub(1),
    };
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

fn servers<'a>(
    source: &Source,
    root: &'a Node,
    key: &str,
) -> Result<Option<&'a Node>, InstallError> {
    let found = root.as_object().and_then(|root| root.get(key));
    let Some(found) = found else {
        return Ok(None);
    };
    if found
        .value
        .as_object()
        .is_some_and(|servers| servers.repeated().is_empty())
    {
        return Ok(Some(&found.value));
    }
    let place = source.position(found.value.span.start);
    Err(InstallError::NotServers {
        path: source.path().to_owned(),
        key: key.to_owned(),
        line: place.line,
        column: place.column,
    })
}

fn listed(name: &str, value: &Node) -> Listed {
    let object = value.as_object().cloned().unwrap_or_default();
    let field = |key: &str| object.get(key).map(|member| &member.value);
    let args = match field("args").map(|node| &node.value) {
        Some(json::Value::Array(items)) => items.iter().filter_map(Node::as_str).collect(),
        _ => Vec::new(),
    };
    let env = field("env").and_then(Node::as_object);
    let env = env.into_iter().flat_map(|env: &Object| &env.members);
    Listed {
        name: name.to_owned(),
        program: field("command").and_then(Node::as_str).map(str::to_owned),
        args: args
            .into_iter()
            .map(|arg: &str| Secret::new(arg.to_owned()))
            .collect(),
        env: env
            .filter_map(|member| {
                let value = member.value.as_str()?.to_owned();
                Some((member.key.clone(), Secret::new(value)))
            })
            .collect(),
    }
}

fn member(key: &str, value: &str) -> String {
    format!("{}: {value}", quote(key))
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
    start > 0 && source.slice(Span { start, end }).trim().is_empty()
}

/// Returns the blanks at the beginning of the line on which `span` begins.
fn indent_of(source: &Source, span: Span) -> &str {
    let start = source.line_start(span.start);
    let end = span.start;
    let line = source.slice(Span { start, end });
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
