//! A person who agrees to everything: answers what servers ask of their client.

use keyway::connect::BoxFuture;
use keyway_mcp::session::{Frame, Handler, RpcError};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::arguments;

/// Answers questions at once: forms with their defaults, samples with a fixed text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Person;

impl Handler for Person {
    fn capabilities(&self) -> Value {
        json!({
            "elicitation": { "form": { "applyDefaults": true } },
            "roots": {},
            "sampling": {},
        })
    }

    fn answer<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        let params = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or(Value::Null);
        Box::pin(std::future::ready(answer(method, &params)))
    }

    fn notified(&self, _method: &str, _frame: &Frame) {}
}

fn answer(method: &str, params: &Value) -> Result<Value, RpcError> {
    match method {
        "elicitation/create" => {
            let form = params.get("requestedSchema").unwrap_or(&Value::Null);
            let content = arguments::filled_in(form, &[]);
            Ok(json!({ "action": "accept", "content": content }))
        }
        "sampling/createMessage" => Ok(json!({
            "role": "assistant",
            "model": "none",
            "stopReason": "endTurn",
            "content": { "type": "text", "text": "sampled" },
        })),
        "roots/list" => Ok(json!({ "roots": [] })),
        "ping" => Ok(json!({})),
        other => Err(RpcError::new(
            METHOD_NOT_FOUND,
            format!("`{other}` is not supported"),
        )),
    }
}

const METHOD_NOT_FOUND: i64 = -32601;
