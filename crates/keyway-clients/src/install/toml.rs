//! Entries in TOML: one table each, behind everything else.
//!
//! Text is cut at the headers that `toml_edit` finds, and the rest of the file stays byte for byte as
//! it was. Whether that was right is not guessed: the caller reads the result again, and here
//! everything but the entry must mean what it meant before.

use keyway_config::json::Tree;
use keyway_config::source::{BYTE_ORDER_MARK, Source};
use keyway_secret::Secret;
use serde_json::{Map, Value};
use toml_edit::{Document, Item, Table, Value as TomlValue};

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
    let (document, shift) = document(source)?;
    let mut headers = Vec::new();
    collect_headers(document.as_table(), &mut Vec::new(), &mut headers);
    headers.sort_unstable_by_key(|(at, _)| *at);
    let is_own = |(_, path): &&(usize, Vec<&str>)| path.starts_with(&[key, name]);
    let own = headers.iter().position(|header| is_own(&header));
    let Some((at, after)) = own.and_then(|own| headers.get(own..)?.split_first()) else {
        return Err(InstallError::NoPlace {
            path: source.path().to_owned(),
        });
    };
    let next = after.iter().find(|header| !is_own(header));
    let text = source.text();
    // A header may be indented.
    let line_start = |at: usize| {
        let before = text.get(..at.saturating_add(shift)).unwrap_or_default();
        before.rfind('\n').map_or(shift, |at| at.saturating_add(1))
    };
    let start = line_start(at.0);
    let end = next.map(|(at, _)| line_start(*at));
    let text = text.get(start..end.unwrap_or(text.len()));
    let text = text.unwrap_or_default();
    // Comments directly above the next header are about what follows.
    let (body, _) = match end {
        Some(_) => without_comments(text),
        None => (text, ""),
    };
    Ok((start, body))
}

/// Collects where the headers of tables stand, each with its path.
fn collect_headers<'a>(
    table: &'a Table,
    path: &mut Vec<&'a str>,
    headers: &mut Vec<(usize, Vec<&'a str>)>,
) {
    for (key, item) in table {
        path.push(key);
        let tables: Vec<&Table> = match item {
            Item::Table(table) => vec![table],
            Item::ArrayOfTables(tables) => tables.iter().collect(),
            _ => Vec::new(),
        };
        for table in tables {
            let has_header = !table.is_implicit() && !table.is_dotted();
            let header = table.span().filter(|_| has_header);
            headers.extend(header.map(|span| (span.start, path.clone())));
            collect_headers(table, path, headers);
        }
        path.pop();
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
    Ok(members(document(source)?.0.as_table()))
}

/// Reads the text, and returns where it begins: behind a byte order mark.
fn document(source: &Source) -> Result<(Document<&str>, usize), InstallError> {
    let text = source.text();
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let shift = text.len() - body.len();
    match Document::parse(body) {
        Ok(document) => Ok((document, shift)),
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

fn members(table: &Table) -> Map<String, Value> {
    let all = table.iter();
    all.map(|(key, item)| (key.to_owned(), json(item)))
        .collect()
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_value(value),
        Item::Table(table) => Value::Object(members(table)),
        Item::ArrayOfTables(tables) => tables.iter().map(members).map(Value::Object).collect(),
    }
}

/// Numbers and dates are only ever compared with themselves.
fn json_value(value: &TomlValue) -> Value {
    match value {
        TomlValue::String(text) => Value::String(text.value().clone()),
        TomlValue::Boolean(flag) => Value::Bool(*flag.value()),
        TomlValue::Array(items) => items.iter().map(json_value).collect(),
        TomlValue::InlineTable(table) => {
            let all = table.iter();
            all.map(|(key, value)| (key.to_owned(), json_value(value)))
                .collect()
        }
        TomlValue::Integer(number) => Value::String(number.value().to_string()),
        TomlValue::Float(number) => Value::String(number.value().to_string()),
        TomlValue::Datetime(time) => Value::String(time.value().to_string()),
    }
}
