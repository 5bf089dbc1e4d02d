//! Reads what configures OAuth: an object, a switch, or single fields of the entry.

use super::{EntryReader, Role};
use crate::declared::{NamedField, OAuth, OAuthFields};
use crate::dialect::Place;
use crate::fields::OAUTH;
use crate::json::{Node, Value};
use crate::source::Span;

impl EntryReader<'_> {
    pub(super) fn oauth(&mut self) -> OAuth {
        let mut single = OAuthFields::default();
        for field in self.present(|role| matches!(role, Role::OAuthMember(_))) {
            if let Role::OAuthMember(name) = field.role {
                self.oauth_member(field.key, name, &mut single);
            }
        }
        let found = self.oauth_object();
        let is_single = !single.strings.is_empty() || !single.scopes.is_empty();
        match found {
            OAuth::Configured(mut fields) => {
                fields.strings.append(&mut single.strings);
                fields.scopes.append(&mut single.scopes);
                OAuth::Configured(fields)
            }
            OAuth::Automatic if is_single => OAuth::Configured(Box::new(single)),
            other => other,
        }
    }

    fn oauth_object(&mut self) -> OAuth {
        let Some(key) = self.key(Role::OAuth) else {
            return OAuth::Automatic;
        };
        let Some(member) = self.object.get(key) else {
            return OAuth::Automatic;
        };
        let object = match &member.value.value {
            Value::Bool(false) => return OAuth::Off,
            Value::Bool(true) => return OAuth::Automatic,
            Value::Object(object) => object,
            _ => {
                self.wrong_kind(key, &member.value, "an object or `false`");
                return OAuth::Automatic;
            }
        };
        let pointer = self.pointer.child(key);
        let span = member.value.span;
        let fields = self.below(object, &pointer, |inner| inner.oauth_fields(span));
        OAuth::Configured(Box::new(fields))
    }

    fn oauth_fields(&mut self, span: Span) -> OAuthFields {
        let mut fields = OAuthFields {
            span,
            ..OAuthFields::default()
        };
        // The contract's table has more members than the host that it extends.
        if self.dialect.is_contract() {
            for spec in OAUTH {
                self.oauth_member(spec.name, spec.name, &mut fields);
            }
        } else {
            for (key, name) in self.dialect.oauth {
                self.oauth_member(key, name, &mut fields);
            }
        }
        fields
    }

    /// Reads one member under the host's key as the contract's.
    fn oauth_member(&mut self, key: &str, name: &str, fields: &mut OAuthFields) {
        let Some(member) = self.object.get(key) else {
            return;
        };
        match name {
            "scopes" => fields.scopes = self.scopes(key, &member.value),
            "callbackPort" => {
                fields.callback_port = match &member.value.value {
                    Value::Number(text) => text.parse().ok().filter(|&port: &u16| port > 0),
                    _ => None,
                };
                if fields.callback_port.is_none() {
                    self.wrong_kind(key, &member.value, "a port number");
                }
            }
            _ => {
                if let Some(value) = self.string(key, Place::OAuth) {
                    fields.strings.push(NamedField {
                        name: name.to_owned(),
                        name_span: member.key_span,
                        value,
                    });
                }
            }
        }
    }

    fn scopes(&mut self, key: &str, node: &Node) -> Vec<crate::declared::Field> {
        match &node.value {
            Value::String(text) => {
                let pointer = self.pointer.child(key);
                vec![self.field(text, node.span, pointer, Place::OAuth)]
            }
            _ => self.list(key, Place::OAuth),
        }
    }
}
