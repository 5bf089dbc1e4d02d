//! Reads `headersHelper`, which is a string or an object.

use super::{EntryReader, Role};
use crate::declared::{Helper, HelperCommand, Refresh};
use crate::dialect::Place;
use crate::environment::is_host_variable;
use crate::json::Value;
use crate::template::{Part, Template};

impl EntryReader<'_> {
    pub(super) fn helper(&mut self) -> Option<Helper> {
        let key = self.key(Role::Helper)?;
        let member = self.object.get(key)?;
        let pointer = self.pointer.child(key);
        let span = member.value.span;
        let simple = |command| Helper {
            command,
            refresh: Refresh::Connection,
            ttl_ms: None,
            timeout_ms: None,
            span,
            pointer: pointer.clone(),
        };
        match &member.value.value {
            Value::String(text) => {
                let field = self.field(text, span, pointer.clone(), Place::Command);
                Some(simple(if begins_like_a_path(&field.template) {
                    HelperCommand::Program(field)
                } else {
                    HelperCommand::Shell(field)
                }))
            }
            Value::Object(object) => {
                let (words, refresh, ttl_ms, timeout_ms) = self.below(object, &pointer, |inner| {
                    let words = inner.list("command", Place::Command);
                    if let (true, Some(empty)) = (words.is_empty(), object.get("command")) {
                        inner.wrong_kind("command", &empty.value, "an array of strings, not empty");
                    }
                    let refresh = inner.refresh();
                    (
                        words,
                        refresh,
                        inner.milliseconds("ttlMs"),
                        inner.milliseconds("timeoutMs"),
                    )
                });
                if object.get("command").is_none() {
                    let expected = "an object with `command`";
                    self.wrong_kind(key, &member.value, expected);
                }
                Some(Helper {
                    refresh,
                    ttl_ms,
                    timeout_ms,
                    ..simple(HelperCommand::Words(words))
                })
            }
            _ => {
                self.wrong_kind(key, &member.value, "a string or an object");
                None
            }
        }
    }

    fn refresh(&mut self) -> Refresh {
        let Some(member) = self.object.get("refresh") else {
            return Refresh::Connection;
        };
        match member.value.as_str() {
            Some("connection") => Refresh::Connection,
            Some("request") => Refresh::Request,
            _ => {
                self.wrong_kind("refresh", &member.value, "`connection` or `request`");
                Refresh::Connection
            }
        }
    }
}

fn begins_like_a_path(template: &Template) -> bool {
    match template.parts().first() {
        Some(Part::Variable(variable)) => is_host_variable(&variable.name),
        Some(Part::Literal { text, .. }) => ["/", "./", "../", "~/"]
            .iter()
            .any(|prefix| text.starts_with(prefix)),
        _ => false,
    }
}
