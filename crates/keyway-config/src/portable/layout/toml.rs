//! Entries as TOML.

use toml_edit::{Array, DocumentMut, Item, Table, Value as Toml};

use super::super::WrittenEntry;
use super::super::value::HostValue;
use super::MergeFault;
use crate::dialect::{Dialect, Syntax};
use crate::source::BYTE_ORDER_MARK;

/// Adds entries to a file, which keeps its comments and its order.
pub(super) fn merge(
    text: &str,
    target: &Dialect,
    entries: &[WrittenEntry],
) -> Result<String, MergeFault> {
    let syntax = Syntax::Toml.name();
    let mark = if text.starts_with(BYTE_ORDER_MARK) {
        "\u{feff}"
    } else {
        ""
    };
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut document: DocumentMut = body
        .parse()
        .map_err(|_| MergeFault::Unreadable { syntax })?;
    let mut table: &mut Table = document.as_table_mut();
    for key in target.written_under() {
        let item = table.entry(key).or_insert_with(|| {
            let mut made = Table::new();
            made.set_implicit(true);
            Item::Table(made)
        });
        let not_an_object = MergeFault::NotAnObject {
            key: (*key).to_owned(),
        };
        table = item.as_table_mut().ok_or(not_an_object)?;
    }
    for entry in entries {
        table.insert(&entry.name, item_of(&entry.value));
    }
    Ok(format!("{mark}{document}"))
}

/// Writes a new file.
pub(super) fn write(root: &HostValue) -> String {
    let mut document = DocumentMut::new();
    if let HostValue::Members(members) = root {
        for (key, value) in members {
            let mut item = item_of(value);
            if let Item::Table(table) = &mut item {
                table.set_implicit(true);
            }
            document.insert(key, item);
        }
    }
    document.to_string().trim_start().to_owned()
}

/// Objects are tables of their own, everything else stands on a line.
fn item_of(value: &HostValue) -> Item {
    match value {
        HostValue::Members(members) => {
            let mut table = Table::new();
            for (key, value) in members {
                table.insert(key, item_of(value));
            }
            Item::Table(table)
        }
        _ => Item::Value(value_of(value)),
    }
}

fn value_of(value: &HostValue) -> Toml {
    match value {
        HostValue::Text(text) => text.as_str().into(),
        HostValue::Number(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
        HostValue::Flag(flag) => (*flag).into(),
        HostValue::List(items) => Toml::Array(items.iter().map(value_of).collect::<Array>()),
        HostValue::Members(members) => {
            let members = members.iter();
            let table: toml_edit::InlineTable = members
                .map(|(key, value)| (key.as_str(), value_of(value)))
                .collect();
            Toml::InlineTable(table)
        }
    }
}
