//! What a client does with any server: list everything, then use everything once.

use std::io;

use keyway::connect::ConnectError;
use keyway_mcp::session::{Request, Session, SessionError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::arguments;
use crate::context::Context;

/// Why the work could not be done.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The suite's context is no JSON object.
    #[error("`MCP_CONFORMANCE_CONTEXT` cannot be read")]
    Context {
        #[source]
        source: serde_json::Error,
    },
    /// The address does not make an entry.
    #[error("the last argument is no address of a server")]
    Entry,
    /// The process cannot run tasks.
    #[error("cannot start")]
    Runtime {
        #[source]
        source: io::Error,
    },
    /// What the scenario gave does not make a `config.toml`.
    #[error("the context makes no settings: {message}")]
    Settings {
        /// What is wrong.
        message: String,
    },
    /// No connection was even tried.
    #[error("cannot connect")]
    Connect(#[from] ConnectError),
    /// The server cannot be talked to.
    #[error("the conversation failed")]
    Session(#[from] SessionError),
}

/// Lists and uses everything that the server offers.
pub(crate) async fn all(session: &Session, context: &Context) -> Result<(), Failure> {
    if session.facts().offers("tools") {
        tools(session, context).await?;
    }
    if session.facts().offers("resources") {
        for resource in list::<Resource>(session, "resources/list", "resources").await? {
            let params = json!({ "uri": resource.uri });
            ask(session, "resources/read", params).await?;
        }
    }
    if session.facts().offers("prompts") {
        for prompt in list::<Prompt>(session, "prompts/list", "prompts").await? {
            let arguments: Map<String, Value> = prompt
                .arguments
                .into_iter()
                .filter(|argument| argument.required)
                .map(|argument| (argument.name, json!("test")))
                .collect();
            let params = json!({ "name": prompt.name, "arguments": arguments });
            ask(session, "prompts/get", params).await?;
        }
    }
    Ok(())
}

async fn tools(session: &Session, context: &Context) -> Result<(), Failure> {
    let tools: Vec<Tool> = list(session, "tools/list", "tools").await?;
    for tool in &tools {
        let others = tools.iter().filter(|other| other.name != tool.name);
        let schemas: Vec<&Value> = others.map(|other| &other.input_schema).collect();
        let made = arguments::filled_in(&tool.input_schema, &schemas);
        let mut calls = context.calls_of(&tool.name);
        if calls.is_empty() {
            calls.push(&made);
        }
        for arguments in calls {
            let params = json!({ "name": tool.name, "arguments": arguments });
            ask(session, "tools/call", params).await?;
        }
    }
    Ok(())
}

/// Lists items; one that is not understood is left out, as a host would.
async fn list<T: DeserializeOwned>(
    session: &Session,
    method: &'static str,
    key: &str,
) -> Result<Vec<T>, Failure> {
    let items = session.list(method, key).await?;
    let understood = items
        .iter()
        .filter_map(|item| serde_json::from_str(item.get()).ok());
    Ok(understood.collect())
}

/// Asks for something; that the server says no is an answer.
async fn ask(session: &Session, method: &'static str, params: Value) -> Result<(), Failure> {
    let params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    match session.request(Request::new(method, params)).await {
        Ok(_) => Ok(()),
        Err(SessionError::Rpc(error)) => {
            eprintln!("`{method}` was answered with error {}", error.code);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

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
