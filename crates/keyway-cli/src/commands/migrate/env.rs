//! `keyway migrate env`: literal credentials become variables; no value is lost, none is printed.

use std::collections::BTreeSet;

use clap::Args;
use keyway_check::migrate;
use keyway_check::migrate::report::EnvReport;
use keyway_code::Exit;
use keyway_config::environment::Variables;
use keyway_lint::migrate::env::{EnvPlan, plan, plan_asked};
use keyway_lint::migrate::{EnvObstacle, Selection};

use super::trial::{Trial, Trying};
use super::{Target, require_server, written};
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Format;
use crate::report::Verbosity;

/// Replace literal credentials with variables, and move the values to an ignored `.env`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway migrate env
  keyway migrate env search --write
  keyway migrate env --config .vscode/mcp.json --write")]
pub(crate) struct Env {
    #[command(flatten)]
    target: Target,
    /// Write the changes instead of showing them
    #[arg(long)]
    write: bool,
    /// Let Claude Code ask for the values: `userConfig` of the plugin's manifest instead of variables
    #[arg(long)]
    ask: bool,
    #[command(flatten)]
    trying: Trying,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// Runs the command.
pub(super) fn run(arguments: &Env, context: &CommandContext) -> Result<Exit, CliError> {
    let (loaded, files, server) = arguments.target.load()?;
    context.read(&loaded);
    let scope = Selection::new(&loaded.plugin, &files, server.as_deref());
    require_server(&scope)?;
    let mut around = migrate::plugin_files(&loaded)?;
    if ProcessEnvironment::home().is_some_and(|home| home == loaded.plugin.root) {
        around.env_obstacle = Some(EnvObstacle::Home);
    }
    let plan = if arguments.ask {
        plan_asked(&scope, &ProcessEnvironment, &around)
    } else {
        plan(&scope, &ProcessEnvironment, &around)
    };
    let is_written = arguments.write && !plan.is_empty();
    let tested = if is_written && !arguments.trying.offline {
        let trial = Trial {
            before: &loaded,
            context,
            trust: arguments.trying.trust,
        };
        trial.of_variables(&plan.documents, moved(&plan))?
    } else {
        String::new()
    };
    let written_files = if is_written {
        migrate::apply(&loaded, &plan)?
    } else {
        Vec::new()
    };
    let report = EnvReport::of(&plan);
    let changes = report.changes();
    let exit = changes.exit();
    if arguments.format == Format::Json {
        context.print(&changes.json(), exit)?;
        return Ok(exit);
    }
    let mut text = if arguments.write {
        written(&written_files)
    } else {
        report.diff()
    };
    text.push_str(&report.exports());
    context.print(&text, exit)?;
    context.print_aside(&changes.notes(context.verbosity));
    if context.verbosity != Verbosity::Quiet {
        context.print_aside(&tested);
        context.print_aside(&report.summary(arguments.write));
    }
    Ok(exit)
}

/// Returns the servers that get a variable, and the values.
fn moved(plan: &EnvPlan) -> (BTreeSet<&str>, Variables) {
    let servers = plan.moves.iter().map(|moved| moved.server.as_str());
    let values = plan.moves.iter();
    let values = values.map(|moved| {
        let name = moved.asked_as.as_ref().unwrap_or(&moved.variable);
        (name.clone(), moved.value.expose().clone())
    });
    (servers.collect(), Variables::from_pairs(values))
}
