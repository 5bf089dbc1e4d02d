//! A person who agrees to everything: answers what servers ask of their client.

use serde_json::{Value, json};

use super::filled_in;

/// Returns the client capabilities that [`answer`] is good for.
#[must_use]
pub fn capabilities() -> Value {
    json!({
        "elicitation": { "form": { "applyDefaults": true } },
        "roots": {},
        "sampling": {},
    })
}

/// Answers a request of a server: forms with their defaults, samples with a fixed text; `None` for
/// a method that the client does not have.
#[must_use]
pub fn answer(method: &str, params: &Value) -> Option<Value> {
    match method {
        "elicitation/create" => {
            let form = params.get("requestedSchema").unwrap_or(&Value::Null);
            Some(json!({ "action": "accept", "content": filled_in(form, &[]) }))
        }
        "sampling/createMessage" => Some(json!({
            "role": "assistant",
            "model": "none",
            "stopReason": "endTurn",
            "content": { "type": "text", "text": "sampled" },
        })),
        "roots/list" => Some(json!({ "roots": [] })),
        "ping" => Some(json!({})),
        _ => None,
    }
}
