//! `keyway tools`, `resources` and `prompts`: what a server offers, as a table or as it was sent.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use keyway_mcp::session::Nobody;
use keyway_secret::printable;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{Manner, Reach, ReachError, find, tell_left_out};
use crate::table::Table;

/// Which list to show
#[derive(Debug, Args)]
pub(crate) struct List {
    /// The server, where the plugin has several
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    reach: Reach,
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

/// Runs the command.
pub(crate) fn run(
    arguments: &List,
    kind: Kind,
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let loaded = arguments.reach.load(context, None)?;
    let entry = find(&loaded, arguments.server.as_deref())?;
    if arguments.server.is_none() {
        tell_left_out(context, &loaded);
    }
    let ready = arguments.reach.prepare(context, &loaded, entry)?;
    let items = super::block_on(async {
        let host = arguments.reach.host(context, Manner::default())?;
        let conversation = ready.converse(&host, Arc::new(Nobody)).await?;
        let items = if conversation.facts().offers(kind.capability) {
            conversation.list(kind.method, kind.key).await
        } else {
            Ok(Vec::new())
        };
        conversation.close().await;
        Ok(items.map_err(|error| ReachError::talk(&ready.spec, error))?)
    })?;
    let text = match arguments.format {
        Format::Json => json(kind, &items),
        Format::Human => human(kind, &items, context),
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

fn json(kind: Kind, items: &[Box<RawValue>]) -> String {
    let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
    format!(
        "{{\"schema_version\":1,\"diagnostics\":[],\"{}\":[{}]}}\n",
        kind.key,
        items.join(",")
    )
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
    let mut table = Table::new(["NAME", "WHAT IT IS"]);
    for item in items {
        let Ok(item) = serde_json::from_str::<Item>(item.get()) else {
            continue;
        };
        let name = item.uri.or(item.name).unwrap_or_default();
        let about = item.description.or(item.title).unwrap_or_default();
        let first = about.lines().next().unwrap_or_default();
        table.push([printable(&name), printable(first)]);
    }
    table.render(context.width(), context.head_style())
}
