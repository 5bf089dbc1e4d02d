//! `keyway adopt`: the remote servers that the clients of this machine have, taken over by Keyway.
//!
//! A server becomes an entry of the person's own plugin, its literal credentials go to the vault, and
//! the client's entry becomes one of ours under the same name. Nothing is written before the person
//! has seen the difference and agreed, and `--undo` brings every byte back.

pub(super) mod undo;

use std::io::{self, IsTerminal as _};

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyway::hand_outs::HandOuts;
use keyway::variables::KeptVariables;
use keyway_check::diff::TextKind;
use keyway_clients::clients::{CLIENTS, Client};
use keyway_clients::install::{Receipt, Receipts, Recognised};
use keyway_clients::survey::{EntryKind, Machine, SurveyedClient, SurveyedEntry};
use keyway_clients::takeover::Takeover;
use keyway_code::Exit;
use keyway_config::environment::{Environment, Variables};
use keyway_secret::{Clock as _, Secret, SystemClock, printable};

use super::client_entry::{self, Via};
use super::client_files::{data_folder, diff, difference, machine};
use super::confirmation::{Consent, ask, lines};
use super::env;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::vault::{existing_vault, open_vault};

/// Take over the remote servers that MCP clients already have
///
/// Covers entries with a URL and entries that run `mcp-remote`, `supergateway` or `mcp-proxy`, in
/// your user files and, for Claude Code, in this project and in installed plugins.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway adopt
  keyway adopt claude-code --dry-run
  keyway adopt codex --via gateway
  keyway adopt cursor --project
  keyway adopt claude-desktop --programs
  keyway adopt --undo")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command line, as a person gives them"
)]
pub(crate) struct Adopt {
    /// MCP client [default: every client found here]
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: Option<String>,
    /// How clients with a `headersHelper` reach the servers [default: asks on a terminal, else run]
    #[arg(long, value_enum, value_name = "WAY")]
    via: Option<Via>,
    /// Also change the project's own files of clients, such as `.cursor/mcp.json`; what is written
    /// there works on every machine with Keyway
    #[arg(long)]
    project: bool,
    /// Also take over programs whose entries hold a credential, for clients that do not expand variables
    #[arg(long)]
    programs: bool,
    /// Restore the entries as they were
    #[arg(long, conflicts_with_all = ["via", "project", "programs"])]
    undo: bool,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the command.
pub(crate) fn run(arguments: &Adopt, context: &CommandContext) -> Result<Exit, CliError> {
    if arguments.undo {
        let client = arguments.client.as_deref();
        return undo::run(context, &arguments.consent, |receipt| {
            receipt.own_server.is_some() && client.is_none_or(|client| receipt.client == client)
        });
    }
    let machine = machine()?;
    if !drop_stale(arguments, &machine, context)? {
        return Ok(arguments.consent.refused());
    }
    let surveyed: Vec<SurveyedClient> = match &arguments.client {
        Some(name) => Client::by_name(name)
            .map(|client| machine.look_at(client))
            .into_iter()
            .collect(),
        None => machine.survey(),
    };
    let via = arguments.way(context, &surveyed)?;
    let known = Known::open()?;
    let (own, data) = (own_plugin::folder()?, data_folder()?);
    let entries = client_entry::own_entries()?;
    let mut takeover = Takeover::open(&machine, (&own, &data), entries)?;
    takeover.set_via(via.into());
    takeover.set_project(arguments.project);
    for client in &surveyed {
        takeover.add(client, &known)?;
        if arguments.programs {
            takeover.add_programs(client, &known)?;
        }
    }
    if context.verbosity != Verbosity::Quiet {
        for note in takeover.notes() {
            context.print_aside(&format!("note: {note}\n"));
        }
    }
    if takeover.is_empty() {
        context.print_aside("nothing to adopt\n");
        return Ok(Exit::Done);
    }
    if !arguments.consent.agreed(context, &shown(&takeover))? {
        return Ok(arguments.consent.refused());
    }
    write(context, takeover, via)?;
    Ok(Exit::Done)
}

/// Takes back entries that stand in for a server of a client's plugin which is changed, switched off
/// or gone: they would hide the plugin's own. `false` if the person does not agree.
fn drop_stale(
    arguments: &Adopt,
    machine: &Machine<'_>,
    context: &CommandContext,
) -> Result<bool, CliError> {
    let records = Receipts::open(&data_folder()?)?;
    let stale = machine.stale(&records.all);
    if stale.is_empty() {
        return Ok(true);
    }
    let is_stale = |receipt: &Receipt| {
        let mut stale = stale.iter();
        stale
            .any(|it| it.name == receipt.name && it.file == receipt.file && it.keys == receipt.keys)
    };
    for receipt in &stale {
        let name = printable(&receipt.name);
        context.print_aside(&format!("note: the plugin behind `{name}` changed\n"));
    }
    // A dry run shows it, and goes on with what would be adopted afterwards.
    let done = undo::run(context, &arguments.consent, is_stale)?;
    Ok(done == Exit::Done)
}

/// The variables that have a value already: the shell's and the vault's.
struct Known {
    kept: Variables,
}

impl Known {
    fn open() -> Result<Self, CliError> {
        let kept = match existing_vault()? {
            Some(vault) => KeptVariables::new(&vault)?.all()?,
            None => Variables::default(),
        };
        Ok(Self { kept })
    }
}

impl Environment for Known {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        ProcessEnvironment.get(name).or_else(|| self.kept.get(name))
    }

    fn names(&self) -> Vec<String> {
        let mut names = ProcessEnvironment.names();
        names.extend(self.kept.names());
        names
    }
}

impl Adopt {
    /// Asks once how clients that have a choice shall reach the servers.
    fn way(&self, context: &CommandContext, surveyed: &[SurveyedClient]) -> Result<Via, CliError> {
        let is_terminal = io::stdin().is_terminal();
        if self.via == Some(Via::Direct) && !is_terminal {
            return Err(CliError::Usage {
                what: "`--via direct` hands out access tokens, so it is confirmed on a terminal",
            });
        }
        let has_choice = surveyed.iter().any(|it| {
            let mut entries = it.entries.iter();
            it.client.helper.is_some() && entries.any(is_remote)
        });
        let via = match self.via {
            None if has_choice && is_terminal => Via::ask(context),
            via => via.unwrap_or(Via::Run),
        };
        if has_choice && via == Via::Direct {
            let question = "Hand out the access tokens of these servers?";
            if !ask(context, question) {
                return Ok(Via::Run);
            }
        }
        Ok(via)
    }
}

/// Shows what would change; of values only the names.
fn shown(takeover: &Takeover<'_>) -> String {
    let mut text = String::new();
    for (name, _) in takeover.home().values() {
        text.push_str(&format!("the value of `{name}` goes to the vault\n"));
    }
    let (path, before, after) = takeover.home().document();
    text.push_str(&difference(&path, (before, after), TextKind::Document, &[]));
    for (file, own) in takeover.files() {
        text.push_str(&diff(file, &own));
    }
    text
}

/// Writes everything, the values first.
fn write(context: &CommandContext, takeover: Takeover<'_>, via: Via) -> Result<(), CliError> {
    let values = takeover.home().values();
    env::keep_all(&values)?;
    let written = takeover.write()?;
    context.print(&lines("wrote", &written.files), Exit::Done)?;
    approve(context, &written.servers, via)?;
    for shadowed in &written.shadowed {
        context.print_aside(&format!("warning: {shadowed}\n"));
    }
    if !values.is_empty() && context.verbosity != Verbosity::Quiet {
        context.print_aside(BACKUP_HAS_VALUES);
    }
    Ok(())
}

/// Approves what the person has just agreed to, and says where a sign-in is missing.
fn approve(context: &CommandContext, servers: &[String], via: Via) -> Result<(), CliError> {
    let host = ConnectArgs::default().host(context, SignInPolicy::NEVER)?;
    let plugin = own_plugin::load(&host)?;
    let vault = open_vault()?;
    let outs = HandOuts::new(&vault)?;
    for server in servers {
        let plan = plugin.plan(server)?;
        if let Some(question) = plan.question() {
            host.dangerous_store_approval(question)?;
        }
        let Some(approved) = plugin.plan(server)?.find_approval()? else {
            continue;
        };
        if via == Via::Direct {
            outs.dangerous_allow(&approved, SystemClock.wall())?;
        }
        let needs = approved.oauth().is_some() && approved.stored_sign_in()?.is_none();
        if needs && context.verbosity != Verbosity::Quiet {
            let name = printable(server);
            context.print_aside(&format!(
                "sign in, if it asks for that: keyway login own:{name}\n"
            ));
        }
    }
    Ok(())
}

/// Says whether an entry can be taken over.
const fn is_remote(entry: &SurveyedEntry) -> bool {
    matches!(&entry.kind, EntryKind::Other(Recognised::Remote(_)))
}

const BACKUP_HAS_VALUES: &str = "the credentials were in clients' files and still are in the backups: get new ones from their issuers\n";
