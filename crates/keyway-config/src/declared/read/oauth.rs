//! Reads `oauth`, which is an object or switches sign-ins off.

use super::EntryReader;
use super::values::field;
use crate::declared::{NamedField, OAuth, OAuthFields};
use crate::fields::OAUTH;
use crate::json::{Node, Value};
use crate::source::Span;

impl EntryReader<'_> {
    pub(super) fn oauth(&mut self) -> OAuth {
        let Some(member) = self.object.get("oauth") else {
            return OAuth::Automatic;
        };
        let object = match &member.value.value {
            Value::Bool(false) => return OAuth::Off,
            Value::Bool(true) => return OAuth::Automatic,
            Value::Object(object) => object,
            _ => {
                self.wrong_kind("oauth", &member.value, "an object or `false`");
                return OAuth::Automatic;
            }
        };
        let pointer = self.pointer.child("oauth");
        let span = member.value.span;
        let fields = self.below(object, &pointer, |inner| inner.oauth_fields(span));
        OAuth::Configured(Box::new(fields))
    }

    fn oauth_fields(&mut self, span: Span) -> OAuthFields {
        let mut fields = OAuthFields {
            span,
            ..OAuthFields::default()
        };
        for spec in OAUTH.iter().filter(|spec| spec.is_string()) {
            if let (Some(value), Some(member)) =
                (self.string(spec.name), self.object.get(spec.name))
            {
                let name = spec.name.to_owned();
                fields.strings.push(NamedField {
                    name,
                    name_span: member.key_span,
                    value,
                });
            }
        }
        fields.scopes = match self.object.get("scopes").map(|member| &member.value) {
            Some(Node {
                value: Value::String(text),
                span,
            }) => {
                vec![field(text, *span, self.pointer.child("scopes"))]
            }
            Some(_) => self.list("scopes"),
            None => Vec::new(),
        };
        if let Some(member) = self.object.get("callbackPort") {
            fields.callback_port = match &member.value.value {
                Value::Number(text) => text.parse().ok().filter(|&port: &u16| port > 0),
                _ => None,
            };
            if fields.callback_port.is_none() {
                self.wrong_kind("callbackPort", &member.value, "a port number");
            }
        }
        fields
    }
}
