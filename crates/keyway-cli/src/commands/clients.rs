//! `keyway clients`: which clients are here, what each has, and which entry counts.

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyway_clients::clients::{CLIENTS, Client};
use keyway_clients::install::Recognised;
use keyway_clients::survey::{EntryKind, SurveyedClient, SurveyedEntry};
use keyway_code::Exit;
use keyway_secret::printable;
use serde_json::{Value, json};

use super::client_files::{data_folder, machine};
use super::tools::Format;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use keyway_terminal::Table;

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
    machine.mark_stale(&data_folder()?, &mut found)?;
    if arguments.client.is_none() {
        found.retain(|it| it.is_here || !it.entries.is_empty());
    }
    let text = match arguments.format {
        Format::Json => {
            let clients: Vec<Value> = found.iter().map(SurveyedClient::to_json).collect();
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

/// Says what is wrong with entries of clients on this machine: a secret in the open, an entry of ours
/// that cannot work or does not count, a file that the client cannot read.
pub(super) fn tell_problems(context: &CommandContext) {
    // A home that is not there has no clients; records that cannot be read are told by `clients`.
    let Ok(machine) = machine() else { return };
    let mut found = machine.survey();
    if let Ok(data) = data_folder() {
        drop(machine.mark_stale(&data, &mut found));
    }
    let mut lines = Vec::new();
    for client in &found {
        lines.extend(client.problems.iter().map(ToString::to_string));
        let wrong = client.entries.iter().filter(|it| {
            let is_ours = matches!(it.kind, EntryKind::Keyway);
            it.holds_secret || it.broken.is_some() || is_ours && it.shadowed_by.is_some()
        });
        let title = client.client.title;
        lines.extend(wrong.map(|it| format!("{title}, `{}`: {}", it.name, it.notes().join("; "))));
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
            let notes = entry.notes();
            table.push([
                client.client.name.to_owned(),
                entry.scope.as_str().to_owned(),
                printable(&entry.name),
                entry.word().to_owned(),
                if notes.is_empty() {
                    "-".to_owned()
                } else {
                    notes.join("; ")
                },
            ]);
        }
    }
    let mut text = context.render(&table);
    for problem in found.iter().flat_map(|it| &it.problems) {
        text.push_str(&format!("\n{}\n", printable(&problem.to_string())));
    }
    let is_open = |it: &SurveyedEntry| {
        matches!(&it.kind, EntryKind::Other(Recognised::Remote(_))) && it.shadowed_by.is_none()
    };
    let entries = found.iter().flat_map(|it| &it.entries);
    if entries.clone().any(is_open) && context.verbosity != Verbosity::Quiet {
        text.push_str("\n`keyway adopt` takes over the entries that are remote or a bridge\n");
    }
    text
}
