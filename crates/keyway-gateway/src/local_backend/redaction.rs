//! What a server says, without what it was given by us.

use keyway::diagnosis::{Diagnosis, Offer};
use keyway::redaction_values::Redactor;
use keyway::{Error, Host};
use keyway_mcp::declaration_site::DeclarationSite;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::LocalBackend;
use super::server_records::Seen;
use keyway_dashboard::{ServerId, Tool};

impl LocalBackend {
    /// Returns the host that asks no person, for one server.
    pub(super) fn host_of(&self, id: &ServerId) -> Host {
        self.host
            .with_redaction_values(self.records.redaction_values(id))
    }

    /// Returns what masks everything that a server was given.
    pub(super) fn redactor(&self, id: &ServerId) -> Redactor {
        self.records.redaction_values(id).redactor()
    }

    /// Says how an error leaves a server, as it may be shown.
    pub(super) fn problem(&self, id: &ServerId, error: &Error) -> Box<Diagnosis> {
        let known = Diagnosis::new(&*id.plugin, &*id.name);
        let mut found = error.diagnosis_of(known, keyway_code::Stage::Connect);
        // The page shows the state and the command on its own; what went wrong is its text.
        found.message = error.problem().message;
        found.hint = error.problem().hint;
        let found = self.worded(id, found);
        Box::new(redacted(found, &self.redactor(id)))
    }

    /// Words a hint so that it can be followed wherever the person stands.
    pub(super) fn worded(&self, id: &ServerId, mut found: Diagnosis) -> Diagnosis {
        let plugin = self.plugin(id);
        let site = plugin.map(|plugin| plugin.declaration_site(&id.name));
        let site = site.unwrap_or_else(|_| DeclarationSite::named(id.name.clone()));
        found.hint = found.hint.map(|hint| site.word(&hint));
        found
    }

    /// Makes what was found out ready to be shown.
    pub(super) fn shown(&self, id: &ServerId, seen: Seen) -> Seen {
        let redactor = self.redactor(id);
        let shown = |tool: &Tool| tool.rewritten(|it| redactor.text(it), |it| value(it, &redactor));
        let tools = seen.tools.iter().map(shown);
        Seen {
            at: seen.at,
            tools: tools.collect(),
            diagnosis: redacted(self.worded(id, seen.diagnosis), &redactor),
            is_open: seen.is_open,
        }
    }

    /// Calls a tool; what it answers may be shown.
    pub(super) async fn use_tool(
        &self,
        id: &ServerId,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Box<RawValue>, Error> {
        let ready = self.ready(id)?;
        let session = ready.connect().await?;
        let arguments = Value::Object(arguments).to_string();
        let how = (ready.timeout(None), None);
        let answered = ready.call_tool(&session, (tool, &arguments), how).await;
        session.close().await;
        Ok(answer(answered?, &self.redactor(id)))
    }
}

/// Masks what is known of a server.
fn redacted(mut found: Diagnosis, redactor: &Redactor) -> Diagnosis {
    found.message = redactor.text(&found.message);
    found.hint = found.hint.map(|hint| redactor.text(&hint));
    for line in &mut found.last_lines {
        *line = redactor.text(line);
    }
    found.offer = found.offer.map(|offer| {
        let summary = redactor.text(&offer.summary);
        Offer::new(offer.era, summary, offer.tools)
    });
    found
}

/// Masks an answer.
fn answer(raw: Box<RawValue>, redactor: &Redactor) -> Box<RawValue> {
    let Ok(read) = serde_json::from_str::<Value>(raw.get()) else {
        return text_of(redactor.text(raw.get()));
    };
    let masked = value(&read, redactor);
    if masked == read {
        return raw;
    }
    RawValue::from_string(masked.to_string()).unwrap_or_default()
}

/// Makes a JSON string of text that is not JSON itself.
fn text_of(text: String) -> Box<RawValue> {
    let quoted = Value::String(text).to_string();
    RawValue::from_string(quoted).unwrap_or_default()
}

/// Masks every text in a value, names and numbers included.
fn value(whole: &Value, redactor: &Redactor) -> Value {
    match whole {
        Value::String(text) => Value::String(redactor.text(text)),
        Value::Number(number) => {
            let text = number.to_string();
            let masked = redactor.text(&text);
            if masked == text {
                return whole.clone();
            }
            Value::String(masked)
        }
        Value::Array(all) => all.iter().map(|one| value(one, redactor)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let masked = members.map(|(name, one)| (redactor.text(name), value(one, redactor)));
            Value::Object(masked.collect())
        }
        Value::Null | Value::Bool(_) => whole.clone(),
    }
}

#[cfg(test)]
mod tests {
    use keyway_secret::Secret;

    use super::*;

    #[test]
    fn names_numbers_and_texts_are_masked_and_nothing_else_is_touched() {
        let redactor = Redactor::new(&[Secret::new("4815162342".to_owned())]);
        let masked = |json: &str| {
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            answer(raw, &redactor).get().to_owned()
        };
        let same = r#"{"b": 10000000000000000000000001, "a":[null, true]}"#;
        assert_eq!(masked(same), same);
        assert_eq!(
            masked(r#"{"x4815162342": [4815162342, "4815162342", 1]}"#),
            r#"{"x[redacted]":["[redacted]","[redacted]",1]}"#
        );
    }

    #[test]
    fn what_helps_names_the_server_itself() {
        let host = Host::builder().without_vault().build().unwrap();
        let backend = LocalBackend::new(&host);
        let mut found = Diagnosis::new("p", "docs");
        found.hint = Some("sign in again and agree: keyway login SERVER".to_owned());
        let found = backend.worded(&ServerId::new("p", "docs"), found);
        let hint = found.hint.unwrap();
        assert_eq!(hint, "sign in again and agree: keyway login docs");
    }
}
