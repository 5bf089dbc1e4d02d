//! `keyway adopt`: the remote servers that the clients of this machine have, taken over by Keyway.
//!
//! A server becomes an entry of the person's own plugin, its literal credentials go to the vault, and
//! the client's entry becomes one of ours under the same name. Nothing is written before the person
//! has seen the difference and agreed, and `--undo` brings every byte back.

pub(super) mod undo;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyway::hand_outs::HandOuts;
use keyway::load;
use keyway::variables::KeptVariables;
use keyway_check::diff::TextKind;
use keyway_clients::claude_code::{ClaudeCode, is_trusted};
use keyway_clients::clients::{CLIENTS, Client, Homes};
use keyway_clients::install::{
    ClientFile, Home, OwnEntry, Receipt, Receipts, Recognised, Remote, StandsFor,
};
use keyway_clients::survey::{EntryKind, EntryScope, Machine, SurveyedClient, SurveyedEntry};
use keyway_code::Exit;
use keyway_config::environment::Environment;
use keyway_secret::{Clock as _, Secret, SystemClock, printable};

use super::client_entry::{self, Via};
use super::install::{Consent, NO_HOME, ask, diff, difference, entry_name, lines};
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
  keyway adopt --undo")]
pub(crate) struct Adopt {
    /// MCP client [default: every client found here]
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: Option<String>,
    /// How clients with a `headersHelper` reach the servers [default: asks on a terminal, else run]
    #[arg(long, value_enum, value_name = "WAY")]
    via: Option<Via>,
    /// Restore the entries as they were
    #[arg(long, conflicts_with = "via")]
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
    let mut adoption = Adoption::open(&machine, arguments.via)?;
    let surveyed: Vec<SurveyedClient> = match &arguments.client {
        Some(name) => Client::by_name(name)
            .map(|client| machine.look_at(client))
            .into_iter()
            .collect(),
        None => machine.survey(),
    };
    adoption.ask_way(context, &surveyed)?;
    for client in &surveyed {
        adoption.take_over(client)?;
    }
    adoption.tell_notes(context);
    if adoption.files.is_empty() {
        context.print_aside("nothing to adopt\n");
        return Ok(Exit::Done);
    }
    if !arguments.consent.agreed(context, &adoption.diff())? {
        return Ok(arguments.consent.refused());
    }
    adoption.write(context)
}

/// Takes back entries that stand in for a server of a client's plugin which is changed, switched off
/// or gone: they would hide the plugin's own. `false` if the person does not agree.
fn drop_stale(
    arguments: &Adopt,
    machine: &Machine<'_>,
    context: &CommandContext,
) -> Result<bool, CliError> {
    let data = ProcessEnvironment::data_folder().ok_or(CliError::Usage { what: NO_HOME })?;
    let records = Receipts::open(&data)?;
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

/// Returns where the clients of this machine look.
pub(crate) fn machine() -> Result<Machine<'static>, CliError> {
    let home = ProcessEnvironment::home().ok_or(CliError::Usage { what: NO_HOME })?;
    let config = ProcessEnvironment::config_home().unwrap_or_else(|| home.join(".config"));
    let here = ProcessEnvironment::current_folder();
    let project = load::repository_of(&here).unwrap_or(here);
    Ok(Machine {
        homes: Homes {
            home,
            config,
            variables: &ProcessEnvironment,
        },
        project,
    })
}

/// What a run takes over.
struct Adoption<'a> {
    machine: &'a Machine<'a>,
    via: Option<Via>,
    home: Home,
    known: Known,
    records: Receipts,
    files: BTreeMap<PathBuf, (ClientFile, Vec<Receipt>)>,
    notes: Vec<String>,
    servers: Vec<String>,
}

/// The variables that have a value already: the shell's and the vault's.
struct Known {
    kept: keyway_config::environment::Variables,
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

impl<'a> Adoption<'a> {
    fn open(machine: &'a Machine<'a>, via: Option<Via>) -> Result<Self, CliError> {
        let data = ProcessEnvironment::data_folder().ok_or(CliError::Usage { what: NO_HOME })?;
        let kept = match existing_vault()? {
            Some(vault) => KeptVariables::new(&vault)?.all()?,
            None => keyway_config::environment::Variables::default(),
        };
        Ok(Self {
            machine,
            via,
            home: Home::open(&own_plugin::folder()?)?,
            known: Known { kept },
            records: Receipts::open(&data)?,
            files: BTreeMap::new(),
            notes: Vec::new(),
            servers: Vec::new(),
        })
    }

    /// Asks once how clients that have a choice shall reach the servers.
    fn ask_way(
        &mut self,
        context: &CommandContext,
        surveyed: &[SurveyedClient],
    ) -> Result<(), CliError> {
        let is_terminal = io::stdin().is_terminal();
        if self.via == Some(Via::Direct) && !is_terminal {
            return Err(CliError::Usage {
                what: "`--via direct` hands out access tokens, so it is confirmed on a terminal",
            });
        }
        let has_choice = surveyed.iter().any(|it| {
            let mut entries = it.entries.iter();
            it.client.helper.is_some() && entries.any(|entry| remote_of(entry).is_some())
        });
        if has_choice && is_terminal && self.via.is_none() {
            self.via = Some(Via::ask(context));
        }
        if has_choice && self.via == Some(Via::Direct) {
            let question = "Hand out the access tokens of these servers?";
            if !ask(context, question) {
                self.via = Some(Via::Run);
            }
        }
        Ok(())
    }

    /// Plans what becomes of a client's entries.
    fn take_over(&mut self, surveyed: &SurveyedClient) -> Result<(), CliError> {
        for problem in &surveyed.problems {
            self.notes.push(problem.to_string());
        }
        for entry in &surveyed.entries {
            let remote = match &entry.kind {
                EntryKind::Other(Recognised::Remote(remote)) => remote,
                EntryKind::Other(Recognised::Unsupported { option }) => {
                    let (name, option) = (printable(&entry.name), printable(option));
                    let title = surveyed.client.title;
                    self.notes.push(format!(
                        "`{name}` of {title} has `{option}`, which Keyway does not take over; keeping it"
                    ));
                    continue;
                }
                _ => continue,
            };
            if let Some(keys) = self.target(surveyed, entry) {
                self.replace(surveyed, (entry, remote), &keys)?;
            }
        }
        Ok(())
    }

    /// Returns where in the person's own file an entry of ours wins; `None` if nowhere.
    fn target(&mut self, surveyed: &SurveyedClient, entry: &SurveyedEntry) -> Option<Vec<String>> {
        let usual = vec![surveyed.client.key.to_owned()];
        let local = |project: &str| {
            ["projects", project, "mcpServers"]
                .map(str::to_owned)
                .to_vec()
        };
        match &entry.scope {
            EntryScope::User | EntryScope::Plugin { .. } => Some(usual),
            EntryScope::Local { project } => Some(local(project)),
            EntryScope::Project if surveyed.client.name == "claude-code" => {
                let project = self.machine.project.to_string_lossy();
                Some(local(&project))
            }
            // Its fields are merged with those of the project, which has the address.
            EntryScope::Project if surveyed.client.name == "codex" && self.is_direct() => {
                Some(usual)
            }
            _ => {
                let (name, title) = (printable(&entry.name), surveyed.client.title);
                let file = printable(&entry.file.to_string_lossy());
                self.notes.push(format!(
                    "{title} reads `{name}` from {file} first, which belongs to the project; keeping it"
                ));
                None
            }
        }
    }

    fn is_direct(&self) -> bool {
        self.via == Some(Via::Direct)
    }

    fn replace(
        &mut self,
        surveyed: &SurveyedClient,
        (entry, remote): (&SurveyedEntry, &Remote),
        keys: &[String],
    ) -> Result<(), CliError> {
        let path = surveyed.user_file.clone();
        if !self.files.contains_key(&path) {
            let file = ClientFile::read(surveyed.client, path.clone())?;
            self.files.insert(path.clone(), (file, Vec::new()));
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let is_ours = self.files.get_mut(&path).map(|(file, _)| {
            file.turn_to(&keys);
            let entries = file.entries();
            entries.map(|all| {
                all.iter()
                    .any(|it| it.name == entry.name && it.runs_keyway())
            })
        });
        if is_ours.transpose()?.unwrap_or(false) {
            self.drop_unchanged();
            return Ok(());
        }
        let server = self.own_server(entry, remote)?;
        let own = client_entry::of(surveyed.client, &server, (self.via, remote))?;
        let Some((file, receipts)) = self.files.get_mut(&path) else {
            return Ok(());
        };
        let patch = file.put(&entry.name, &own)?;
        let mut receipt = Receipt::new(file, (&entry.name, &own), &patch);
        receipt.own_server = Some(server);
        if let EntryScope::Plugin { id, .. } = &entry.scope {
            receipt.stands_for = Some(StandsFor {
                plugin: id.clone(),
                url: remote.url().expose().clone(),
            });
        }
        receipts.push(receipt);
        let project = self.machine.project.to_string_lossy();
        if matches!(own, OwnEntry::Helper(_))
            && entry.scope == EntryScope::Project
            && !is_trusted(&path, &project)
        {
            let name = printable(&entry.name);
            self.notes.push(format!(
                "Claude Code runs no helper for `{name}` before you trust this folder: start `claude` here once"
            ));
        }
        Ok(())
    }

    /// Returns the server of the person's own plugin for an entry; one address is one server.
    fn own_server(&mut self, entry: &SurveyedEntry, remote: &Remote) -> Result<String, CliError> {
        let there = self.home.name_at(remote.url().expose());
        if let Some(name) = there.filter(|_| remote.has_no_headers()) {
            self.servers.push(name.clone());
            return Ok(name);
        }
        let name = match &entry.scope {
            EntryScope::Plugin { plugin, server, .. } if plugin == server => server.clone(),
            EntryScope::Plugin { plugin, server, .. } => format!("{plugin}-{server}"),
            _ => entry.name.clone(),
        };
        let adopted = self.home.adopt(&entry_name(&name), remote, &self.known)?;
        self.servers.push(adopted.server.clone());
        Ok(adopted.server)
    }

    fn drop_unchanged(&mut self) {
        self.files.retain(|_, (_, receipts)| !receipts.is_empty());
    }

    fn tell_notes(&self, context: &CommandContext) {
        if context.verbosity == Verbosity::Quiet {
            return;
        }
        for note in &self.notes {
            context.print_aside(&format!("note: {note}\n"));
        }
    }

    fn diff(&self) -> String {
        let mut text = String::new();
        for (name, _) in self.home.values() {
            text.push_str(&format!("the value of `{name}` goes to the vault\n"));
        }
        let (path, before, after) = self.home.document();
        text.push_str(&difference(&path, (before, after), TextKind::Document, &[]));
        for (file, receipts) in self.files.values() {
            let own: Vec<&OwnEntry> = receipts.iter().map(|receipt| &receipt.entry).collect();
            text.push_str(&diff(file, &own));
        }
        text
    }

    /// Writes everything: what entries need before the entries, and the record of the change before
    /// the change.
    fn write(mut self, context: &CommandContext) -> Result<Exit, CliError> {
        let vault = open_vault()?;
        let kept = KeptVariables::new(&vault)?;
        for (name, value) in self.home.values() {
            kept.set(&name, &value, SystemClock.wall())?;
        }
        let mut written = self.home.write()?;
        let files: Vec<(ClientFile, Vec<Receipt>)> =
            std::mem::take(&mut self.files).into_values().collect();
        for (file, _) in &files {
            written.extend(self.records.back_up(file)?);
        }
        for (_, receipts) in &files {
            self.records.all.extend(receipts.iter().cloned());
        }
        self.records.save()?;
        for (file, _) in &files {
            file.write(false)?;
            written.push(file.path().to_path_buf());
        }
        let receipts: Vec<&Receipt> = files.iter().flat_map(|(_, it)| it).collect();
        let of_claude = receipts.iter().filter(|it| it.client == "claude-code");
        let names: Vec<String> = of_claude.map(|it| it.name.clone()).collect();
        ClaudeCode::find(&self.machine.homes).forget_needs_auth(&names)?;
        context.print(&lines("wrote", &written), Exit::Done)?;
        self.approve(context)?;
        self.tell_losers(context, &receipts);
        if !self.home.values().is_empty() && context.verbosity != Verbosity::Quiet {
            context.print_aside(BACKUP_HAS_VALUES);
        }
        Ok(Exit::Done)
    }

    /// Approves what the person has just agreed to, and says where a sign-in is missing.
    fn approve(&self, context: &CommandContext) -> Result<(), CliError> {
        let host = ConnectArgs::default().host(context, SignInPolicy::NEVER)?;
        let plugin = own_plugin::load(&host)?;
        let vault = open_vault()?;
        let outs = HandOuts::new(&vault)?;
        let mut servers = self.servers.clone();
        servers.sort_unstable();
        servers.dedup();
        for server in &servers {
            let plan = plugin.plan(server)?;
            if let Some(question) = plan.question() {
                host.store_approval(question)?;
            }
            let Some(approved) = plugin.plan(server)?.find_approval()? else {
                continue;
            };
            if self.is_direct() {
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

    /// Looks again who wins: an entry of another scope may stand above ours.
    fn tell_losers(&self, context: &CommandContext, receipts: &[&Receipt]) {
        for receipt in receipts {
            let Some(client) = Client::by_name(&receipt.client) else {
                continue;
            };
            let entries = self.machine.look_at(client).entries;
            let ours = entries
                .iter()
                .filter(|it| it.name == receipt.name && matches!(it.kind, EntryKind::Keyway));
            let mut losing = ours.filter_map(|it| it.shadowed_by.as_ref());
            if let Some(scope) = losing.next() {
                let (name, scope) = (printable(&receipt.name), scope.as_str());
                context.print_aside(&format!(
                    "note: {} still uses the {scope} entry `{name}`\n",
                    client.title
                ));
            }
        }
    }
}

/// Returns the server of an entry that can be taken over.
fn remote_of(entry: &SurveyedEntry) -> Option<&Remote> {
    match &entry.kind {
        EntryKind::Other(Recognised::Remote(remote)) => Some(remote),
        _ => None,
    }
}

const BACKUP_HAS_VALUES: &str = "the credentials stood in clients' files, and still do in the backups: get new ones from their issuers\n";
