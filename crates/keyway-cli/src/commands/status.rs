//! `keyway status`: each server with its state, and which of its variables are set.
//!
//! Nothing is run and nothing is sent; what is told follows from files and variables alone.

mod human;
mod json;
mod live;
mod protection;
mod sign_in;
mod vault;

use self::vault::VaultReport;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use keyway::Host;
use keyway::diagnosis::Diagnosis;
use keyway::error::LoadError;
use keyway::examination::{Survey, Surveyed};
use keyway::load::Loaded;
use keyway_check::Report;
use keyway_code::Exit;
use keyway_config::names::nearest_name;
use keyway_secret::printable;

use crate::arguments::connect::variables_host;
use crate::arguments::own_plugin;
use crate::arguments::selection::Selection;
use crate::arguments::server::split;
use crate::context::CommandContext;
use crate::error::CliError;

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
    /// Name of a server, even if a file or folder has the same name
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

/// Runs the command.
pub(crate) fn run(arguments: &Status, context: &CommandContext) -> Result<Exit, CliError> {
    let host = variables_host(arguments.env_file.as_deref())?;
    let (selection, names) = arguments.selection()?;
    let (mut plugins, mut failures) = selection.read(&host.loader(), context);
    // Away from any plugin, the person's own is meant.
    if matches!(failures.as_slice(), [LoadError::NothingFound]) && own_plugin::folder()?.is_dir() {
        let own = Selection::at(vec![own_plugin::folder()?]);
        (plugins, failures) = own.read(&host.loader(), context);
    }
    let all: Vec<&Loaded> = plugins.iter().collect();
    let mut survey = Survey::of(&all, &host)?;
    if !names.is_empty() {
        keep(&names, &mut survey)?;
    }
    let kept = look_further(&mut survey, &host, context)?;
    live::add(&mut survey)?;
    let exit = if failures.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    };
    let servers = diagnoses(survey.servers);
    let report = Report::new(&plugins, survey.findings, &failures);
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
        // `own:NAME` means the person's own plugin from anywhere, as in every other command.
        let is_own = |name: &String| name.starts_with(own_plugin::PREFIX);
        if paths.is_empty() && !names.is_empty() && names.iter().all(is_own) {
            paths.push(own_plugin::folder()?);
        }
        Ok((Selection::at(paths), names))
    }
}

/// Keeps the servers that were named, and what is said of them.
fn keep(names: &[String], survey: &mut Survey<'_>) -> Result<(), CliError> {
    let is_named = |server: &Surveyed<'_>, name: &String| {
        server.diagnosis.server == *name || server.diagnosis.id() == *name
    };
    for name in names {
        let mut servers = survey.servers.iter();
        if !servers.any(|server| is_named(server, name)) {
            let servers = survey.servers.iter();
            let all = servers.map(|server| server.diagnosis.server.as_str());
            return Err(CliError::from(keyway::Error::UnknownServer {
                name: printable(name),
                near: nearest_name(name, all),
            }));
        }
    }
    let Survey {
        servers, findings, ..
    } = survey;
    servers.retain(|server| names.iter().any(|name| is_named(server, name)));
    findings.retain(|finding| {
        let is_shown = |server: &String| servers.iter().any(|it| it.diagnosis.server == *server);
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
    let mut survey = Survey::of(&[loaded], host)?;
    let kept = look_further(&mut survey, host, context)?;
    let servers = diagnoses(survey.servers);
    let report = Report::new(std::slice::from_ref(loaded), survey.findings, &[]);
    Ok(json::render(&servers, &report, kept.as_ref()))
}

fn diagnoses(servers: Vec<Surveyed<'_>>) -> Vec<Diagnosis> {
    servers.into_iter().map(|server| server.diagnosis).collect()
}

/// Adds what only the system and the vault know.
fn look_further(
    survey: &mut Survey<'_>,
    host: &Host,
    context: &CommandContext,
) -> Result<Option<VaultReport>, CliError> {
    let settings = Arc::new(context.settings()?.clone());
    survey.add_helper_faults();
    protection::look_up(&mut survey.servers, &host.with_settings(&settings))?;
    let mut kept = VaultReport::look()?;
    if kept.is_none() {
        survey.add_questions(&host.with_settings(&settings));
    }
    if let Some(kept) = kept.as_mut().filter(|_| survey.needs_vault())
        && let Some(vault) = kept.open()?
    {
        let accounts = sign_in::accounts(&vault, context)?;
        survey.add_stored(host, &accounts)?;
    }
    Ok(kept)
}
