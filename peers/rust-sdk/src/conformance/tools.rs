//! Tools that answer at once, log, report progress or ask; those with rounds are in [`inputs`], those
//! that become tasks in [`tasks`].

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ErrorData,
    InputRequest, InputRequiredResult, ProgressNotificationParam, Tool,
};
use serde_json::{Value, json};

use super::{Change, Context, PNG, Shared, inputs, internal, is_modern, made, result, tasks};

/// Every tool, in an order that does not change.
pub fn all() -> Result<Vec<Tool>, ErrorData> {
    let mut tools: Vec<Value> = PLAIN
        .iter()
        .chain(inputs::NAMES)
        .chain(tasks::NAMES)
        .map(|name| tool(name, json!({ "type": "object" })))
        .collect();
    let text = json!({ "type": "string" });
    for (name, argument) in [("test_sampling", "prompt"), ("test_elicitation", "message")] {
        let schema =
            json!({ "type": "object", "properties": { argument: text }, "required": [argument] });
        tools.push(tool(name, schema));
    }
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let schema = json!({ "type": "object", "properties": { "region": region } });
    tools.push(tool("test_header_parameter", schema));
    tools.push(tool("json_schema_2020_12_tool", rich_schema()));
    made(Value::Array(tools))
}

pub async fn call(
    shared: &Shared,
    call: &CallToolRequestParams,
    context: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let name = call.name.as_ref();
    if inputs::NAMES.contains(&name) {
        return inputs::call(shared, call, context);
    }
    if tasks::NAMES.contains(&name) {
        return tasks::call(shared, call, context).await;
    }
    let given = |name: &str| {
        let value = call.arguments.as_ref()?.get(name)?;
        value.as_str().map(str::to_owned)
    };
    match name {
        "test_tool_with_logging" | "test_logging_tool" => log(context).await,
        "test_tool_with_progress" => progress(context).await,
        "test_trigger_tool_change" => changed(shared, Change::Tools),
        "test_trigger_prompt_change" => changed(shared, Change::Prompts),
        "test_missing_capability" => {
            let declared = context.client_capabilities().unwrap_or_default();
            if declared.sampling.is_none() {
                let required: ClientCapabilities = made(json!({ "sampling": {} }))?;
                return Err(ErrorData::missing_required_client_capability(required));
            }
            Ok(said("sampling is declared"))
        }
        "test_sampling" => {
            let sample = inputs::sample(&given("prompt").unwrap_or_default());
            ask(call, context, sample, |answer| {
                format!("LLM response: {}", inputs::text_of(answer))
            })
            .await
        }
        "test_elicitation" => {
            let message = given("message").unwrap_or_default();
            let text = json!({ "type": "string" });
            let schema = json!({
                "type": "object",
                "properties": { "username": text, "email": text },
                "required": ["username", "email"],
            });
            let form = inputs::form_of(&message, schema);
            ask(call, context, form, |answer| {
                format!("User response: {answer}")
            })
            .await
        }
        "test_elicitation_sep1034_defaults" => {
            ask(
                call,
                context,
                inputs::form_of("Defaults", defaults()),
                completed,
            )
            .await
        }
        "test_elicitation_sep1330_enums" => {
            ask(
                call,
                context,
                inputs::form_of("Choices", enums()),
                completed,
            )
            .await
        }
        "test_streaming_elicitation" => {
            let form = inputs::form("Who is there?", "name", "string");
            ask(call, context, form, completed).await
        }
        _ => fixed(name),
    }
}

/// Tools that return the same whatever they get.
fn fixed(name: &str) -> Result<CallToolResponse, ErrorData> {
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let resource = |uri: &str, kind: &str, text: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let contents = match name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image],
        "test_audio_content" => {
            vec![json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })]
        }
        "test_embedded_resource" => {
            let words = "This is an embedded resource content.";
            vec![resource("test://embedded-resource", "text/plain", words)]
        }
        "test_multiple_content_types" => {
            let data = r#"{"test":"data","value":123}"#;
            let uri = "test://mixed-content-resource";
            vec![
                text("Multiple content types test:"),
                image,
                resource(uri, "application/json", data),
            ]
        }
        "test_error_handling" => {
            let words = text("This tool intentionally returns an error for testing");
            return result::<CallToolResult>(json!({ "isError": true, "content": [words] }))
                .map(Into::into);
        }
        "test_reconnection" | "test_header_parameter" | "json_schema_2020_12_tool" => {
            vec![text("called")]
        }
        other => {
            return Err(ErrorData::invalid_params(
                format!("no tool `{other}`"),
                None,
            ));
        }
    };
    result::<CallToolResult>(json!({ "content": contents })).map(Into::into)
}

/// Logs three messages; since 2026-07-28 only if the request sets a level.
async fn log(context: &Context) -> Result<CallToolResponse, ErrorData> {
    if !is_modern(context) || context.meta.log_level().is_some() {
        for words in [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ] {
            let message = made(json!({ "level": "info", "data": words }))?;
            let sent = context.peer.notify_logging_message(message).await;
            sent.map_err(internal)?;
            tokio::time::sleep(STEP).await;
        }
    }
    Ok(said("logged"))
}

async fn progress(context: &Context) -> Result<CallToolResponse, ErrorData> {
    if let Some(token) = context.meta.get_progress_token() {
        for done in [0.0, 50.0, 100.0] {
            let progress = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            let sent = context.peer.notify_progress(progress).await;
            sent.map_err(internal)?;
            tokio::time::sleep(STEP).await;
        }
    }
    Ok(said("done"))
}

fn changed(shared: &Shared, change: Change) -> Result<CallToolResponse, ErrorData> {
    // An error means that no stream is open to hear of it.
    drop(shared.changes.send(change));
    Ok(said("changed"))
}

/// Asks the client once: by a request before 2026-07-28, inside the result since then.
async fn ask(
    call: &CallToolRequestParams,
    context: &Context,
    request: Value,
    say: impl Fn(&Value) -> String,
) -> Result<CallToolResponse, ErrorData> {
    if is_modern(context) {
        let answer = call
            .input_responses
            .as_ref()
            .and_then(|given| given.get("asked"));
        return match answer {
            Some(answer) => Ok(said(&say(answer))),
            None => {
                let asked = inputs::requests(json!({ "asked": request }))?;
                Ok(InputRequiredResult::from_input_requests(asked).into())
            }
        };
    }
    let answer = match made(request)? {
        InputRequest::CreateMessage(request) => {
            let answer = context.peer.create_message(request.params).await;
            json!(answer.map_err(internal)?)
        }
        InputRequest::Elicitation(request) => {
            let answer = context.peer.create_elicitation(request.params).await;
            json!(answer.map_err(internal)?)
        }
        _ => return Err(internal("no such question")),
    };
    Ok(said(&say(&answer)))
}

fn completed(answer: &Value) -> String {
    let action = answer["action"].as_str().unwrap_or_default();
    format!(
        "Elicitation completed: action={action}, content={}",
        answer["content"]
    )
}

/// Returns a result of one text.
pub fn said(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![rmcp::model::ContentBlock::text(text)]).into()
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": name, "inputSchema": schema })
}

fn defaults() -> Value {
    json!({ "type": "object", "required": [], "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
        },
        "verified": { "type": "boolean", "default": true },
    }})
}

fn enums() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = |noun: &str| {
        let one = |(value, ordinal): (&str, &str)| json!({ "const": value, "title": format!("{ordinal} {noun}") });
        let pairs = [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ];
        pairs.into_iter().map(one).collect::<Vec<Value>>()
    };
    json!({ "type": "object", "required": [], "properties": {
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    }})
}

/// A schema whose keywords have to survive, among them references and conditions.
fn rich_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": text, "city": text },
        }},
        "properties": {
            "name": text,
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": text,
            "email": text,
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

const PLAIN: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_reconnection",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_missing_capability",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_streaming_elicitation",
];
const STEP: Duration = Duration::from_millis(50);
/// A sound of no samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
