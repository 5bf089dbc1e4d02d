//! TOML as the same tree that JSON is read into, so that one reader of entries serves both.
//!
//! The grammar is `toml_edit`'s. It stops at the first fault, so a file with one has no tree; what
//! is left of it can only be searched as text. Nesting is bounded by the parser and again here.

use toml_edit::{Document, Item, TableLike, Value as Toml};

use crate::json::{Fault, FaultKind, MAX_DEPTH, Member, Node, Object, Tree, Value};
use crate::source::{BYTE_ORDER_MARK, Span};

/// Reads `text`, which may begin with a byte order mark.
#[must_use]
pub fn read(text: &str) -> Tree {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let skipped = text.len() - body.len();
    match Document::parse(body) {
        Ok(document) => {
            let reader = Reader { skipped };
            let span = Span::new(skipped, text.len());
            let object = reader.table(document.as_table(), 0);
            Tree {
                root: Some(Node {
                    value: Value::Object(object),
                    span,
                }),
                faults: Vec::new(),
            }
        }
        // The parser's own words may quote the file, so only the place is taken.
        Err(error) => {
            let range = error.span().unwrap_or_default();
            let span = Span::new(range.start + skipped, range.end + skipped);
            let kind = FaultKind::Toml;
            Tree {
                root: None,
                faults: vec![Fault { kind, span }],
            }
        }
    }
}

struct Reader {
    /// The bytes of the mark in front of what was parsed.
    skipped: usize,
}

impl Reader {
    fn table(&self, table: &dyn TableLike, depth: usize) -> Object {
        let members = table.iter().filter_map(|(key, item)| {
            let key_span = self.span(table.key(key)?.span());
            let value = self.item(item, depth + 1, key_span)?;
            Some(Member {
                key: key.to_owned(),
                key_span,
                value,
            })
        });
        Object {
            members: members.collect(),
        }
    }

    /// A table that only dotted keys or deeper headers make has no place of its own: its key's is
    /// taken.
    fn item(&self, item: &Item, depth: usize, key: Span) -> Option<Node> {
        let span = item.span().map_or(key, |range| self.span(Some(range)));
        let value = match item {
            Item::None => return None,
            _ if depth > MAX_DEPTH => Value::Null,
            Item::Value(value) => return Some(self.value(value, depth, key)),
            Item::Table(table) => Value::Object(self.table(table, depth)),
            Item::ArrayOfTables(tables) => {
                let tables = tables.iter().map(|table| Node {
                    span: table.span().map_or(key, |range| self.span(Some(range))),
                    value: Value::Object(self.table(table, depth + 1)),
                });
                Value::Array(tables.collect())
            }
        };
        Some(Node { value, span })
    }

    fn value(&self, value: &Toml, depth: usize, key: Span) -> Node {
        let span = value.span().map_or(key, |range| self.span(Some(range)));
        let value = match value {
            _ if depth > MAX_DEPTH => Value::Null,
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::Number(number.value().to_string()),
            Toml::Float(number) => Value::Number(number.value().to_string()),
            Toml::Boolean(flag) => Value::Bool(*flag.value()),
            Toml::Datetime(time) => Value::String(time.value().to_string()),
            Toml::Array(items) => {
                let items = items.iter().map(|item| self.value(item, depth + 1, span));
                Value::Array(items.collect())
            }
            Toml::InlineTable(table) => Value::Object(self.table(table, depth)),
        };
        Node { value, span }
    }

    fn span(&self, range: Option<std::ops::Range<usize>>) -> Span {
        let range = range.unwrap_or_default();
        Span::new(range.start + self.skipped, range.end + self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Pointer;

    const TEXT: &str = "\u{feff}model = \"m\"\n[mcp_servers.a]\ncommand = \"x\"\nargs = ['-y', \"b\"]\n\
                        startup_timeout_sec = 2.5\n[mcp_servers.a.env]\nTOKEN = \"t\"\n";

    #[test]
    fn every_value_keeps_its_place() {
        let tree = read(TEXT);
        let at = |keys: &[&str]| {
            let pointer = keys
                .iter()
                .fold(Pointer::default(), |pointer, key| pointer.child(key));
            TEXT.get(tree.at(&pointer).unwrap().span.range())
        };
        assert_eq!(at(&["mcp_servers", "a", "command"]), Some("\"x\""));
        assert_eq!(at(&["mcp_servers", "a", "args", "0"]), Some("'-y'"));
        assert_eq!(
            at(&["mcp_servers", "a", "startup_timeout_sec"]),
            Some("2.5")
        );
        assert_eq!(at(&["mcp_servers", "a", "env", "TOKEN"]), Some("\"t\""));
    }

    #[test]
    fn a_fault_is_located_and_leaves_no_tree() {
        let tree = read("a = 1\nb = \n");
        assert!(tree.root.is_none());
        assert_eq!(tree.faults[0].kind, FaultKind::Toml);
        assert!(tree.faults[0].span.start >= 6, "{:?}", tree.faults);
    }

    #[test]
    fn nesting_is_bounded() {
        let text = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(!read(&text).faults.is_empty());
    }
}
