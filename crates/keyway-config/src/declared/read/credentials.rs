//! Reads headers and variables, also where a host names the variable and not the value.

use super::{EntryReader, Role};
use crate::declared::{EntryFault, Field, NamedField};
use crate::dialect::Place;
use crate::json::{Node, Value};
use crate::source::{Pointer, Span};
use crate::template::{Template, is_variable_name};

impl EntryReader<'_> {
    /// Reads the variables of the process, those that come with a value first.
    pub(super) fn env(&mut self) -> Vec<NamedField> {
        let mut env = Vec::new();
        for field in self.present(|role| matches!(role, Role::Env | Role::EnvNames)) {
            if field.role == Role::Env {
                env.extend(self.map(field.key, Place::Env));
            } else {
                env.extend(self.names(field.key));
            }
        }
        env
    }

    /// Reports names that a program would not see as they are written.
    ///
    /// Not only `[A-Za-z_][A-Za-z0-9_]*`: `npm_config_//registry.example/:_authToken` is one too.
    pub(super) fn check_env_names(&mut self, env: &[NamedField]) {
        let is_sound = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'=';
            !name.is_empty() && name.bytes().all(is_plain)
        };
        for field in env.iter().filter(|field| !is_sound(&field.name)) {
            self.faults.push(EntryFault::BadVariableName {
                pointer: field.value.pointer.clone(),
                span: field.name_span,
            });
        }
    }

    /// Reads the headers under all of the host's fields for them.
    pub(super) fn headers(&mut self) -> Vec<NamedField> {
        let mut headers = Vec::new();
        let fields = self.present(|role| {
            matches!(
                role,
                Role::Headers
                    | Role::HeadersFromEnv
                    | Role::BearerFromEnv
                    | Role::Bearer
                    | Role::Inner(_)
            )
        });
        for field in fields {
            match field.role {
                Role::Headers => headers.extend(self.map(field.key, Place::Headers)),
                Role::HeadersFromEnv => headers.extend(self.headers_from_env(field.key)),
                Role::BearerFromEnv => headers.extend(self.bearer_from_env(field.key)),
                Role::Bearer => headers.extend(self.bearer(field.key)),
                Role::Inner(inner) => headers.extend(self.inner_headers(field.key, inner)),
                _ => {}
            }
        }
        headers
    }

    /// A list of names, each of which is passed on under its own name.
    fn names(&mut self, key: &str) -> Vec<NamedField> {
        let Some(member) = self.object.get(key) else {
            return Vec::new();
        };
        let Value::Array(items) = &member.value.value else {
            self.wrong_kind(key, &member.value, "an array of names");
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        let mut names = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let name = match &item.value {
                Value::Object(object) => object.get("name").and_then(|it| it.value.as_str()),
                _ => item.as_str(),
            };
            match name.filter(|name| is_variable_name(name)) {
                Some(name) => {
                    let pointer = pointer.child(&index.to_string());
                    names.push(named(name, reference(name, item.span, pointer), item.span));
                }
                None => self.wrong_kind(key, item, "the name of a variable"),
            }
        }
        names
    }

    /// A map from headers to names of variables.
    fn headers_from_env(&mut self, key: &str) -> Vec<NamedField> {
        let Some(member) = self.object.get(key) else {
            return Vec::new();
        };
        let Value::Object(object) = &member.value.value else {
            self.wrong_kind(key, &member.value, "an object of names");
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        let mut headers = Vec::with_capacity(object.members.len());
        for member in &object.members {
            let pointer = pointer.child(&member.key);
            match self.variable(key, &member.value) {
                Some(variable) => {
                    let value = reference(variable, member.value.span, pointer);
                    headers.push(named(&member.key, value, member.key_span));
                }
                None => continue,
            }
        }
        headers
    }

    fn bearer_from_env(&mut self, key: &str) -> Option<NamedField> {
        let member = self.object.get(key)?;
        let variable = self.variable(key, &member.value)?;
        let value = Field {
            template: Template::implied(&format!("Bearer ${{{variable}}}")),
            span: member.value.span,
            pointer: self.pointer.child(key),
        };
        Some(named("Authorization", value, member.key_span))
    }

    /// A token itself; what it becomes is not in the file, so its own place stands for it.
    fn bearer(&mut self, key: &str) -> Option<NamedField> {
        let member = self.object.get(key)?;
        let token = self.string(key, Place::Headers)?;
        let mut variables = token.template.variables();
        let template = match (variables.next(), variables.next()) {
            (Some(variable), None) => Template::implied(&format!("Bearer ${{{}}}", variable.name)),
            _ => Template::implied(&format!("Bearer {}", token.template.as_str())),
        };
        let value = Field { template, ..token };
        Some(named("Authorization", value, member.key_span))
    }

    fn inner_headers(
        &mut self,
        key: &str,
        fields: &'static [crate::dialect::HostField],
    ) -> Vec<NamedField> {
        let object = self.object.get(key).and_then(|it| it.value.as_object());
        let Some(object) = object else {
            return Vec::new();
        };
        let pointer = self.pointer.child(key);
        self.below(object, &pointer, |inner| {
            let headers = fields.iter().filter(|field| field.role == Role::Headers);
            headers
                .flat_map(|field| inner.map(field.key, Place::Headers))
                .collect()
        })
    }

    /// Returns the name of a variable, or reports that there is none.
    fn variable<'n>(&mut self, key: &str, node: &'n Node) -> Option<&'n str> {
        let name = node.as_str().filter(|name| is_variable_name(name));
        if name.is_none() {
            self.wrong_kind(key, node, "the name of a variable");
        }
        name
    }
}

fn named(name: &str, value: Field, name_span: Span) -> NamedField {
    NamedField {
        name: name.to_owned(),
        name_span,
        value,
    }
}

/// A value that is one variable; the file holds its name alone.
fn reference(variable: &str, span: Span, pointer: Pointer) -> Field {
    Field {
        template: Template::implied(&format!("${{{variable}}}")),
        span,
        pointer,
    }
}
