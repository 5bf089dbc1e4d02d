//! `keyway call` and `keyway read`: one request to a server, and its result.

mod progress;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use keyway::host::ChildLines;
use keyway::{Approved, Plan};
use keyway_code::{Code, Exit};
use keyway_config::names::nearest_name;
use keyway_mcp::schema::{Schema, typed_arguments, usage};
use keyway_mcp::session::{Request, Session, SessionError};
use keyway_secret::printable;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::timeouts::{CLOSE_AFTER_TIMEOUT, CLOSE_TIMEOUT};
use crate::waiting::{LastLine, Waiting, asking};
use keyway_terminal::Interrupts;

/// Call a tool
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway call docs search query=oauth limit=5
  keyway call docs search --json arguments.json
  keyway call docs search query=oauth --format json")]
pub(crate) struct Call {
    /// Server; a path stands for the plugin, if it declares only one server
    #[arg(value_name = "SERVER")]
    server: OsString,
    /// Tool to call
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Arguments, typed by the tool's schema; repeat KEY for a list
    #[arg(value_name = "KEY=VALUE", conflicts_with = "json")]
    arguments: Vec<String>,
    /// Read all arguments from a JSON file, `-` for standard input
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Send the arguments without checking them against the tool's schema
    #[arg(long)]
    unchecked: bool,
    /// Time to wait for a result or a progress report [default: the entry's timeout, else 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Read a resource
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway read docs file:///guide.md")]
pub(crate) struct Read {
    /// Server; a path stands for the plugin, if it declares only one server
    #[arg(value_name = "SERVER")]
    server: OsString,
    /// Resource to read
    #[arg(value_name = "URI")]
    uri: String,
    /// Time to wait for the result [default: the entry's timeout, else 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs `keyway call`.
pub(crate) fn call(call: &Call, context: &CommandContext) -> Result<Exit, CliError> {
    let given = call.json.as_ref().map(read_json).transpose()?;
    let line = progress::Line::new(context);
    let result = asked(
        context,
        (&call.reach, &call.server),
        line.news(),
        async |server, session| {
            let limit = server.timeout(call.timeout.map(Duration::from_secs));
            // The list that the arguments are checked against has the same time.
            let arguments = timeout(limit, call.arguments(server, session, given.as_deref()));
            let late = || SessionError::timeout("tools/list", limit);
            let late = |_| keyway::Error::talk(server.spec(), late());
            let arguments = arguments.await.map_err(late)??;
            let how = (limit, line.teller());
            let answer = server.call_tool(session, (&call.tool, &arguments), how);
            Ok(answer.await?)
        },
    );
    drop(line);
    print(context, call.format, &result?)
}

/// Runs `keyway read`.
pub(crate) fn read(read: &Read, context: &CommandContext) -> Result<Exit, CliError> {
    let params = Map::from_iter([("uri".to_owned(), Value::from(read.uri.clone()))]);
    let result = asked(
        context,
        (&read.reach, &read.server),
        Arc::default(),
        async |server, session| {
            let mut request = Request::new("resources/read", params.clone());
            request.timeout = server.timeout(read.timeout.map(Duration::from_secs));
            let answer = session.request(request).await;
            Ok(answer.map_err(|error| keyway::Error::talk(server.spec(), error))?)
        },
    )?;
    print(context, read.format, &result)
}

impl Call {
    /// Returns the arguments as JSON, checked against what the tool says it takes.
    async fn arguments(
        &self,
        server: &Approved<Plan>,
        session: &Session,
        given: Option<&RawValue>,
    ) -> Result<String, CliError> {
        let described = if self.unchecked {
            None
        } else {
            Some(self.tool(server, session).await?)
        };
        let schema = described
            .as_ref()
            .map(|tool| Schema::new(&tool.input_schema));
        let (arguments, written) = match given {
            // What stands in a file is sent as it stands there, long numbers included.
            Some(raw) => (object(raw)?, raw.get().to_owned()),
            None => {
                let arguments = typed_arguments(&self.arguments, schema)?;
                let written = Value::Object(arguments.clone()).to_string();
                (arguments, written)
            }
        };
        let problems = schema.map(|schema| schema.check(&arguments));
        match (problems, schema) {
            (Some(problems), Some(schema)) if !problems.is_empty() => Err(CliError::BadArguments {
                tool: self.tool.clone(),
                problems,
                usage: format!(
                    "keyway call {} {} {}",
                    self.server.to_string_lossy(),
                    self.tool,
                    usage(schema)
                ),
            }),
            _ => Ok(written),
        }
    }

    /// Finds the tool among those that the server offers.
    async fn tool(&self, server: &Approved<Plan>, session: &Session) -> Result<Tool, CliError> {
        let listed = if session.facts().offers("tools") {
            let listed = session.list("tools/list", "tools").await;
            listed.map_err(|error| keyway::Error::talk(server.spec(), error))?
        } else {
            Vec::new()
        };
        let tools: Vec<Tool> = listed
            .iter()
            .filter_map(|tool| serde_json::from_str(tool.get()).ok())
            .collect();
        let near = nearest_name(&self.tool, tools.iter().map(|tool| tool.name.as_str()));
        let found = tools.into_iter().find(|tool| tool.name == self.tool);
        found.ok_or_else(|| CliError::UnknownTool {
            tool: self.tool.clone(),
            server: server.server().to_owned(),
            near,
        })
    }
}

/// A tool, as far as a call needs to know it.
#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(rename = "inputSchema", default)]
    input_schema: Value,
}

/// Connects, does `work`, and takes leave; a first Ctrl-C cancels what is under way and takes leave
/// as well, a second one ends at once.
async fn converse<T>(
    server: &Approved<Plan>,
    work: impl AsyncFnOnce(&Approved<Plan>, &Session) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let cancelled = || Err(keyway::Error::Cancelled.into());
    let mut interrupts = Interrupts::listen();
    // None of these is biased: a Ctrl-C at the very end may lose to the result, which is as good.
    // Dropping `connect` closes what it opened.
    let session = tokio::select! {
        session = server.connect() => session?,
        () = interrupts.next() => return cancelled(),
    };
    // Dropping `work` cancels its request at the server; the session stays and is closed below.
    let result = tokio::select! {
        result = work(server, &session) => result,
        () = interrupts.next() => cancelled(),
    };
    // A server that had its time for the answer does not get as much again for its end: what is
    // left of its program is killed with the session.
    let grace = match &result {
        Err(error) if error.code() == Code::Timeout => CLOSE_AFTER_TIMEOUT,
        _ => CLOSE_TIMEOUT,
    };
    // The second Ctrl-C: dropping `close` ends the connection without waiting for the server.
    tokio::select! {
        _ = timeout(grace, session.close()) => {}
        () = interrupts.next() => {}
    }
    result
}

fn asked(
    context: &CommandContext,
    (reach, server): (&ConnectArgs, &OsString),
    news: Arc<AtomicBool>,
    work: impl AsyncFnOnce(&Approved<Plan>, &Session) -> Result<Box<RawValue>, CliError>,
) -> Result<Box<RawValue>, CliError> {
    super::block_on(async {
        let host = reach.host(context, SignInPolicy::default())?;
        let lines = ChildLines::default();
        let server = ServerArg::from(server.clone());
        let approved = server
            .approved(context, &lines.listen(&host), reach)
            .await?;
        let what = asking(approved.server());
        let last: LastLine = Arc::new(move || lines.last());
        let _waiting = Waiting::until(news, context, what, Some(last));
        converse(&approved, work).await
    })
}

fn print(context: &CommandContext, format: Format, result: &RawValue) -> Result<Exit, CliError> {
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
    context.print(&text, exit)?;
    Ok(exit)
}

/// Shows the text of a result, and names the kind of everything else.
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
                let kind = block.kind.unwrap_or_else(|| "not text".to_owned());
                text.push_str(&format!(
                    "[{}; `--format json` shows it]\n",
                    printable(&kind)
                ));
            }
        }
    }
    text
}

fn object(raw: &RawValue) -> Result<Map<String, Value>, CliError> {
    serde_json::from_str(raw.get()).map_err(|_| CliError::Usage {
        what: "`--json` takes a file with one JSON object",
    })
}

fn read_json(file: &PathBuf) -> Result<Box<RawValue>, CliError> {
    let failed = |source| CliError::Arguments {
        path: file.clone(),
        source,
    };
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map_err(failed)?;
    } else {
        text = std::fs::read_to_string(file).map_err(failed)?;
    }
    let raw: Box<RawValue> = serde_json::from_str(&text).map_err(|_| CliError::Usage {
        what: "`--json` takes a file with one JSON object",
    })?;
    object(&raw)?;
    Ok(raw)
}
