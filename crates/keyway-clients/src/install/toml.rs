//! Entries in TOML: one table each, behind everything else.
//!
//! Text is cut at lines that are headers. Whether that was right is not guessed: the caller reads
//! the result again, and here everything but the entry must mean what it meant before.

use keyway_config::json::Tree;
use keyway_config::source::{BYTE_ORDER_MARK, Source};
use keyway_secret::Secret;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::value::{Value as Entry, toml_text};
use super::{InstallError, MAX_CLIENT_FILE, Patch};

/// Reads the text.
pub(super) fn read(source: &Source) -> Result<Tree, InstallError> {
    parse(source)?;
    Ok(keyway_config::toml::read(source.text()))
}

/// Adds a table at the end, or replaces the one of that name with those below it.
pub(super) fn put(
    source: &Source,
    key: &str,
    name: &str,
    value: &Entry,
) -> Result<Patch, InstallError> {
    let text = source.text();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let table = table(key, name, value, newline);
    let root = parse(source)?;
    let is_there = root
        .get(key)
        .and_then(|servers| servers.get(name))
        .is_some();
    let patch = if is_there {
        let (at, replaced) = extent(source, key, name)?;
        let (body, blanks) = without_blanks(replaced);
        Patch {
            at,
            replaced: Secret::new(body.to_owned()),
            inserted: if blanks.is_empty() && !body.ends_with('\n') {
                table.trim_end().to_owned()
            } else {
                table
            },
            is_replacement: true,
        }
    } else {
        let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let before = if body.is_empty() {
            String::new()
        } else if body.ends_with('\n') {
            newline.to_owned()
        } else {
            newline.repeat(2)
        };
        Patch {
            at: text.len(),
            replaced: Secret::new(String::new()),
            inserted: format!("{before}{table}"),
            is_replacement: false,
        }
    };
    require_others(source, (key, name), patch)
}

/// Removes a table, or puts back the text that it had replaced.
pub(super) fn take(
    source: &Source,
    key: &str,
    name: &str,
    back: Option<&Secret<String>>,
) -> Result<Patch, InstallError> {
    let (at, replaced) = extent(source, key, name)?;
    let replaced = match back {
        Some(_) => without_blanks(replaced).0,
        None => replaced,
    };
    let patch = Patch {
        at,
        replaced: Secret::new(replaced.to_owned()),
        inserted: back.map(|back| back.expose().clone()).unwrap_or_default(),
        is_replacement: true,
    };
    require_others(source, (key, name), patch)
}

/// Makes sure that everything but the entry means what it meant.
fn require_others(
    source: &Source,
    (key, name): (&str, &str),
    patch: Patch,
) -> Result<Patch, InstallError> {
    let others = |source: &Source| {
        let mut root = parse(source)?;
        let servers = root.get_mut(key).and_then(Value::as_object_mut);
        if let Some(servers) = servers {
            servers.remove(name);
            if servers.is_empty() {
                root.remove(key);
            }
        }
        Ok::<_, InstallError>(root)
    };
    let text = patch.apply(source.text());
    let after = Source::with_limit(source.path(), text.as_bytes(), MAX_CLIENT_FILE);
    let is_same = match (others(source), others(&after)) {
        (Ok(before), Ok(after)) => before == after,
        _ => false,
    };
    if is_same {
        return Ok(patch);
    }
    let path = source.path().to_owned();
    Err(InstallError::NoPlace { path })
}

/// Returns the text from the header of a table to the next one that is not below it.
fn extent<'a>(source: &'a Source, key: &str, name: &str) -> Result<(usize, &'a str), InstallError> {
    let (mut at, mut start, mut end) = (0, None, None);
    for line in source.text().split_inclusive('\n') {
        if let Some(path) = header(line) {
            let is_own = path.first().is_some_and(|first| first == key)
                && path.get(1).is_some_and(|second| second == name);
            match (start, is_own) {
                (None, true) => start = Some(at),
                (Some(_), false) if end.is_none() => end = Some(at),
                _ => {}
            }
        }
        at += line.len();
    }
    let start = start.ok_or_else(|| InstallError::NoPlace {
        path: source.path().to_owned(),
    })?;
    let text = source.text().get(start..end.unwrap_or(at));
    let text = text.unwrap_or_default();
    // Comments directly above the next header are about what follows.
    let (body, _) = match end {
        Some(_) => without_comments(text),
        None => (text, ""),
    };
    Ok((start, body))
}

/// Reads a line that is the header of a table.
fn header(line: &str) -> Option<Vec<String>> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim();
    if !line.starts_with('[') {
        return None;
    }
    let table = DeTable::parse(line).ok()?;
    let mut path = Vec::new();
    let mut next = json(&DeValue::Table(table.into_inner()));
    loop {
        next = match next {
            Value::Array(mut items) => items.pop()?,
            Value::Object(object) => {
                let Some((key, value)) = object.into_iter().next() else {
                    return Some(path);
                };
                path.push(key);
                value
            }
            _ => return None,
        };
    }
}

/// Splits off the comments and blank lines at the end.
fn without_comments(text: &str) -> (&str, &str) {
    let mut end = text.len();
    for line in text.split_inclusive('\n').rev() {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            break;
        }
        end -= line.len();
    }
    // The blank lines that follow the table itself go with it.
    let rest = text.get(end..).unwrap_or_default();
    let mut lines = rest.split_inclusive('\n');
    let blank: usize = lines
        .by_ref()
        .take_while(|line| line.trim().is_empty())
        .map(str::len)
        .sum();
    text.split_at_checked(end + blank).unwrap_or((text, ""))
}

fn without_blanks(text: &str) -> (&str, &str) {
    let body = text.trim_end();
    let rest = text.get(body.len()..).unwrap_or_default();
    let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
    text.split_at_checked(body.len() + line_end)
        .unwrap_or((text, ""))
}

fn table(key: &str, name: &str, value: &Entry, newline: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        toml_text(&keyway_config::json::quote(name))
    };
    let mut lines = vec![format!("[{key}.{name}]")];
    lines.extend(value.toml_lines());
    lines.push(String::new());
    lines.join(newline)
}

fn parse(source: &Source) -> Result<Map<String, Value>, InstallError> {
    let text = source.text();
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let shift = text.len() - body.len();
    match DeTable::parse(body) {
        Ok(table) => match json(&DeValue::Table(table.into_inner())) {
            Value::Object(root) => Ok(root),
            _ => Ok(Map::new()),
        },
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start) + shift;
            let place = source.position(u32::try_from(at).unwrap_or_default());
            Err(InstallError::NotParsed {
                path: source.path().to_owned(),
                line: place.line,
                column: place.column,
                what: "not TOML".to_owned(),
            })
        }
    }
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let members = table.iter();
            let members =
                members.map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
            Value::Object(members.collect())
        }
        // Numbers and dates are only ever compared with themselves.
        other => Value::String(format!("{other:?}")),
    }
}
