//! Tools that need answers of the client, in one round or several; all since 2026-07-28 only.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InputRequests, InputRequiredResult,
    InputResponses,
};
use serde_json::{Value, json};

use super::tools::said;
use super::{Context, Shared, made};

pub const NAMES: &[&str] = &[
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

pub fn call(
    shared: &Shared,
    call: &CallToolRequestParams,
    context: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let given = call.input_responses.as_ref();
    let answer = |key: &str| given.and_then(|given| given.get(key));
    let name = || form("What is your name?", "name", "string");
    let state = || opened(shared, call);
    match call.name.as_ref() {
        "test_input_required_result_elicitation" => match field(given, "user_name", "name") {
            Some(name) => Ok(said(&format!("Hello, {name}!"))),
            None => ask(json!({ "user_name": name() }), None),
        },
        "test_input_required_result_sampling" => match answer("capital_question") {
            Some(sampled) => Ok(said(&text_of(sampled))),
            None => {
                let question = sample("What is the capital of France?");
                ask(json!({ "capital_question": question }), None)
            }
        },
        "test_input_required_result_list_roots" => match answer("client_roots") {
            Some(listed) => Ok(said(&format!("roots: {}", listed["roots"]))),
            None => ask(json!({ "client_roots": ROOTS() }), None),
        },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => match (answer("confirm"), state()?) {
            (Some(_), Some(_)) => Ok(said("state-ok")),
            _ => {
                let form = form("Please confirm", "ok", "boolean");
                let sealed = sealed(shared, call, "confirm");
                ask(json!({ "confirm": form }), Some(sealed))
            }
        },
        "test_input_required_result_multiple_inputs" => {
            let all = (
                answer("user_name"),
                answer("greeting"),
                answer("client_roots"),
            );
            if let ((Some(_), Some(_), Some(_)), Some(_)) = (all, state()?) {
                return Ok(said("all answered"));
            }
            let asked = json!({
                "user_name": name(),
                "greeting": sample("Generate a greeting"),
                "client_roots": ROOTS(),
            });
            ask(asked, Some(sealed(shared, call, "all")))
        }
        "test_input_required_result_multi_round" => rounds(shared, call),
        _ => {
            let declared = context.client_capabilities().unwrap_or_default();
            let mut asked = json!({});
            if declared.elicitation.is_some() {
                asked["user_name"] = name();
            }
            if declared.sampling.is_some() {
                asked["greeting"] = sample("Generate a greeting");
            }
            if given.is_some() || asked == json!({}) {
                return Ok(said("nothing more to ask"));
            }
            ask(asked, None)
        }
    }
}

/// Asks for a name, then for a color; the name travels in the state.
fn rounds(shared: &Shared, call: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    let given = call.input_responses.as_ref();
    let state = opened(shared, call)?;
    let name = field(given, "step1", "name");
    let color = field(given, "step2", "color");
    match (state.as_deref(), name, color) {
        (Some(state), _, Some(color)) if state != "step1" => {
            Ok(said(&format!("{state} likes {color}")))
        }
        (Some("step1"), Some(name), _) => {
            let form = form("Step 2: What is your favorite color?", "color", "string");
            ask(json!({ "step2": form }), Some(sealed(shared, call, &name)))
        }
        _ => {
            let form = form("Step 1: What is your name?", "name", "string");
            ask(
                json!({ "step1": form }),
                Some(sealed(shared, call, "step1")),
            )
        }
    }
}

fn ask(asked: Value, state: Option<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(InputRequiredResult::new(Some(requests(asked)?), state).into())
}

/// Signs a state for this tool alone.
fn sealed(shared: &Shared, call: &CallToolRequestParams, state: &str) -> String {
    shared
        .states
        .seal(format!("{} {state}", call.name).as_bytes())
}

/// Returns the state that comes with the call, if any; one that was changed is an error.
fn opened(shared: &Shared, call: &CallToolRequestParams) -> Result<Option<String>, ErrorData> {
    let Some(sealed) = &call.request_state else {
        return Ok(None);
    };
    let opened = shared.states.open(sealed).ok();
    let text = opened.and_then(|bytes| String::from_utf8(bytes).ok());
    let state = text.as_deref().and_then(|text| text.split_once(' '));
    match state {
        Some((tool, state)) if tool == call.name => Ok(Some(state.to_owned())),
        _ => Err(ErrorData::invalid_params("the state is not ours", None)),
    }
}

pub fn requests(asked: Value) -> Result<InputRequests, ErrorData> {
    made(asked)
}

/// Returns a form of one required field.
pub fn form(message: &str, field: &str, kind: &str) -> Value {
    let properties = json!({ field: { "type": kind } });
    form_of(
        message,
        json!({ "type": "object", "properties": properties, "required": [field] }),
    )
}

pub fn form_of(message: &str, schema: Value) -> Value {
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

pub fn sample(prompt: &str) -> Value {
    let content = json!({ "type": "text", "text": prompt });
    let messages = json!([{ "role": "user", "content": content }]);
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
}

/// Returns a field of a form that was filled in and accepted.
pub fn field(given: Option<&InputResponses>, key: &str, field: &str) -> Option<String> {
    let answer = given?.get(key)?;
    let accepted = answer["action"] == "accept";
    let value = answer["content"].get(field).filter(|_| accepted)?;
    value.as_str().map(str::to_owned)
}

/// Returns the text of a sample.
pub fn text_of(sampled: &Value) -> String {
    let content = &sampled["content"];
    let block = content.as_array().and_then(|blocks| blocks.first());
    let text = block.unwrap_or(content)["text"].as_str();
    text.unwrap_or_default().to_owned()
}

const ROOTS: fn() -> Value = || json!({ "method": "roots/list", "params": {} });
