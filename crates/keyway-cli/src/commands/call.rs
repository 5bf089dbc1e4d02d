//! `keyway call` and `keyway read`: one request to a server, and its result.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::session::{Nobody, Request};
use keyway_secret::printable;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::tools::Format;
use crate::error::CliError;
use crate::exit::Exit;
use crate::host;
use crate::reach::{Reach, ReachError, find};
use crate::session::Session;

/// Call a tool of a server
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The server
    #[arg(value_name = "SERVER")]
    server: String,
    /// The tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Arguments as `key=value`; a value that is JSON counts as JSON, any other as text
    #[arg(value_name = "KEY=VALUE", conflicts_with = "json")]
    arguments: Vec<String>,
    /// Take all arguments from a JSON file, `-` for standard input
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    reach: Reach,
}

/// Read a resource of a server
#[derive(Debug, Args)]
pub(crate) struct Read {
    /// The server
    #[arg(value_name = "SERVER")]
    server: String,
    /// The resource
    #[arg(value_name = "URI")]
    uri: String,
    /// How to print the result
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    reach: Reach,
}

/// Runs `keyway call`.
pub(crate) fn call(call: &Call, session: &Session) -> Result<Exit, CliError> {
    let given = match &call.json {
        Some(file) => read_json(file)?,
        None => pairs(&call.arguments)?,
    };
    let params = Map::from_iter([
        ("name".to_owned(), Value::from(call.tool.clone())),
        ("arguments".to_owned(), Value::Object(given)),
    ]);
    let result = ask(
        session,
        &call.reach,
        &call.server,
        Request::new("tools/call", params),
    )?;
    print(session, call.format, &result)
}

/// Runs `keyway read`.
pub(crate) fn read(read: &Read, session: &Session) -> Result<Exit, CliError> {
    let params = Map::from_iter([("uri".to_owned(), Value::from(read.uri.clone()))]);
    let result = ask(
        session,
        &read.reach,
        &read.server,
        Request::new("resources/read", params),
    )?;
    print(session, read.format, &result)
}

fn ask(
    session: &Session,
    reach: &Reach,
    server: &str,
    mut request: Request,
) -> Result<Box<RawValue>, CliError> {
    let loaded = reach.load(None)?;
    let entry = find(&loaded, Some(server))?;
    let ready = reach.prepare(session, &loaded, entry)?;
    if let Some(ms) = ready.spec.timeout_ms {
        request.timeout = Duration::from_millis(ms);
    }
    super::block_on(async {
        let host = host::open()?;
        let conversation = ready.converse(&host, Arc::new(Nobody)).await?;
        let result = tokio::select! {
            result = conversation.request(request) => result,
            _ = tokio::signal::ctrl_c() => return Err(ReachError::Cancelled.into()),
        };
        conversation.close().await;
        Ok(result.map_err(|error| ReachError::talk(&ready.spec, error))?)
    })
}

fn print(session: &Session, format: Format, result: &RawValue) -> Result<Exit, CliError> {
    #[derive(Deserialize)]
    struct Outcome {
        #[serde(rename = "isError", default)]
        is_error: bool,
    }
    let outcome = serde_json::from_str::<Outcome>(result.get());
    let exit = if outcome.is_ok_and(|outcome| outcome.is_error) {
        Exit::Failed
    } else {
        Exit::Done
    };
    let text = match format {
        Format::Json => {
            format!(
                "{{\"schema_version\":1,\"diagnostics\":[],\"result\":{}}}\n",
                result.get()
            )
        }
        Format::Human => human(result),
    };
    session.print(&text, exit)?;
    Ok(exit)
}

/// Shows the text of a result; what is no text is named with its kind.
fn human(result: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Content {
        #[serde(default, alias = "contents")]
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        text: Option<String>,
        #[serde(rename = "type", alias = "mimeType")]
        kind: Option<String>,
    }
    let parsed = serde_json::from_str::<Content>(result.get());
    let Ok(Content { content }) = parsed else {
        return format!("{}\n", result.get());
    };
    if content.is_empty() {
        return format!("{}\n", result.get());
    }
    let mut text = String::new();
    for block in content {
        match block.text {
            Some(lines) => {
                for line in lines.lines() {
                    text.push_str(&printable(line));
                    text.push('\n');
                }
            }
            None => {
                let kind = block
                    .kind
                    .unwrap_or_else(|| "something that is no text".to_owned());
                text.push_str(&format!(
                    "[{}; `--format json` shows it]\n",
                    printable(&kind)
                ));
            }
        }
    }
    text
}

fn pairs(arguments: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut map = Map::new();
    for argument in arguments {
        let Some((key, value)) = argument.split_once('=') else {
            return Err(CliError::Usage {
                what: "arguments are written `key=value`",
            });
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        map.insert(key.to_owned(), value);
    }
    Ok(map)
}

fn read_json(file: &PathBuf) -> Result<Map<String, Value>, CliError> {
    let failed = |source| ReachError::Arguments {
        path: file.clone(),
        source,
    };
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map_err(failed)?;
    } else {
        text = std::fs::read_to_string(file).map_err(failed)?;
    }
    serde_json::from_str(&text).map_err(|_| CliError::Usage {
        what: "`--json` takes a file with one JSON object",
    })
}
