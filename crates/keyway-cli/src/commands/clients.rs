//! `keyway clients`: which clients are here, what each has, and which entry counts.

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyway_clients::clients::{CLIENTS, Client};
use keyway_clients::install::{Receipts, Recognised};
use keyway_clients::survey::{
    Breakage, EntryKind, EntryScope, Machine, SurveyedClient, SurveyedEntry,
};
use keyway_code::Exit;
use keyway_secret::printable;
use serde_json::{Value, json};

use super::adopt::machine;
use super::install::data_folder;
use super::tools::Format;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::report::table::Table;

/// List the MCP clients on this machine and their entries
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway clients
  keyway clients claude-code --format json")]
pub(crate) struct Clients {
    /// MCP client [default: every client found here]
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Clients, context: &CommandContext) -> Result<Exit, CliError> {
    let machine = machine()?;
    let mut found = match arguments.client.as_deref().and_then(Client::by_name) {
        Some(client) => vec![machine.look_at(client)],
        None => machine.survey(),
    };
    mark_stale(&machine, &mut found)?;
    if arguments.client.is_none() {
        found.retain(|it| it.is_here || !it.entries.is_empty());
    }
    let text = match arguments.format {
        Format::Json => {
            let clients: Vec<Value> = found.iter().map(object).collect();
            format!(
                "{}\n",
                json!({ "schema_version": 1, "diagnostics": [], "clients": clients })
            )
        }
        Format::Human => human(&found, context),
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

/// Marks the entries that stand in for a server of a plugin which is no longer what it was.
pub(super) fn mark_stale(
    machine: &Machine<'_>,
    found: &mut [SurveyedClient],
) -> Result<(), CliError> {
    let records = Receipts::open(&data_folder()?)?;
    for receipt in machine.stale(&records.all) {
        let clients = found
            .iter_mut()
            .filter(|it| it.client.name == receipt.client);
        let entries = clients.flat_map(|it| &mut it.entries);
        let ours = entries.filter(|it| {
            it.name == receipt.name && it.scope == EntryScope::User && it.broken.is_none()
        });
        for entry in ours {
            let plugin = receipt.stands_for.as_ref().map(|it| it.plugin.clone());
            entry.broken = plugin.map(|plugin| Breakage::Stale { plugin });
        }
    }
    Ok(())
}

/// Says what is wrong with entries of clients on this machine: a secret in the open, an entry of ours
/// that cannot work or does not count, a file that the client cannot read.
pub(super) fn tell_problems(context: &CommandContext) {
    // A home that is not there has no clients; records that cannot be read are told by `clients`.
    let Ok(machine) = machine() else { return };
    let mut found = machine.survey();
    drop(mark_stale(&machine, &mut found));
    let mut lines = Vec::new();
    for client in &found {
        lines.extend(client.problems.iter().map(ToString::to_string));
        let wrong = client.entries.iter().filter(|it| {
            let is_ours = matches!(it.kind, EntryKind::Keyway);
            it.holds_secret || it.broken.is_some() || is_ours && it.shadowed_by.is_some()
        });
        let title = client.client.title;
        lines.extend(wrong.map(|it| format!("{title}, `{}`: {}", it.name, notes(it).join("; "))));
    }
    for line in lines {
        context.print_aside(&format!("note: {}\n", printable(&line)));
    }
}

fn human(found: &[SurveyedClient], context: &CommandContext) -> String {
    if found.is_empty() {
        return "no MCP clients here\n".to_owned();
    }
    let mut table = Table::new(["CLIENT", "SCOPE", "ENTRY", "IS", "NOTE"]);
    for client in found {
        if client.entries.is_empty() {
            let dash = || "-".to_owned();
            table.push([
                client.client.name.to_owned(),
                dash(),
                dash(),
                dash(),
                dash(),
            ]);
        }
        for entry in &client.entries {
            let notes = notes(entry);
            table.push([
                client.client.name.to_owned(),
                entry.scope.as_str().to_owned(),
                printable(&entry.name),
                kind(entry).to_owned(),
                if notes.is_empty() {
                    "-".to_owned()
                } else {
                    notes.join("; ")
                },
            ]);
        }
    }
    let mut text = table.render(context.width(), context.head_style());
    for problem in found.iter().flat_map(|it| &it.problems) {
        text.push_str(&format!("\n{}\n", printable(&problem.to_string())));
    }
    let is_open = |it: &SurveyedEntry| {
        matches!(&it.kind, EntryKind::Other(Recognised::Remote(_))) && it.shadowed_by.is_none()
    };
    let entries = found.iter().flat_map(|it| &it.entries);
    if entries.clone().any(is_open) && context.verbosity != Verbosity::Quiet {
        text.push_str("\nkeyway adopt takes over the entries that are remote or a bridge\n");
    }
    text
}

/// Says what an entry is, in a word.
fn kind(entry: &SurveyedEntry) -> &'static str {
    match &entry.kind {
        EntryKind::Keyway => "keyway",
        EntryKind::Other(Recognised::Remote(_) | Recognised::Unsupported { .. }) => "remote",
        EntryKind::Other(_) => "program",
        _ => "invalid",
    }
}

/// Says what a person should know of an entry.
pub(super) fn notes(entry: &SurveyedEntry) -> Vec<String> {
    let mut notes = Vec::new();
    if entry.holds_secret {
        notes.push("holds a secret".to_owned());
    }
    match &entry.broken {
        Some(Breakage::NoProgram(path)) => {
            let path = printable(&path.to_string_lossy());
            notes.push(format!("broken: there is no {path}"));
        }
        Some(Breakage::NoPlugin(path)) => {
            let path = printable(&path.to_string_lossy());
            notes.push(format!("broken: there is no plugin {path}"));
        }
        Some(Breakage::Stale { plugin }) => {
            let plugin = printable(plugin);
            notes.push(format!(
                "stale: {plugin} changed; `keyway adopt` removes the entry"
            ));
        }
        _ => {}
    }
    if let Some(scope) = &entry.shadowed_by {
        notes.push(format!("the {} entry counts instead", scope.as_str()));
    }
    if let EntryScope::Local { project } = &entry.scope {
        notes.push(format!("in {}", printable(project)));
    }
    notes
}

fn object(client: &SurveyedClient) -> Value {
    let entries = client.entries.iter().map(|it| {
        json!({
            "name": it.name,
            "scope": it.scope.as_str(),
            "file": it.file.to_string_lossy(),
            "is": kind(it),
            "holds_secret": it.holds_secret,
            "shadowed_by": it.shadowed_by.as_ref().map(EntryScope::as_str),
            "is_broken": it.broken.is_some(),
        })
    });
    let problems = client.problems.iter().map(ToString::to_string);
    json!({
        "client": client.client.name,
        "file": client.user_file.to_string_lossy(),
        "entries": entries.collect::<Vec<Value>>(),
        "problems": problems.collect::<Vec<String>>(),
    })
}
