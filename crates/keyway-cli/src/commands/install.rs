//! `keyway install`: an entry of ours in a client's own file.
//!
//! The entry starts `keyway run` and names a server; no credential is ever in it. Nothing is
//! written before the person has seen the difference and agreed.

mod bridges;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use keyway::load::Loaded;
use keyway::{Error, Plugin};
use keyway_clients::clients::Client;
use keyway_clients::install::{Command, Installation, OwnEntry};
use keyway_clients::own_entries::run_command;
use keyway_code::Exit;
use keyway_config::dialect::{KnownPath, host_file};
use keyway_secret::shell_word;

use self::bridges::Bridges;
use super::client_files::{
    Target, absolute, data_folder, diff, is_same_file, machine, project, this_program,
};
use super::confirmation::{Consent, lines};
use crate::arguments::connect::{ConnectArgs, SignInPolicy, reading_host, tell_skipped};
use crate::arguments::server::{self, Chosen, ServerArgs, named};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;

/// Add servers to an MCP client, which then starts `keyway run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway install claude-code
  keyway install codex docs search
  keyway install cursor --all --dry-run
  keyway install claude-desktop --mcp-remote")]
pub(crate) struct Install {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    instead: Instead,
    /// Plugin folder or file [default: this folder, or the nearest above it in the repository]
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
    #[command(flatten)]
    passed: Passed,
    #[command(flatten)]
    consent: Consent,
}

/// Which servers.
#[derive(Debug, Args)]
struct Which {
    #[command(flatten)]
    servers: ServerArgs,
    /// Install every server of the plugin, one entry each
    #[arg(long)]
    all: bool,
    /// Install every server of the plugin as one entry of this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "name"])]
    together: Option<String>,
    /// Name of the entry [default: the server's name]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

/// Which entries of the client's file ours may take the place of.
#[derive(Debug, Args)]
struct Instead {
    /// Replace entries that run `mcp-remote`; their servers move to the plugin at `--config`, or to
    /// a folder that Keyway manages
    #[arg(long)]
    mcp_remote: bool,
    /// Replace an entry of the same name; `keyway uninstall` restores it
    #[arg(long)]
    replace: bool,
}

/// What the entry hands on to `keyway run`.
#[derive(Debug, Args)]
struct Passed {
    /// Pass this env file to `keyway run`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Pass this profile to `keyway run`
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Install, context: &CommandContext) -> Result<Exit, CliError> {
    let (client, path) = arguments.target.file()?;
    let mut work = Installation::open(client, path, &data_folder()?)?;
    let mut bridges = Bridges::find(work.file())?;
    let chosen = arguments
        .which
        .servers
        .chosen(arguments.config.as_deref())?;
    if arguments.which.all && !chosen.names.is_empty() {
        let what = "give servers or `--all`, not both";
        return Err(CliError::Usage { what });
    }
    let plugin = arguments.load(&bridges, &chosen)?;
    if let Some(plugin) = &plugin {
        require_other_file(plugin.loaded(), work.file().path())?;
        if arguments.which.all {
            tell_skipped(context, plugin.loaded());
        }
        arguments.put(&mut work, plugin, &chosen.names)?;
    }
    bridges.offer(context, arguments)?;
    bridges.replace(&mut work, chosen.path.as_deref())?;
    if work.added().is_empty() {
        context.print_aside("nothing to do\n");
        // What keeps the client from using its entries does so still.
        arguments.warn_shadowed(context, work.file().client(), &work.names())?;
        return Ok(Exit::Done);
    }
    let mut shown = bridges.diff();
    shown.push_str(&diff(work.file(), &work.added()));
    if !arguments.consent.agreed(context, &shown)? {
        return Ok(arguments.consent.refused());
    }
    let mut written = bridges.write()?;
    let names = work.names();
    written.extend(work.write()?);
    context.print(&lines("wrote", &written), Exit::Done)?;
    arguments.warn_shadowed(context, work.file().client(), &names)?;
    if context.verbosity != Verbosity::Quiet {
        context.print_aside(&format!("{}\n", work.file().client().afterwards));
        context.print_aside(&bridges.advice());
        let host = ConnectArgs::default().host(context, SignInPolicy::NEVER)?;
        context.print_aside(&bridges.approvals(&host)?);
        if let Some(plugin) = &plugin {
            let servers = arguments.servers(plugin, &chosen.names)?;
            let named = arguments.passed.profile.clone();
            let host = ConnectArgs::with_profile(named).host(context, SignInPolicy::NEVER)?;
            let plugin = host.plugin(Arc::clone(plugin.loaded()));
            let named = arguments.passed.profile.as_deref();
            context.print_aside(&approvals(&plugin, &servers, named)?);
        }
    }
    Ok(Exit::Done)
}

impl Install {
    /// Reads the plugin; `None` where only bridges are to be replaced.
    fn load(&self, bridges: &Bridges, chosen: &Chosen) -> Result<Option<Plugin>, CliError> {
        let is_all = self.which.all || self.which.together.is_some();
        let names_servers = !chosen.names.is_empty() || is_all;
        if self.instead.mcp_remote && !names_servers {
            return Ok(None);
        }
        let host = reading_host()?;
        let plugin = match &chosen.path {
            Some(path) => host.load(path),
            None => host.discover("."),
        };
        match plugin {
            Ok(plugin) => Ok(Some(plugin)),
            // A person at a terminal may have come for the bridges alone.
            Err(Error::Load(keyway::error::LoadError::NothingFound))
                if !names_servers && !bridges.is_empty() && io::stdin().is_terminal() =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the names of the servers.
    fn servers(&self, plugin: &Plugin, given: &[String]) -> Result<Vec<String>, CliError> {
        if self.which.all || self.which.together.is_some() {
            return server::all(plugin);
        }
        match named(plugin, given) {
            Err(CliError::Host(Error::WhichServer { names })) if !names.is_empty() => {
                Err(CliError::OneOrAll { names })
            }
            found => found,
        }
    }

    /// Puts an entry for each server that is meant, or one for all of them.
    fn put(
        &self,
        work: &mut Installation,
        plugin: &Plugin,
        given: &[String],
    ) -> Result<(), CliError> {
        let replace = self.instead.replace;
        if let Some(name) = &self.which.together {
            let entry = OwnEntry::Run(self.command(&read_from(plugin), None, work)?);
            return Ok(work.put((name, &entry), replace)?);
        }
        let servers = self.servers(plugin, given)?;
        if self.which.name.is_some() && servers.len() != 1 {
            let what = "`--as` names the entry of one server";
            return Err(CliError::Usage { what });
        }
        for server in servers {
            let entry = OwnEntry::Run(self.command(&read_from(plugin), Some(&server), work)?);
            let name = self.which.name.as_ref().unwrap_or(&server);
            work.put((name, &entry), replace)?;
        }
        Ok(())
    }

    /// Says which entries the client does not use in this folder, and what to do about it.
    fn warn_shadowed(
        &self,
        context: &CommandContext,
        client: &'static Client,
        names: &[String],
    ) -> Result<(), CliError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let flag = match self.which.together {
            Some(_) => "--together",
            None => "--as",
        };
        for shadowed in machine()?.shadowed(client, &names) {
            let name = shell_word(&format!("{}-keyway", shadowed.name));
            context.print_aside(&format!(
                "warning: {shadowed}\n  turn the other one off in {}, or add this one with `{flag} {name}`\n",
                client.title
            ));
        }
        Ok(())
    }

    /// Returns what the client shall start for a server of the plugin at `root`, or for all.
    fn command(
        &self,
        root: &Path,
        server: Option<&str>,
        work: &Installation,
    ) -> Result<Command, CliError> {
        let mut command = match self.target.project {
            true => portable(root, server, work)?,
            false => run_command(this_program()?, absolute(root)?, server),
        };
        if self.target.project && self.passed.env_file.is_some() {
            let what = "`--env-file` does not go into a project's file: its path is only valid on this machine";
            return Err(CliError::Usage { what });
        }
        if let Some(file) = &self.passed.env_file {
            command
                .args
                .extend(["--env-file".to_owned(), absolute(file)?]);
        }
        if let Some(profile) = &self.passed.profile {
            command
                .args
                .extend(["--profile".to_owned(), profile.clone()]);
        }
        Ok(command)
    }
}

/// Refuses a client's file that is the plugin's own: an entry in it would start itself.
fn require_other_file(loaded: &Loaded, file: &Path) -> Result<(), CliError> {
    let documents = loaded.plugin.documents.iter();
    let mut paths = documents.filter_map(|found| loaded.path_of(found.source.path()));
    if paths.any(|path| is_same_file(path, file)) {
        return Err(CliError::Usage { what: OWN_FILE });
    }
    Ok(())
}

/// Returns the path by which the plugin is read again: its folder, or the one file that was named.
fn read_from(plugin: &Plugin) -> PathBuf {
    let file = plugin.loaded().config();
    file.unwrap_or_else(|| plugin.root().to_owned())
}

/// Says what has to be approved before the client can use the servers.
fn approvals(
    plugin: &Plugin,
    servers: &[String],
    profile: Option<&str>,
) -> Result<String, CliError> {
    let root = shell_word(&read_from(plugin).to_string_lossy());
    let profile = profile.map(|name| format!(" --profile {}", shell_word(name)));
    let profile = profile.unwrap_or_default();
    let mut text = String::new();
    for server in servers {
        if !plugin.plan(server)?.is_approved() {
            let server = shell_word(server);
            text.push_str(&format!(
                "approve it once: keyway trust grant {server} --config {root}{profile}\n"
            ));
        }
    }
    Ok(text)
}

/// Returns what the clients of all who work on the project start: nothing in it is only true on
/// this machine.
fn portable(root: &Path, server: Option<&str>, work: &Installation) -> Result<Command, CliError> {
    let (root, project) = (PathBuf::from(absolute(root)?), absolute(&project())?);
    let below = root.strip_prefix(&project).map_err(|_| CliError::Usage {
        what: "the plugin is outside the project, so its path is only valid on this machine",
    })?;
    let below = below.to_string_lossy();
    let dialect = host_file(work.file().client().read_as).map(|(dialect, _)| dialect);
    let folder = match dialect.and_then(KnownPath::of) {
        Some(known) => format!("${{{}}}", known.name()),
        None => ".".to_owned(),
    };
    let root = match below.as_ref() {
        "" => folder,
        below => format!("{folder}/{below}"),
    };
    Ok(run_command("keyway".to_owned(), root, server))
}

const OWN_FILE: &str = "the client already reads this file, because it is the plugin's own; an entry in it would start itself";
