//! The server behind every gate: two tools, in both protocol eras.

use serde_json::{Value, json};

use crate::journal::{Event, Journal};

/// Answers one message; `None` if it wants no answer.
pub(crate) fn answer(text: &str, server: &'static str, journal: &Journal) -> Option<String> {
    let Ok(message) = serde_json::from_str::<Value>(text) else {
        return Some(failure(&Value::Null, PARSE_ERROR, "not JSON"));
    };
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return Some(failure(&Value::Null, INVALID_REQUEST, "not a request"));
    };
    let id = message.get("id")?;
    let params = message.get("params").unwrap_or(&Value::Null);
    let result = match method {
        "server/discover" => Ok(json!({
            "resultType": "complete",
            "supportedVersions": [MODERN, LEGACY.first()],
            "capabilities": { "tools": {} },
            "_meta": { "io.modelcontextprotocol/serverInfo": introduction(server) },
        })),
        "initialize" => Ok(json!({
            "protocolVersion": version(params),
            "capabilities": { "tools": {} },
            "serverInfo": introduction(server),
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({
            "resultType": "complete",
            "tools": tools(),
            "ttlMs": 0,
            "cacheScope": "private",
        })),
        "tools/call" => {
            journal.note(server, Event::Called);
            call(params)
        }
        _ => Err((METHOD_NOT_FOUND, "method not found")),
    };
    Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
        Err((code, message)) => failure(id, code, message),
    })
}

fn failure(id: &Value, code: i64, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

fn introduction(server: &str) -> Value {
    json!({ "name": format!("keyway-demo-{server}"), "version": env!("CARGO_PKG_VERSION") })
}

/// Speaks what the client does, where that is a version with a handshake.
fn version(params: &Value) -> Option<&str> {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let is_known = |asked: &&str| LEGACY.contains(asked);
    asked.filter(is_known).or_else(|| LEGACY.first().copied())
}

fn tools() -> Value {
    let number = json!({ "type": "number" });
    json!([
        {
            "name": "echo",
            "description": "Echoes the message",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            },
        },
        {
            "name": "add",
            "description": "Adds two numbers",
            "inputSchema": {
                "type": "object",
                "properties": { "a": number, "b": number },
                "required": ["a", "b"],
            },
        },
    ])
}

fn call(params: &Value) -> Result<Value, (i64, &'static str)> {
    let argument = |name: &str| params.get("arguments").and_then(|given| given.get(name));
    let said = match params.get("name").and_then(Value::as_str) {
        Some("echo") => argument("text").and_then(Value::as_str).map(str::to_owned),
        Some("add") => {
            let number = |name| argument(name).and_then(Value::as_f64);
            number("a")
                .zip(number("b"))
                .map(|(a, b)| (a + b).to_string())
        }
        _ => return Err((INVALID_PARAMS, "no such tool")),
    };
    let text = said.ok_or((INVALID_PARAMS, "the arguments do not fit the tool"))?;
    Ok(json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
}

const MODERN: &str = "2026-07-28";
/// Newest first.
const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
