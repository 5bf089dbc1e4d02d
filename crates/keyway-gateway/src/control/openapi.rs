//! The OpenAPI document of the control API, made from the table of its operations.

use serde_json::{Map, Value, json};

use super::operations::Action;
use super::server_object::SCHEMA_VERSION;

/// Returns the document.
#[must_use]
pub fn document() -> Value {
    let mut paths = Map::new();
    paths.insert(
        "/v1/servers".to_owned(),
        json!({ "get": read("listServers", "List all servers", "ServerList", false) }),
    );
    let server = read("getServer", "Describe one server", "Server", true);
    paths.insert("/v1/servers/{id}".to_owned(), json!({ "get": server }));
    let policies = read(
        "listPolicies",
        "List the rules for its tools",
        "PolicyList",
        true,
    );
    let path = "/v1/servers/{id}/policies".to_owned();
    paths.insert(path, json!({ "get": policies }));
    for (action, word, summary) in Action::ALL {
        let path = format!("/v1/servers/{{id}}/{word}");
        paths.insert(path, json!({ "post": operation(action, word, summary) }));
    }
    paths.insert("/v1/events".to_owned(), json!({ "get": events() }));
    paths.insert("/v1/openapi.json".to_owned(), json!({ "get": own() }));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Keyway control API",
            "version": SCHEMA_VERSION.to_string(),
            "description": "Served by `keyway serve` on its private Unix socket, to processes of \
                the same user. No answer holds a credential.",
        },
        "servers": [{ "url": "http://localhost", "description": "gateway.sock" }],
        "paths": paths,
        "components": { "schemas": schemas(), "securitySchemes": {
            "host": { "type": "http", "scheme": "bearer",
                "description": "Printed once by `keyway embed allow NAME`" },
        }},
    })
}

fn read(id: &str, summary: &str, schema: &str, has_server: bool) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), answer(schema));
    let mut operation = json!({ "operationId": id, "summary": summary });
    if has_server {
        responses.insert("404".to_owned(), problem("There is no such server"));
        set(&mut operation, "parameters", json!([id_parameter()]));
    }
    set(&mut operation, "responses", Value::Object(responses));
    operation
}

fn operation(action: Action, word: &str, summary: &str) -> Value {
    let mut responses = json!({
        "200": answer("Server"),
        "404": problem("There is no such server"),
        "409": problem("It could not be done; `code` says why"),
    });
    let mut operation = json!({
        "operationId": camel_case(word),
        "summary": summary,
        "parameters": [id_parameter()],
    });
    let body = match action {
        Action::Approve => Some("ApproveRequest"),
        Action::SetPolicy => Some("SetPolicyRequest"),
        _ => None,
    };
    if let Some(schema) = body {
        set(&mut responses, "400", problem("The body lacks something"));
        set(
            &mut responses,
            "401",
            problem("The host is not allowed to do this"),
        );
        set(&mut operation, "security", json!([{ "host": [] }]));
        let content = json!({ "application/json": { "schema": reference(schema) } });
        let body = json!({ "required": true, "content": content });
        set(&mut operation, "requestBody", body);
    }
    set(&mut operation, "responses", responses);
    operation
}

fn events() -> Value {
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    json!({
        "operationId": "streamEvents",
        "summary": "Read what happens from now on, as server-sent events",
        "description": "Each event has the data of the JSON Lines that `--events FILE` writes. A \
            reader that is too slow gets an event `lost` with how many it missed.",
        "responses": {
            "200": { "description": "The stream", "content": content },
            "503": problem("Too many streams are open"),
        },
    })
}

fn own() -> Value {
    let content = json!({ "application/json": { "schema": { "type": "object" } } });
    json!({
        "operationId": "getOpenApi",
        "summary": "Read this document",
        "responses": { "200": { "description": "This document", "content": content } },
    })
}

fn id_parameter() -> Value {
    json!({
        "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
        "description": "`PLUGIN:SERVER`, percent-encoded as one part of the path",
    })
}

fn answer(schema: &str) -> Value {
    let content = json!({ "application/json": { "schema": reference(schema) } });
    json!({ "description": schema, "content": content })
}

fn problem(description: &str) -> Value {
    let content = json!({ "application/problem+json": { "schema": reference("Problem") } });
    json!({ "description": description, "content": content })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn schemas() -> Value {
    let text = || json!({ "type": "string" });
    let optional = || json!({ "type": ["string", "null"] });
    let list = |of: Value| json!({ "type": "array", "items": of });
    let perhaps = |schema: &str| json!({ "anyOf": [reference(schema), { "type": "null" }] });
    json!({
        "ServerList": object(&[
            ("schema_version", json!({ "const": SCHEMA_VERSION })),
            ("servers", list(reference("Server"))),
        ]),
        "Server": object(&[
            ("id", text()), ("plugin", text()), ("name", text()),
            ("transport", optional()), ("method", optional()),
            ("state", text()), ("reason", optional()),
            ("code", optional()), ("message", optional()), ("hint", optional()),
            ("fixable_by", optional()),
            ("variables", list(reference("Variable"))),
            ("account", optional()),
            ("scopes", json!({ "type": ["array", "null"], "items": text() })),
            ("since", json!({ "type": ["string", "null"], "format": "date-time" })),
            ("expires_at", json!({ "type": ["string", "null"], "format": "date-time" })),
            ("busy", json!({ "type": "boolean" })),
            ("consent", perhaps("Consent")), ("approval", perhaps("Approval")),
            ("tools", list(reference("Tool"))),
            ("note", optional()),
        ]),
        "Variable": object(&[
            ("name", text()), ("set", json!({ "type": "boolean" })), ("from", optional()),
        ]),
        "Consent": object(&[
            ("page", json!({ "type": "string", "format": "uri" })), ("issuer", text()),
            ("client", optional()), ("scopes", list(text())), ("new_scopes", list(text())),
            ("user_code", optional()), ("expires_in", json!({ "type": "integer" })),
        ]),
        "Approval": object(&[
            ("digest", text()), ("facts", list(reference("Fact"))),
            ("changes", json!({ "type": ["array", "null"], "items": text() })),
        ]),
        "Fact": object(&[("kind", text()), ("text", text()), ("caution", optional())]),
        "Tool": object(&[
            ("name", text()), ("title", optional()), ("description", optional()),
            ("input_schema", json!({})),
        ]),
        "ApproveRequest": { "type": "object", "required": ["digest"], "additionalProperties": false,
            "properties": { "digest": text(), "confined": { "type": "boolean" } } },
        "PolicyList": object(&[
            ("schema_version", json!({ "const": SCHEMA_VERSION })),
            ("policies", list(reference("Policy"))),
        ]),
        "Policy": object(&[
            ("tool", text()), ("client", optional()), ("rule", text()),
            ("is_in_config", json!({ "type": "boolean" })),
        ]),
        "SetPolicyRequest": { "type": "object", "required": ["tool"], "additionalProperties": false,
            "properties": { "tool": text(), "client": optional(),
                "rule": { "enum": ["allow", "ask", "deny", null] } } },
        "Problem": object(&[
            ("title", text()), ("status", json!({ "type": "integer" })), ("detail", text()),
            ("code", optional()), ("hint", optional()), ("fixable_by", optional()),
        ]),
    })
}

/// Describes an object all of whose members are always there.
fn object(members: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({ "type": "object", "required": names, "properties": properties,
        "additionalProperties": false })
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn camel_case(word: &str) -> String {
    let mut parts = word.split('-');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema_and_every_operation_has_a_name_of_its_own() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        let text = document.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas[name].is_object(), "{name}");
        }
        let mut ids: Vec<&str> = text.split("\"operationId\":\"").skip(1).collect();
        ids.iter_mut()
            .for_each(|id| *id = id.split('"').next().unwrap());
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(
            (ids.len(), count),
            (Action::ALL.len() + 5, Action::ALL.len() + 5)
        );
    }
}
