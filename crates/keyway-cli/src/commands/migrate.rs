//! `keyway migrate`: the two ways away from a credential that is written down.

mod env;
mod oauth;
mod trial;

use clap::{Args, Subcommand};
use keyway_config::edit::TextChange;
use keyway_config::source::Source;
use keyway_lint::migrate::Scope;

use crate::context::CommandContext;
use crate::diff::{Diff, Kind};
use crate::error::CliError;
use crate::exit::Exit;

/// Move credentials out of configuration files
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(subcommand)]
    way: Way,
}

#[derive(Debug, Subcommand)]
enum Way {
    Env(env::Env),
    #[command(name = "oauth")]
    OAuth(oauth::OAuth),
}

/// Runs the command.
pub(crate) fn run(arguments: &Migrate, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.way {
        Way::Env(arguments) => env::run(arguments, context),
        Way::OAuth(arguments) => oauth::run(arguments, context),
    }
}

fn require_server(scope: &Scope<'_>) -> Result<(), CliError> {
    match scope.server {
        Some(name) if !scope.has_server() => Err(CliError::UnknownServer {
            name: name.to_owned(),
            near: scope.near_server(),
        }),
        _ => Ok(()),
    }
}

/// Shows one file.
fn diff(change: &TextChange, kind: Kind) -> String {
    let before = change.before.as_deref().unwrap_or_default();
    let before = Source::new(&change.file, before.as_bytes());
    let after = Source::new(&change.file, change.after.as_bytes());
    let (before, after) = (&before, &after);
    Diff {
        before,
        after,
        kind,
        ours: &[],
    }
    .render()
}

/// Names the files that were written, one on each line.
fn written(files: &[String]) -> String {
    let lines = files
        .iter()
        .map(|file| format!("wrote {}\n", keyway_secret::printable(file)));
    lines.collect()
}
