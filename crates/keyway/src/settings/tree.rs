//! Text to values that have the right kinds, and diagnostics for everything else.

use std::collections::BTreeMap;

use keyway_code::Code;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::names::nearest_name;
use keyway_config::source::{BYTE_ORDER_MARK, Defect, MAX_BYTES, Pointer, Source, Span};
use toml::de::{DeTable, DeValue};

use super::keys::{ANY, Key, Kind, SECTIONS, Section};

/// The tables that were found, and what is wrong.
#[derive(Debug)]
pub(super) struct Found<'a> {
    source: &'a Source,
    tables: Vec<Table>,
    diagnostics: Vec<Diagnostic>,
}

/// One table of the file.
#[derive(Debug)]
pub(super) struct Table {
    section: &'static Section,
    /// The name that the person chose for it; empty where there is none to choose.
    pub(super) name: String,
    /// The name that the person chose for a table above it, where there are two to choose.
    pub(super) above: String,
    span: Span,
    pointer: Pointer,
    values: BTreeMap<&'static str, Value>,
}

/// A value of the right kind.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    Port(u16),
    Minutes(u16),
    Count(u32),
    Texts(Vec<String>),
    Map(BTreeMap<String, String>),
}

impl Found<'_> {
    /// Takes the tables of a section.
    pub(super) fn take(&mut self, path: &[&str]) -> Vec<Table> {
        let (taken, left) = std::mem::take(&mut self.tables)
            .into_iter()
            .partition(|table| table.section.path == path);
        self.tables = left;
        taken
    }

    /// Reports what is wrong with a table as a whole.
    pub(super) fn refuse(&mut self, table: &Table, message: String) {
        let location = self.source.locate(table.span, &table.pointer);
        self.diagnostics
            .push(diagnostic(Code::InvalidSetting, message).with_location(location));
    }

    /// Returns what is wrong.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    fn report(&mut self, span: Span, pointer: &Pointer, finding: Diagnostic) {
        let location = self.source.locate(span, pointer);
        self.diagnostics.push(finding.with_location(location));
    }
}

impl Table {
    /// Takes a text.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.values.remove(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Takes a flag; `None` if it is not there.
    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        match self.values.remove(key)? {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// Takes a port.
    pub(super) fn port(&mut self, key: &str) -> Option<u16> {
        match self.values.remove(key)? {
            Value::Port(port) => Some(port),
            _ => None,
        }
    }

    /// Takes a number of minutes.
    pub(super) fn minutes(&mut self, key: &str) -> Option<u16> {
        match self.values.remove(key)? {
            Value::Minutes(minutes) => Some(minutes),
            _ => None,
        }
    }

    /// Takes a number of things.
    pub(super) fn count(&mut self, key: &str) -> Option<u32> {
        match self.values.remove(key)? {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    /// Takes several texts.
    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        match self.values.remove(key)? {
            Value::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    /// Takes names with texts.
    pub(super) fn map(&mut self, key: &str) -> Option<BTreeMap<String, String>> {
        match self.values.remove(key)? {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the keys that were not read.
    #[cfg(test)]
    pub(super) fn left(&self) -> Vec<&'static str> {
        self.values.keys().copied().collect()
    }
}

/// Reads the text.
pub(super) fn read(source: &Source) -> Found<'_> {
    let mut found = Found {
        source,
        tables: Vec::new(),
        diagnostics: Vec::new(),
    };
    if let Some(defect) = source.defect() {
        let message = match defect {
            Defect::TooLarge { .. } => format!("the file is larger than {MAX_BYTES} bytes"),
            _ => "the file is not UTF-8".to_owned(),
        };
        let span = match defect {
            Defect::NotUtf8 { offset } => Span::between(offset, offset),
            _ => Span::default(),
        };
        found.report(
            span,
            &Pointer::default(),
            diagnostic(Code::InvalidToml, message),
        );
        return found;
    }
    let text = source.text();
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mark = source.text().len().saturating_sub(text.len());
    match DeTable::parse(text) {
        Ok(root) => walk(&mut found, root.get_ref(), &mut SettingPath::new(mark)),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            let span = Span::new(
                span.start.saturating_add(mark),
                span.end.saturating_add(mark),
            );
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            found.report(
                span,
                &Pointer::default(),
                diagnostic(Code::InvalidToml, message),
            );
        }
    }
    found
}

/// Where in the file we are.
struct SettingPath {
    /// The path so far, chosen names as [`ANY`].
    path: Vec<String>,
    name: String,
    /// The name that was chosen before `name`.
    above: String,
    pointer: Pointer,
    span: Span,
    /// The length of the byte order mark, which the parser has not seen.
    mark: usize,
}

impl SettingPath {
    fn new(mark: usize) -> Self {
        Self {
            path: Vec::new(),
            name: String::new(),
            above: String::new(),
            pointer: Pointer::default(),
            span: Span::default(),
            mark,
        }
    }

    fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::new(
            range.start.saturating_add(self.mark),
            range.end.saturating_add(self.mark),
        )
    }

    fn section(&self) -> Option<&'static Section> {
        SECTIONS.iter().find(|section| section.path == self.path)
    }

    /// The names of tables that may stand below this one.
    fn below(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = SECTIONS
            .iter()
            .filter(|section| {
                let mut start = section.path.iter();
                self.path
                    .iter()
                    .all(|step| start.next().is_some_and(|name| name == step))
            })
            .filter_map(|section| section.path.get(self.path.len()).copied())
            .collect();
        names.dedup();
        names
    }
}

fn walk(found: &mut Found<'_>, table: &DeTable<'_>, way: &mut SettingPath) {
    let keys = way.section().map_or(&[][..], |section| section.keys);
    let below = way.below();
    let mut values = BTreeMap::new();
    for (name, value) in table {
        let (span, text) = (way.span(name.span()), name.get_ref().as_ref());
        let pointer = way.pointer.child(text);
        if let Some(key) = keys.iter().find(|key| key.name == text) {
            match convert(key, value.get_ref()) {
                Ok(value) => {
                    values.insert(key.name, value);
                }
                Err(message) => {
                    let span = way.span(value.span());
                    found.report(span, &pointer, diagnostic(Code::InvalidSetting, message));
                }
            }
            continue;
        }
        let step = below.iter().find(|step| **step == text || **step == ANY);
        match (step, value.get_ref()) {
            (Some(step), DeValue::Table(inner)) => {
                let (chosen, above) = match *step {
                    ANY => (text, &way.name),
                    _ => (way.name.as_str(), &way.above),
                };
                let mut next = SettingPath {
                    path: way
                        .path
                        .iter()
                        .cloned()
                        .chain([(*step).to_owned()])
                        .collect(),
                    name: chosen.to_owned(),
                    above: above.clone(),
                    pointer,
                    span,
                    mark: way.mark,
                };
                walk(found, inner, &mut next);
            }
            (Some(_), _) => {
                let message = format!("`{text}` must be a table");
                found.report(span, &pointer, diagnostic(Code::InvalidSetting, message));
            }
            (None, _) => {
                let finding = unknown(text, keys, &below, way);
                found.report(span, &pointer, finding);
            }
        }
    }
    if let Some(section) = way.section() {
        found.tables.push(Table {
            section,
            name: way.name.clone(),
            above: way.above.clone(),
            span: way.span,
            pointer: way.pointer.clone(),
            values,
        });
    }
}

fn unknown(name: &str, keys: &[Key], below: &[&str], way: &SettingPath) -> Diagnostic {
    let known = keys.iter().map(|key| key.name);
    let known: Vec<&str> = known
        .chain(below.iter().copied().filter(|n| *n != ANY))
        .collect();
    let place = match way.pointer.segments().collect::<Vec<_>>().join(".") {
        place if place.is_empty() => "at the top".to_owned(),
        place => format!("in `{place}`"),
    };
    let hint = match (name, nearest_name(name, known.iter().copied())) {
        ("client_secret", _) => {
            "a secret does not belong in this file: use `client_secret_env` or `client_secret_command`".to_owned()
        }
        (_, Some(near)) => format!("did you mean `{near}`?"),
        (_, None) => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("there may be {}", known.join(", "))
        }
    };
    let message = format!("there is no setting `{name}` {place}");
    diagnostic(Code::UnknownSetting, message).with_hint(hint)
}

/// Checks a value; the error is a message that does not quote it.
fn convert(key: &Key, value: &DeValue<'_>) -> Result<Value, String> {
    let wrong = || format!("`{}` must be {}", key.name, key.kind.describe());
    let found = match (key.kind, value) {
        (Kind::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
        (Kind::Port, DeValue::Integer(number)) => {
            let port = number.as_str().parse::<u16>().ok();
            port.filter(|port| *port > 0).map(Value::Port)
        }
        (Kind::Minutes, DeValue::Integer(number)) => {
            number.as_str().parse::<u16>().ok().map(Value::Minutes)
        }
        (Kind::Count, DeValue::Integer(number)) => {
            let count = number.as_str().parse::<u32>().ok();
            count.filter(|count| *count > 0).map(Value::Count)
        }
        (Kind::Limit, DeValue::Integer(number)) => {
            number.as_str().parse::<u32>().ok().map(Value::Count)
        }
        (Kind::Texts | Kind::Paths | Kind::Command, DeValue::Array(items)) => {
            let texts = items.iter().map(|item| text(item.get_ref()));
            let texts = texts.collect::<Option<Vec<_>>>();
            let is_enough = |texts: &Vec<String>| key.kind != Kind::Command || !texts.is_empty();
            texts.filter(is_enough).map(Value::Texts)
        }
        (Kind::Map, DeValue::Table(table)) => {
            let pairs = table.iter().map(|(name, value)| {
                let value = value.get_ref().as_str()?;
                Some((name.get_ref().to_string(), value.to_owned()))
            });
            pairs.collect::<Option<BTreeMap<_, _>>>().map(Value::Map)
        }
        (kind, value) => text(value).filter(|text| fits(kind, text)).map(Value::Text),
    };
    found.ok_or_else(wrong)
}

fn text(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?;
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    is_plain.then(|| text.to_owned())
}

fn fits(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Text | Kind::Path => true,
        Kind::Word(words) => words.contains(&text),
        Kind::Address => is_address(text),
        Kind::AddressOr(word) => text == word || is_address(text),
        Kind::Proxy => {
            let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
            matches!(scheme, "http" | "https") && !rest.is_empty()
        }
        _ => false,
    }
}

/// Says whether an address may be asked: encrypted, or on this machine.
pub(super) fn is_address(text: &str) -> bool {
    let Ok(address) = text.parse::<http::Uri>() else {
        return false;
    };
    let host = address.host().unwrap_or_default();
    let is_plain = address
        .authority()
        .is_some_and(|whole| !whole.as_str().contains('@'));
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let is_safe = match address.scheme_str() {
        Some("https") => true,
        Some("http") => is_here,
        _ => false,
    };
    is_safe && is_plain && !host.is_empty()
}

fn diagnostic(code: Code, message: String) -> Diagnostic {
    Diagnostic::new(code, Severity::Error, message)
}
