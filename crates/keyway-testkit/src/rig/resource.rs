//! The MCP server: one tool, `echo`, for clients with a token.

use serde_json::{Value, json};

use super::Place;
use super::settings::Settings;
use super::tokens::Tokens;
use crate::http::{Answer, Request};

/// Answers `/mcp`; also `/sse` and `/messages`, up to how the answer gets to the client.
pub(super) fn answer(
    request: &Request,
    settings: &Settings,
    tokens: &Tokens,
    place: &Place,
) -> Answer {
    let token = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let is_known = token.is_some_and(|token| tokens.accepts(token, place.now));
    if settings.rejects_all || !is_known {
        return challenge(request, token.is_some(), settings, place);
    }
    if let Some(scope) = &settings.wants_scope
        && !tokens.agreed().split(' ').any(|agreed| agreed == scope)
    {
        let told = format!(r#"Bearer error="insufficient_scope", scope="{scope}""#);
        return Answer::empty(403).with("www-authenticate", &told);
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/sse") | ("DELETE", "/mcp") => Answer::empty(200),
        ("POST", "/mcp" | "/messages") => respond(&request.body, settings),
        _ => Answer::empty(405),
    }
}

/// Answers the metadata of the resource that the end of `path` names.
pub(super) fn metadata(path: &str, settings: &Settings, place: &Place) -> Answer {
    let end = if path.ends_with("/sse") {
        "/sse"
    } else {
        "/mcp"
    };
    let own = format!("{}{end}", place.origin);
    Answer::json(
        200,
        &json!({
            "resource": settings.resource.as_ref().unwrap_or(&own),
            "authorization_servers": [place.origin],
            "scopes_supported": ["tools"],
            "bearer_methods_supported": ["header"],
        }),
    )
}

fn challenge(request: &Request, had_token: bool, settings: &Settings, place: &Place) -> Answer {
    let end = match request.path.as_str() {
        "/mcp" => "mcp",
        _ => "sse",
    };
    let own = format!(
        "{}/.well-known/oauth-protected-resource/{end}",
        place.origin
    );
    let at = settings.resource_metadata.as_ref().unwrap_or(&own);
    let error = if had_token {
        r#"error="invalid_token", "#
    } else {
        ""
    };
    let challenge = format!(r#"Bearer {error}resource_metadata="{at}", scope="tools""#);
    Answer::json(401, &json!({ "error": "invalid_token" })).with("www-authenticate", &challenge)
}

fn respond(body: &str, settings: &Settings) -> Answer {
    let Ok(message) = serde_json::from_str::<Value>(body) else {
        return Answer::empty(400);
    };
    let Some(id) = message.get("id") else {
        return Answer::empty(202);
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    let outcome = match message.get("method").and_then(Value::as_str) {
        Some("server/discover") if settings.modern => Ok(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25"],
            "capabilities": { "tools": {} },
            "_meta": { "io.modelcontextprotocol/serverInfo": server() },
        })),
        Some("initialize") => Ok(json!({
            "protocolVersion": version(params),
            "capabilities": { "tools": {} },
            "serverInfo": server(),
        })),
        Some("ping") => Ok(json!({})),
        Some("tools/list") => Ok(json!({ "resultType": "complete", "tools": [{
            "name": "echo",
            "description": "Echoes the message",
            "inputSchema": { "type": "object", "properties": { "message": { "type": "string" } } },
        }], "ttlMs": 0, "cacheScope": "private" })),
        Some("tools/call") => {
            let said = params.pointer("/arguments/message");
            let text = format!("Echo: {}", said.and_then(Value::as_str).unwrap_or_default());
            Ok(json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
        }
        _ => Err(json!({ "code": -32601, "message": "Method not found" })),
    };
    let answer = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    };
    Answer::json(200, &answer)
}

fn server() -> Value {
    json!({ "name": "rig", "version": "1" })
}

/// Speaks what the client does, where that is a version before 2026.
fn version(params: &Value) -> &str {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let is_known = |asked: &&str| ["2025-11-25", "2025-06-18", "2025-03-26"].contains(asked);
    asked.filter(is_known).unwrap_or("2025-11-25")
}
