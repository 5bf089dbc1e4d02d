//! `keyway migrate`: the two ways away from a credential that is written down.

mod env;
mod oauth;
mod trial;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use keyway::load::Loaded;
use keyway_code::Exit;
use keyway_lint::migrate::Selection;

use crate::arguments::selection::One;
use crate::arguments::server::ServerArgs;
use crate::context::CommandContext;
use crate::error::CliError;

/// Move credentials out of configuration files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway migrate env --write
  keyway migrate oauth docs --write")]
pub(crate) struct Migrate {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Env(env::Env),
    #[command(name = "oauth")]
    OAuth(oauth::OAuth),
}

/// Runs the command.
pub(crate) fn run(arguments: &Migrate, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Env(arguments) => env::run(arguments, context),
        Action::OAuth(arguments) => oauth::run(arguments, context),
    }
}

/// Which servers of which plugin.
#[derive(Debug, Args)]
struct Target {
    #[command(flatten)]
    servers: ServerArgs,
    /// Plugin folder or file [default: this folder, or the nearest above it in the repository]
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
}

/// The names of the documents that were selected.
type Files = Vec<Arc<str>>;

impl Target {
    /// Reads the whole plugin; says which of its documents were selected, and which server.
    fn load(&self) -> Result<(Loaded, Files, Option<String>), CliError> {
        let mut chosen = self.servers.chosen(self.config.as_deref())?;
        let server = chosen.names.pop();
        if !chosen.names.is_empty() {
            let what = "one server at a time";
            return Err(CliError::Usage { what });
        }
        let (loaded, files) = One::at(chosen.path).load()?;
        let prefix = format!("{}:", loaded.plugin.name());
        let server = server.map(|name| match name.strip_prefix(&prefix) {
            Some(own) => own.to_owned(),
            None => name,
        });
        Ok((loaded, files, server))
    }
}

fn require_server(scope: &Selection<'_>) -> Result<(), CliError> {
    match scope.server {
        Some(name) if !scope.has_server() => Err(CliError::from(keyway::Error::UnknownServer {
            name: name.to_owned(),
            near: scope.near_server(),
        })),
        _ => Ok(()),
    }
}

/// Names the files that were written, one on each line.
fn written(files: &[String]) -> String {
    let lines = files
        .iter()
        .map(|file| format!("wrote {}\n", keyway_secret::printable(file)));
    lines.collect()
}
