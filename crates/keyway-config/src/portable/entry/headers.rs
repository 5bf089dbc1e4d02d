//! The headers of an entry, in the notation of a target.

use super::{HostValue, Loss, PortableText, Writer};
use crate::dialect::{Asks, HostFieldRole as Role, Place};

impl Writer<'_> {
    pub(super) fn headers(&mut self, headers: &[(String, PortableText)]) -> Result<(), Loss> {
        let target = self.target;
        let fills_in = target.variables_in(Place::Headers).write("X").is_some();
        let (mut values, mut from_env) = (Vec::new(), Vec::new());
        for (name, text) in headers {
            let is_authorization = name.eq_ignore_ascii_case("Authorization");
            let bearer = text
                .only_slot("Bearer ")
                .filter(|_| is_authorization && !fills_in);
            if let (Some(slot), Some(key)) = (bearer, target.key(Role::BearerFromEnv)) {
                self.default_of_name(slot);
                self.put(key, HostValue::Text(slot.name.clone()));
                continue;
            }
            match (text.only_slot(""), target.key(Role::HeadersFromEnv)) {
                (Some(slot), Some(_)) if !fills_in => {
                    self.default_of_name(slot);
                    from_env.push((name.clone(), HostValue::Text(slot.name.clone())));
                }
                _ => {
                    let what = format!("header `{name}`");
                    let value = self.text(text, Place::Headers, &what)?;
                    values.push((name.clone(), HostValue::Text(value)));
                    // Goose fills in only what the entry itself names.
                    if target.asks == Asks::Names
                        && fills_in
                        && target.key(Role::EnvNames).is_some()
                    {
                        self.names
                            .extend(text.slots().map(|slot| slot.name.clone()));
                    }
                }
            }
        }
        if !from_env.is_empty() {
            let key = self.required(Role::HeadersFromEnv, "headers")?;
            self.put(key, HostValue::Members(from_env));
        }
        if !values.is_empty() {
            self.put_headers(values)?;
        }
        Ok(())
    }

    /// Headers stand in the entry, or in an object inside of it.
    fn put_headers(&mut self, values: Vec<(String, HostValue)>) -> Result<(), Loss> {
        let inner = self
            .target
            .fields
            .iter()
            .find_map(|field| match field.role {
                Role::Inner(fields) => {
                    let headers = fields.iter().find(|inner| inner.role == Role::Headers)?;
                    Some((field.key, headers.key))
                }
                _ => None,
            });
        let headers = HostValue::Members(values);
        if let Some((outer, key)) = inner.filter(|_| !self.target.syntax.is_json()) {
            self.put(outer, HostValue::Members(vec![(key.to_owned(), headers)]));
            return Ok(());
        }
        let key = self.required(Role::Headers, "headers")?;
        self.put(key, headers);
        Ok(())
    }
}
