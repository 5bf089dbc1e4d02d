//! Reads single members: strings, lists, maps, numbers and flags, and reports those of another kind.

use super::EntryReader;
use crate::declared::{EntryFault, Field, NamedField, Spelling, SpellingKind};
use crate::dialect::Place;
use crate::json::{Node, Value};
use crate::source::{Pointer, Span};
use crate::template::Template;

impl EntryReader<'_> {
    pub(super) fn string(&mut self, key: &str, place: Place) -> Option<Field> {
        let member = self.object.get(key)?;
        if let Value::String(text) = &member.value.value {
            return Some(self.field(text, member.value.span, self.pointer.child(key), place));
        }
        self.wrong_kind(key, &member.value, "a string");
        None
    }

    pub(super) fn list(&mut self, key: &str, place: Place) -> Vec<Field> {
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
            fields.extend(self.element(item, pointer, place));
        }
        fields
    }

    pub(super) fn map(&mut self, key: &str, place: Place) -> Vec<NamedField> {
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
            let value = self.element(&member.value, pointer.child(&member.key), place);
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
    fn element(&mut self, node: &Node, pointer: Pointer, place: Place) -> Option<Field> {
        if let Value::String(text) = &node.value {
            return Some(self.field(text, node.span, pointer, place));
        }
        let (span, found) = (node.span, node.kind());
        if let Some(text) = bare_text(node) {
            let kind = SpellingKind::BareValue { found };
            self.spellings.push(Spelling {
                kind,
                span,
                pointer: pointer.clone(),
            });
            return Some(self.field(&text, span, pointer, place));
        }
        self.faults.push(EntryFault::WrongKind {
            pointer,
            span,
            expected: "a string",
            found,
        });
        None
    }

    /// Reads a string in the syntax that counts at its place.
    pub(super) fn field(&self, text: &str, span: Span, pointer: Pointer, place: Place) -> Field {
        Field {
            template: Template::parse_as(text, self.dialect.variables_in(place)),
            span,
            pointer,
        }
    }

    /// Reads a number of seconds, which may have a fraction, as milliseconds.
    pub(super) fn seconds(&mut self, key: &str) -> Option<u64> {
        let member = self.object.get(key)?;
        let seconds = match &member.value.value {
            Value::Number(text) => text.parse::<f64>().ok(),
            _ => None,
        };
        let longest = std::time::Duration::MAX.as_secs_f64();
        let seconds = seconds.filter(|seconds| (0.0..longest).contains(seconds));
        if seconds.is_none() {
            self.wrong_kind(key, &member.value, "a number of seconds");
        }
        let time = std::time::Duration::try_from_secs_f64(seconds?).ok()?;
        u64::try_from(time.as_millis()).ok()
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
