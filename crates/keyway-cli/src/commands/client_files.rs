//! Files of MCP clients, as several commands take them: which file is meant, where clients look, and
//! what a change of it looks like.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyway_check::diff::{Diff, TextKind};
use keyway_clients::clients::{CLIENTS, Client, Homes, Syntax};
use keyway_clients::install::{ClientFile, OwnEntry};
use keyway_clients::survey::Machine;
use keyway_config::source::Source;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// Whose file, and which of them.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// MCP client
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,
    /// Use the client's project file instead of your user file
    #[arg(long)]
    pub(super) project: bool,
}

impl Target {
    /// Returns the client, and where its file is.
    pub(super) fn file(&self) -> Result<(&'static Client, PathBuf), CliError> {
        let client = Client::by_name(&self.client).ok_or(CliError::Usage {
            what: "no such client",
        })?;
        if !self.project {
            return Ok((client, user_file(client)?));
        }
        let below = client.project.ok_or(CliError::Usage {
            what: "this client has no file for a project",
        })?;
        Ok((client, project().join(below)))
    }
}

/// Returns where a client keeps the person's own servers.
pub(super) fn user_file(client: &Client) -> Result<PathBuf, CliError> {
    Ok((client.user)(&homes()?))
}

/// Returns the folders and variables by which clients find their files.
fn homes() -> Result<Homes<'static>, CliError> {
    let home = ProcessEnvironment::home().ok_or(CliError::Usage { what: NO_HOME })?;
    let config = ProcessEnvironment::config_home();
    Ok(Homes::new(home, config, &ProcessEnvironment))
}

/// Returns where the clients of this machine look.
pub(crate) fn machine() -> Result<Machine<'static>, CliError> {
    Ok(Machine::new(homes()?, project()))
}

/// Returns the project that the person works on.
pub(super) fn project() -> PathBuf {
    let here = ProcessEnvironment::current_folder();
    keyway::load::repository_of(&here).unwrap_or(here)
}

/// Returns Keyway's folder for data.
pub(super) fn data_folder() -> Result<PathBuf, CliError> {
    ProcessEnvironment::data_folder().ok_or(CliError::Usage { what: NO_HOME })
}

/// Shows what would change in a client's file.
pub(super) fn diff(file: &ClientFile, own: &[&OwnEntry]) -> String {
    let kind = match file.client().syntax {
        Syntax::Json(_) => TextKind::Document,
        _ => TextKind::Prose,
    };
    let (before, after) = file.texts();
    // If it were masked, the person could not see what would be started.
    let ours: Vec<String> = own.iter().flat_map(|own| own.texts()).collect();
    difference(file.path(), (before, after), kind, &ours)
}

/// Shows what would change in a file.
pub(super) fn difference(
    path: &Path,
    (before, after): (Option<&str>, &str),
    kind: TextKind,
    ours: &[String],
) -> String {
    let shown = path.to_string_lossy();
    let before = Source::new(&shown, before.unwrap_or_default().as_bytes());
    let after = Source::new(&shown, after.as_bytes());
    Diff::new(&before, &after, kind).ours(ours).render()
}

/// Says whether two paths lead to one file.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    let one = std::fs::canonicalize(one);
    let other = std::fs::canonicalize(other);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// Returns the absolute path of this program.
pub(super) fn this_program() -> Result<String, CliError> {
    let program = ProcessEnvironment::program().ok_or(CliError::Usage {
        what: "cannot find the path of this program",
    })?;
    absolute(&program)
}

/// Returns the absolute path of something that is there, as text.
pub(super) fn absolute(path: &Path) -> Result<String, CliError> {
    let shown = || path.to_string_lossy().into_owned();
    let found = std::fs::canonicalize(path).map_err(|source| {
        let path = shown();
        keyway::error::LoadError::Unreadable { path, source }
    })?;
    let text = found.into_os_string().into_string();
    Ok(text.map_err(|_| keyway::error::LoadError::NotText { path: shown() })?)
}

const NO_HOME: &str = "no home folder: set `HOME`";
