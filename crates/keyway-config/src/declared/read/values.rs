//! Reads single members: strings, lists, maps, numbers and flags, and reports those of another kind.

use super::EntryReader;
use crate::declared::{EntryFault, Field, NamedField, Spelling, SpellingKind};
use crate::json::{Node, Value};
use crate::source::{Pointer, Span};
use crate::template::Template;

impl EntryReader<'_> {
    pub(super) fn string(&mut self, key: &str) -> Option<Field> {
        let member = self.object.get(key)?;
        if let Value::String(text) = &member.value.value {
            return Some(field(text, member.value.span, self.pointer.child(key)));
        }
        self.wrong_kind(key, &member.value, "a string");
        None
    }

    pub(super) fn list(&mut self, key: &str) -> Vec<Field> {
        let Some(member) = self.object.get(key) else {
            return Vec::new();
        };
        let Value::Array(items) = &member.value.value else {
            self.wrong_kind(key, &member.value, "an array of strings");
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        let mut fields = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let pointer = pointer.child(&index.to_string());
            fields.extend(self.element(item, pointer));
        }
        fields
    }

    pub(super) fn map(&mut self, key: &str) -> Vec<NamedField> {
        let Some(member) = self.object.get(key) else {
            return Vec::new();
        };
        let Value::Object(object) = &member.value.value else {
            self.wrong_kind(key, &member.value, "an object of strings");
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        let mut fields = Vec::with_capacity(object.members.len());
        for member in &object.members {
            let value = self.element(&member.value, pointer.child(&member.key));
            let (name, name_span) = (member.key.clone(), member.key_span);
            fields.extend(value.map(|value| NamedField {
                name,
                name_span,
                value,
            }));
        }
        fields
    }

    /// Reads one value of a list or a map.
    fn element(&mut self, node: &Node, pointer: Pointer) -> Option<Field> {
        if let Value::String(text) = &node.value {
            return Some(field(text, node.span, pointer));
        }
        let (span, found) = (node.span, node.kind());
        if let Some(text) = bare_text(node) {
            let kind = SpellingKind::BareValue { found };
            self.spellings.push(Spelling {
                kind,
                span,
                pointer: pointer.clone(),
            });
            return Some(field(&text, span, pointer));
        }
        self.faults.push(EntryFault::WrongKind {
            pointer,
            span,
            expected: "a string",
            found,
        });
        None
    }

    pub(super) fn milliseconds(&mut self, key: &str) -> Option<u64> {
        let member = self.object.get(key)?;
        let number = match &member.value.value {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.wrong_kind(key, &member.value, "a whole number of milliseconds");
        }
        number
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let member = self.object.get(key)?;
        if let Value::Bool(flag) = member.value.value {
            return Some(flag);
        }
        self.wrong_kind(key, &member.value, "`true` or `false`");
        None
    }

    pub(super) fn wrong_kind(&mut self, key: &str, node: &Node, expected: &'static str) {
        let (pointer, span, found) = (self.pointer.child(key), node.span, node.kind());
        self.faults.push(EntryFault::WrongKind {
            pointer,
            span,
            expected,
            found,
        });
    }
}

/// Returns a number or a boolean as the text that stands in the file.
fn bare_text(node: &Node) -> Option<String> {
    match &node.value {
        Value::Number(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

pub(super) fn field(text: &str, span: Span, pointer: Pointer) -> Field {
    Field {
        template: Template::parse(text),
        span,
        pointer,
    }
}
