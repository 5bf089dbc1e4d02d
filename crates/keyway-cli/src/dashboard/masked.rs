//! What a server says, without what it was given by us.

use keyway::Host;
use keyway::redaction_values::Redactor;
use keyway_gateway::dashboard::{Fault, ServerId, Tool};
use keyway_mcp::declaration_site::DeclarationSite;
use keyway_mcp::states::Trouble;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Desk;
use super::slots::Seen;
use crate::commands::call;
use crate::error::CliError;

impl Desk {
    /// Returns the host that asks nobody, for one server.
    pub(super) fn host_of(&self, id: &ServerId) -> Host {
        self.host.with_redaction_values(self.slots.supplied(id))
    }

    /// Returns what masks everything that a server was given.
    fn redactor(&self, id: &ServerId) -> Redactor {
        self.slots.supplied(id).redactor()
    }

    /// Words what kept something from being done, as it may be shown.
    pub(super) fn trouble(&self, id: &ServerId, error: &CliError) -> Trouble {
        let mut told = error.trouble();
        told.hint = told.hint.map(|hint| self.word(id, &hint));
        trouble(told, &self.redactor(id))
    }

    /// Words a hint so that it can be followed wherever the person stands.
    fn word(&self, id: &ServerId, hint: &str) -> String {
        let found = self.plugin(id);
        let known = found.map(|plugin| plugin.declaration_site(&id.name));
        let known = known.unwrap_or_else(|_| DeclarationSite::named(id.name.clone()));
        known.word(hint)
    }

    /// Makes what was found out ready to be shown.
    pub(super) fn shown(&self, id: &ServerId, mut found: Seen) -> Seen {
        if let Some(fault) = &mut found.fault {
            fault.hint = self.word(id, &fault.hint);
        }
        seen(found, &self.redactor(id))
    }

    /// Calls a tool; what it answers may be shown.
    pub(super) async fn use_tool(
        &self,
        id: &ServerId,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Box<RawValue>, CliError> {
        let ready = self.ready(id)?;
        let conversation = ready.connect().await?;
        let arguments = Value::Object(arguments).to_string();
        let how = (ready.timeout(None), None);
        let answered = call::tool(&ready, &conversation, (tool, &arguments), how).await;
        conversation.close().await;
        Ok(answer(answered?, &self.redactor(id)))
    }
}

/// Masks what is known of a server.
fn seen(mut seen: Seen, redactor: &Redactor) -> Seen {
    if let Some(fault) = &mut seen.fault {
        let Fault {
            message,
            hint,
            lines,
            ..
        } = fault;
        for text in [message, hint].into_iter().chain(lines) {
            *text = redactor.text(text);
        }
    }
    seen.offers = seen.offers.map(|offers| redactor.text(&offers));
    let tools = seen.tools.iter().map(|tool| Tool {
        name: redactor.text(&tool.name),
        title: tool.title.as_ref().map(|it| redactor.text(it)),
        description: tool.description.as_ref().map(|it| redactor.text(it)),
        schema: value(&tool.schema, redactor),
    });
    seen.tools = tools.collect();
    seen
}

/// Masks what went wrong.
fn trouble(trouble: Trouble, redactor: &Redactor) -> Trouble {
    Trouble {
        message: redactor.text(&trouble.message),
        hint: trouble.hint.map(|hint| redactor.text(&hint)),
        ..trouble
    }
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

/// Puts what is no value of its own into a string.
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
}
