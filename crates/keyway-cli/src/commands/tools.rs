//! `keyway tools`, `resources` and `prompts`: what a server offers, as a table or as it was sent.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use keyway::host::ChildLines;
use keyway::load::Loaded;
use keyway::sign_in::PromptPolicy;
use keyway::{Approved, Error, Plan};
use keyway_code::Exit;
use keyway_secret::printable;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use crate::arguments::connect::{
    ConnectArgs, SignInPolicy, ask_for_settings, tell_notes, tell_skipped,
};
use crate::arguments::server::{ServerArgs, all, named};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::failure::Failure;
use crate::tool_names;
use crate::waiting::{asking, waiting_for};
use keyway_terminal::Table;

/// List what servers offer
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    servers: ServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// How to print a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table
    Human,
    /// One JSON object, items as the server sent them
    Json,
}

/// What is listed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    method: &'static str,
    key: &'static str,
    capability: &'static str,
}

/// `tools/list`.
pub(crate) const TOOLS: Kind = Kind {
    method: "tools/list",
    key: "tools",
    capability: "tools",
};
/// `resources/list`.
pub(crate) const RESOURCES: Kind = Kind {
    method: "resources/list",
    key: "resources",
    capability: "resources",
};
/// `prompts/list`.
pub(crate) const PROMPTS: Kind = Kind {
    method: "prompts/list",
    key: "prompts",
    capability: "prompts",
};

/// Runs the command: one server as ever, several each under its name.
pub(crate) fn run(
    arguments: &List,
    kind: Kind,
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let chosen = arguments
        .servers
        .chosen(arguments.reach.config.as_deref())?;
    // Servers that were named are signed in to and asked about; for a list of all, neither a
    // window nor a question appears for each.
    let is_all = chosen.names.is_empty();
    let outcome = super::block_on(async {
        let host = arguments.reach.host(context, SignInPolicy::default())?;
        let lines = ChildLines::default();
        let host = lines.listen(&host);
        let (plugin, given) = arguments.servers.load(&host, &arguments.reach)?;
        let names = match given.as_slice() {
            [] => {
                tell_skipped(context, plugin.loaded());
                all(&plugin)?
            }
            given => named(&plugin, given)?,
        };
        if let [only] = names.as_slice() {
            ask_for_settings(&plugin, only)?;
            let plan = plugin.plan(only)?;
            tell_notes(context, &plan);
            let server = plan.approve().await?;
            let listing = kind.list(&server);
            let items = waiting_for(context, asking(only), Some(lines), listing).await?;
            kind.remember(plugin.loaded(), only, &items);
            return Ok(Answer::One(items));
        }
        let host = if is_all {
            host.with_interaction(None)
                .with_asking(PromptPolicy::Never)
                .without_approval_prompt()
        } else {
            host
        };
        let plugin = host.plugin(Arc::clone(plugin.loaded()));
        let mut work = JoinSet::new();
        for (at, name) in names.into_iter().enumerate() {
            // One question after the other.
            let server = match plugin.plan(&name) {
                Ok(plan) => plan.approve().await,
                Err(error) => Err(error),
            };
            work.spawn(async move {
                let items = match server {
                    Ok(server) => kind.list(&server).await,
                    Err(error) => Err(error.into()),
                };
                (at, Listed { name, items })
            });
        }
        let what = "waiting for servers".to_owned();
        let mut lists = waiting_for(context, what, Some(lines), work.join_all()).await;
        lists.sort_by_key(|(at, _)| *at);
        for (_, list) in &lists {
            if let Ok(items) = &list.items {
                kind.remember(plugin.loaded(), &list.name, items);
            }
        }
        Ok(Answer::Several(
            lists.into_iter().map(|(_, list)| list).collect(),
        ))
    })?;
    match outcome {
        Answer::One(items) => {
            let text = match arguments.format {
                Format::Json => json(kind, &items),
                Format::Human => human(kind, &items, context),
            };
            context.print(&text, Exit::Done)?;
            Ok(Exit::Done)
        }
        Answer::Several(lists) => show(arguments.format, kind, &lists, context),
    }
}

/// What was listed: of one server, or of several by name.
enum Answer {
    One(Vec<Box<RawValue>>),
    Several(Vec<Listed>),
}

/// What one of several servers answered.
struct Listed {
    name: String,
    items: Result<Vec<Box<RawValue>>, CliError>,
}

impl Kind {
    /// Keeps the names of tools, for shells to complete.
    fn remember(self, loaded: &Loaded, server: &str, items: &[Box<RawValue>]) {
        if self.key != TOOLS.key {
            return;
        }
        let items: Vec<Item> = items
            .iter()
            .filter_map(|item| serde_json::from_str(item.get()).ok())
            .collect();
        let names = items.iter().filter_map(|item| item.name.as_deref());
        tool_names::remember(&loaded.plugin.root, server, names);
    }

    /// Connects, lists, and closes the session.
    async fn list(self, ready: &Approved<Plan>) -> Result<Vec<Box<RawValue>>, CliError> {
        let session = ready.connect().await?;
        let items = if session.facts().offers(self.capability) {
            session.list(self.method, self.key).await
        } else {
            Ok(Vec::new())
        };
        session.close().await;
        Ok(items.map_err(|error| Error::talk(ready.spec(), error))?)
    }
}

/// Prints the lists of several servers. The exit status is that of the failures if they agree.
fn show(
    format: Format,
    kind: Kind,
    lists: &[Listed],
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let failures = || lists.iter().filter_map(|list| list.items.as_ref().err());
    let exit = match failures().next().map(CliError::exit) {
        None => Exit::Done,
        Some(first) if failures().all(|error| error.exit() == first) => first,
        Some(_) => Exit::Failed,
    };
    let text = match format {
        Format::Json => json_of_all(kind, lists),
        Format::Human => {
            let good = lists.iter().filter_map(|list| {
                let items = list.items.as_ref().ok()?;
                let (name, style) = (printable(&list.name), context.head_style());
                Some(format!(
                    "{style}{name}{style:#}\n{}",
                    human(kind, items, context)
                ))
            });
            good.collect::<Vec<String>>().join("\n")
        }
    };
    context.print(&text, exit)?;
    for list in lists {
        if let Err(error) = &list.items {
            context.print_failure_of(&list.name, error);
        }
    }
    Ok(exit)
}

fn json(kind: Kind, items: &[Box<RawValue>]) -> String {
    format!(
        "{{\"schema_version\":1,\"diagnostics\":[],\"{}\":[{}]}}\n",
        kind.key,
        joined(items)
    )
}

/// Writes all items under `tools` (or `resources`, `prompts`), and again by server.
fn json_of_all(kind: Kind, lists: &[Listed]) -> String {
    let key = kind.key;
    let failures = lists.iter().filter_map(|list| {
        let failure = Failure::of(list.items.as_ref().err()?).about(&list.name);
        serde_json::to_string(&failure).ok()
    });
    let failures: Vec<String> = failures.collect();
    let good = || {
        lists
            .iter()
            .filter_map(|list| Some((list, list.items.as_ref().ok()?)))
    };
    let all: Vec<String> = good()
        .map(|(_, items)| joined(items))
        .filter(|it| !it.is_empty())
        .collect();
    let servers = good().map(|(list, items)| {
        let name = serde_json::Value::from(list.name.as_str());
        format!("{{\"name\":{name},\"{key}\":[{}]}}", joined(items))
    });
    let servers: Vec<String> = servers.collect();
    format!(
        "{{\"schema_version\":1,\"diagnostics\":[{}],\"{key}\":[{}],\"servers\":[{}]}}\n",
        failures.join(","),
        all.join(","),
        servers.join(",")
    )
}

fn joined(items: &[Box<RawValue>]) -> String {
    let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
    items.join(",")
}

#[derive(Deserialize)]
struct Item {
    name: Option<String>,
    uri: Option<String>,
    title: Option<String>,
    description: Option<String>,
}

fn human(kind: Kind, items: &[Box<RawValue>], context: &CommandContext) -> String {
    if items.is_empty() {
        return format!("no {}\n", kind.key);
    }
    let mut table = Table::new(["NAME", "DESCRIPTION"]);
    for item in items {
        let Ok(item) = serde_json::from_str::<Item>(item.get()) else {
            continue;
        };
        let name = item.uri.or(item.name).unwrap_or_default();
        let about = item.description.or(item.title).unwrap_or_default();
        let first = about.lines().next().unwrap_or_default();
        table.push([printable(&name), printable(first)]);
    }
    context.render(&table)
}
