//! `keyway status`: each server with its state, and which of its variables are set.
//!
//! Nothing is run and nothing is sent; what is told follows from files and variables alone.

mod approval;
pub(crate) mod explain;
mod human;
mod json;
mod protection;
mod sign_in;
mod vault;

use self::vault::Kept;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keyway::Host;
use keyway::approval::Question;
use keyway::load::Loaded;
use keyway::sign_in::{Accounts, SignIn};
use keyway::status::{self, ServerStatus};
use keyway_code::Exit;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::names::nearest_name;
use keyway_secret::printable;

use crate::connect_args::variables_host;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Report;
use crate::selection::Selection;
use crate::server_args::split;

/// Show servers, their state and their variables; sends nothing
///
/// Runs nothing either: the state follows from files, variables and stored sign-ins.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway status
  keyway status docs
  keyway status --config ~/plugins/wiki --format json")]
pub(crate) struct Status {
    /// Servers to show, or plugin folders and files, `-` for standard input [default: this folder,
    /// or the nearest above it in the repository]
    #[arg(value_name = "SERVER|PATH")]
    words: Vec<OsString>,
    /// Always a server, also where a folder has its name
    #[arg(long = "server", value_name = "SERVER", hide = true)]
    named: Vec<String>,
    /// Plugin folder or file
    #[arg(long, value_name = "PATH")]
    config: Vec<PathBuf>,
    /// Read unset variables from FILE
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Human,
    /// One JSON object
    Json,
}

/// A server together with the plugin it belongs to.
pub(crate) struct Listed<'a> {
    pub(crate) plugin: String,
    pub(crate) status: ServerStatus<'a>,
    /// What its programs are kept from; `None` if it runs none.
    protection: Option<String>,
    /// Who is signed in to it.
    pub(crate) sign_in: Option<SignIn>,
    /// What has to be approved, as far as it was looked up that it is not.
    pub(crate) question: Option<Question>,
}

impl Listed<'_> {
    /// Returns `<plugin>:<server>`; just the server where there is no plugin.
    fn id(&self) -> String {
        let name = &self.status.entry.name;
        if self.plugin.is_empty() {
            return name.clone();
        }
        format!("{}:{name}", self.plugin)
    }

    /// Returns the plugin whose file declares it.
    fn owner<'p>(&self, plugins: &[&'p Loaded]) -> Option<&'p Loaded> {
        plugins.iter().copied().find(|loaded| {
            let mut documents = loaded.plugin.documents.iter();
            documents.any(|document| std::ptr::eq(document, self.status.document))
        })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Status, context: &CommandContext) -> Result<Exit, CliError> {
    let host = variables_host(arguments.env_file.as_deref())?;
    let (selection, names) = arguments.selection()?;
    let (plugins, failures) = selection.read(context);
    let all: Vec<&Loaded> = plugins.iter().collect();
    let (mut servers, mut diagnostics) = look(&all, &host)?;
    if !names.is_empty() {
        keep(&names, &mut servers, &mut diagnostics)?;
    }
    let kept = look_further(&mut servers, &all, (&host, context))?;
    let exit = if failures.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    };
    let report = Report::new(&plugins, diagnostics, &failures);
    let text = match arguments.format {
        Format::Json => json::render(&servers, &report, kept.as_ref()),
        Format::Human if report.is_empty() => String::new(),
        Format::Human => human::render(&servers, &report, (kept.as_ref(), context)),
    };
    context.print(&text, exit)?;
    for failure in report.failures() {
        context.print_error(failure, failure.hint().as_deref());
    }
    Ok(exit)
}

impl Status {
    /// Tells the plugins and the servers apart.
    fn selection(&self) -> Result<(Selection, Vec<String>), CliError> {
        let (mut paths, mut names) = split(&self.words)?;
        paths.extend(self.config.iter().cloned());
        names.extend(self.named.iter().cloned());
        Ok((Selection::at(paths), names))
    }
}

/// Keeps the servers that were named, and what is said of them.
fn keep(
    names: &[String],
    servers: &mut Vec<Listed<'_>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(), CliError> {
    for name in names {
        let is_it = |listed: &Listed<'_>| listed.status.entry.name == *name || listed.id() == *name;
        if !servers.iter().any(is_it) {
            let all = servers
                .iter()
                .map(|listed| listed.status.entry.name.as_str());
            return Err(CliError::from(keyway::Error::UnknownServer {
                name: printable(name),
                near: nearest_name(name, all),
            }));
        }
    }
    servers
        .retain(|listed| names.contains(&listed.status.entry.name) || names.contains(&listed.id()));
    diagnostics.retain(|finding| {
        let is_shown = |server: &String| servers.iter().any(|it| it.status.entry.name == *server);
        finding.server.as_ref().is_none_or(is_shown)
    });
    Ok(())
}

/// Renders one plugin as `--format json` does.
pub(crate) fn as_json(
    loaded: &Loaded,
    host: &Host,
    context: &CommandContext,
) -> Result<String, CliError> {
    let (mut servers, diagnostics) = look(&[loaded], host)?;
    let kept = look_further(&mut servers, &[loaded], (host, context))?;
    let report = Report::new(std::slice::from_ref(loaded), diagnostics, &[]);
    Ok(json::render(&servers, &report, kept.as_ref()))
}

/// Adds what only the system and the vault know.
fn look_further(
    servers: &mut [Listed<'_>],
    plugins: &[&Loaded],
    (host, context): (&Host, &CommandContext),
) -> Result<Option<Kept>, CliError> {
    protection::look_up(servers, context)?;
    let mut kept = Kept::look()?;
    let asks = |listed: &Listed<'_>| approval::waits(listed) || sign_in::is_oauth(listed);
    if let Some(kept) = kept.as_mut().filter(|_| servers.iter().any(asks))
        && let Some(vault) = kept.open()?
    {
        let accounts = sign_in::accounts(&vault, context)?;
        look_up(servers, plugins, host, &accounts)?;
    }
    Ok(kept)
}

/// Returns what can be said of the servers of plugins without running or sending anything, with
/// the approvals and sign-ins of `accounts`.
pub(crate) fn survey<'a>(
    plugins: &[&'a Loaded],
    host: &Host,
    accounts: &Accounts,
) -> Result<Vec<Listed<'a>>, CliError> {
    let (mut servers, _) = look(plugins, host)?;
    look_up(&mut servers, plugins, host, accounts)?;
    Ok(servers)
}

fn look_up(
    servers: &mut [Listed<'_>],
    plugins: &[&Loaded],
    host: &Host,
    accounts: &Accounts,
) -> Result<(), CliError> {
    approval::look_up(servers, plugins, host, accounts)?;
    sign_in::look_up(servers, plugins, host, accounts)
}

fn look<'a>(
    plugins: &[&'a Loaded],
    host: &Host,
) -> Result<(Vec<Listed<'a>>, Vec<Diagnostic>), CliError> {
    let mut servers = Vec::new();
    let mut diagnostics = Vec::new();
    for &loaded in plugins {
        let variables = host.variable_scope(loaded)?;
        let scope = variables.scope();
        let found = status::of(&loaded.plugin, &scope);
        diagnostics.extend(explain::diagnostics(&loaded.plugin, scope, &found));
        let plugin = loaded.plugin.name();
        servers.extend(found.into_iter().map(|status| Listed {
            plugin: plugin.clone(),
            status,
            protection: None,
            sign_in: None,
            question: None,
        }));
    }
    Ok((servers, diagnostics))
}
