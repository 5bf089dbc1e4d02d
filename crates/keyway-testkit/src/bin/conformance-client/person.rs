//! A person who agrees to everything: answers what servers ask of their client.

use keyway::connect::BoxFuture;
use keyway_mcp::session::{Frame, Handler, RpcError};
use keyway_testkit::conformance;
use serde_json::Value;
use serde_json::value::RawValue;

/// Answers questions at once: forms with their defaults, samples with a fixed text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Person;

impl Handler for Person {
    fn capabilities(&self) -> Value {
        conformance::capabilities()
    }

    fn answer<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        let params = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or(Value::Null);
        let answer = conformance::answer(method, &params)
            .ok_or_else(|| RpcError::new(METHOD_NOT_FOUND, format!("`{method}` is not supported")));
        Box::pin(std::future::ready(answer))
    }

    fn notified(&self, _method: &str, _frame: &Frame) {}
}

const METHOD_NOT_FOUND: i64 = -32601;
