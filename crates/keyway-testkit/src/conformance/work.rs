//! What a client does with any server: list everything, then use everything once.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Context, filled_in};

/// A server that a client is connected to.
pub trait Connected {
    /// Why a request failed altogether.
    type Error;

    /// Whether the server has the capability.
    fn offers(&self, capability: &str) -> bool;

    /// Returns the items of all pages of a list.
    fn list(
        &mut self,
        method: &'static str,
        key: &'static str,
    ) -> impl Future<Output = Result<Vec<Value>, Self::Error>>;

    /// Whether a tool signs in, so that others are listed afterwards. It may be called again.
    fn is_sign_in(&self, _tool: &str) -> bool {
        false
    }

    /// Sends a request; an error that the server answers is an answer.
    fn ask(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
    ) -> impl Future<Output = Result<(), Self::Error>>;
}

/// Lists and uses everything that the server offers.
///
/// # Errors
///
/// Returns the first error of the connection.
pub async fn use_everything<C: Connected>(
    server: &mut C,
    context: &Context,
) -> Result<(), C::Error> {
    if server.offers("tools") {
        call_tools(server, context).await?;
    }
    if server.offers("resources") {
        for resource in list::<Resource, C>(server, "resources/list", "resources").await? {
            ask(server, "resources/read", json!({ "uri": resource.uri })).await?;
        }
    }
    if server.offers("prompts") {
        for prompt in list::<Prompt, C>(server, "prompts/list", "prompts").await? {
            let required = prompt.arguments.into_iter().filter(|one| one.required);
            let arguments: Map<String, Value> =
                required.map(|one| (one.name, json!("test"))).collect();
            let params = json!({ "name": prompt.name, "arguments": arguments });
            ask(server, "prompts/get", params).await?;
        }
    }
    Ok(())
}

async fn call_tools<C: Connected>(server: &mut C, context: &Context) -> Result<(), C::Error> {
    let mut called: Vec<String> = Vec::new();
    for _ in 0..MAX_LISTS {
        let tools: Vec<Tool> = list(server, "tools/list", "tools").await?;
        if tools.iter().all(|tool| called.contains(&tool.name)) {
            break;
        }
        call_each(server, context, &tools, &called).await?;
        let is_again = tools.iter().any(|tool| server.is_sign_in(&tool.name));
        let names = tools.into_iter().map(|tool| tool.name);
        called.extend(names.filter(|name| !server.is_sign_in(name)));
        if !is_again {
            break;
        }
    }
    Ok(())
}

async fn call_each<C: Connected>(
    server: &mut C,
    context: &Context,
    tools: &[Tool],
    called: &[String],
) -> Result<(), C::Error> {
    for tool in tools.iter().filter(|tool| !called.contains(&tool.name)) {
        let others = tools.iter().filter(|other| other.name != tool.name);
        let schemas: Vec<&Value> = others.map(|other| &other.input_schema).collect();
        let made = filled_in(&tool.input_schema, &schemas);
        let mut calls = context.calls_of(&tool.name);
        if calls.is_empty() {
            calls.push(&made);
        }
        for arguments in calls {
            let params = json!({ "name": tool.name, "arguments": arguments });
            ask(server, "tools/call", params).await?;
        }
    }
    Ok(())
}

/// Lists items; one that is not understood is left out, as a host would.
async fn list<T: DeserializeOwned, C: Connected>(
    server: &mut C,
    method: &'static str,
    key: &'static str,
) -> Result<Vec<T>, C::Error> {
    let items = server.list(method, key).await?.into_iter();
    Ok(items
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect())
}

async fn ask<C: Connected>(
    server: &mut C,
    method: &'static str,
    params: Value,
) -> Result<(), C::Error> {
    let params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    server.ask(method, params).await
}

/// A sign-in lists tools again, and a server may ask for a second one.
const MAX_LISTS: usize = 3;

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    #[serde(rename = "inputSchema", default)]
    input_schema: Value,
}

#[derive(Debug, Deserialize)]
struct Resource {
    uri: String,
}

#[derive(Debug, Deserialize)]
struct Prompt {
    name: String,
    #[serde(default)]
    arguments: Vec<PromptArgument>,
}

#[derive(Debug, Deserialize)]
struct PromptArgument {
    name: String,
    #[serde(default)]
    required: bool,
}
