//! Prompts: fixed messages, one of which asks the client first.

use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
    ListPromptsResult,
};
use serde_json::{Value, json};

use super::{PNG, inputs, result};

pub fn list() -> Result<ListPromptsResult, ErrorData> {
    let prompt = |name: &str, arguments: &[&str]| {
        let argument = |name: &&str| json!({ "name": name, "description": name, "required": true });
        let arguments: Vec<Value> = arguments.iter().map(argument).collect();
        json!({ "name": name, "description": name, "arguments": arguments })
    };
    result(json!({ "prompts": [
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]}))
}

pub fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let value = request.arguments.as_ref()?.get(name)?;
        value.as_str().map(str::to_owned)
    };
    let text = |text: String| json!({ "type": "text", "text": text });
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let one = argument("arg1").unwrap_or_default();
            let two = argument("arg2").unwrap_or_default();
            vec![text(format!(
                "Prompt with arguments: arg1='{one}', arg2='{two}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({ "type": "resource", "resource": {
                "uri": argument("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }}),
            text("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
            text("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let Some(given) =
                inputs::field(request.input_responses.as_ref(), "user_context", "context")
            else {
                let form = inputs::form("What context should the prompt use?", "context", "string");
                let asked = inputs::requests(json!({ "user_context": form }))?;
                return Ok(InputRequiredResult::from_input_requests(asked).into());
            };
            vec![text(format!("Context: {given}"))]
        }
        other => {
            return Err(ErrorData::invalid_params(
                format!("no prompt `{other}`"),
                None,
            ));
        }
    };
    let message = |content: Value| json!({ "role": "user", "content": content });
    let messages: Vec<Value> = contents.into_iter().map(message).collect();
    result::<GetPromptResult>(json!({ "messages": messages })).map(Into::into)
}
