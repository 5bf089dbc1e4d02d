//! `keyway migrate env`: literal credentials become variables; no value is lost, none is printed.

use std::collections::BTreeSet;

use clap::Args;
use keyway_check::changes::Changes;
use keyway_check::diff::{TextKind, render_added};
use keyway_check::migrate;
use keyway_code::Exit;
use keyway_config::edit::TextChange;
use keyway_config::environment::Variables;
use keyway_lint::migrate::env::{EnvPlan, plan, plan_asked};
use keyway_lint::migrate::{EnvObstacle, Selection};

use super::trial::{Trial, Trying};
use super::{Target, diff, require_server, written};
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Format;
use crate::report::Verbosity;
use crate::report::counted;

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
    let changes = changes(&plan);
    let exit = changes.exit();
    if arguments.format == Format::Json {
        context.print(&changes.json(), exit)?;
        return Ok(exit);
    }
    let mut text = if arguments.write {
        written(&written_files)
    } else {
        shown(&plan)
    };
    text.push_str(&exports(&plan));
    context.print(&text, exit)?;
    context.print_aside(&changes.notes(context.verbosity));
    if context.verbosity != Verbosity::Quiet {
        context.print_aside(&tested);
        context.print_aside(&summary(&plan, arguments.write));
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

fn changes(plan: &EnvPlan) -> Changes<'_> {
    let mut changes = Changes::new(plan.diagnostics.clone()).files(&plan.ignore);
    let env = plan.env.as_ref().filter(|env| !env.added.is_empty());
    if let Some(env) = env {
        changes = changes.file(&env.file, env.before.is_some());
    }
    changes = changes.files(&plan.example).files(&plan.readme);
    changes = changes.files(&plan.documents);
    for moved in &plan.moves {
        changes = changes.variable(&moved.variable, &moved.server, &moved.pointer);
    }
    changes
}

/// Shows every file in the order in which it would be written.
fn shown(plan: &EnvPlan) -> String {
    let mut text = String::new();
    if let Some(change) = &plan.ignore {
        text.push_str(&added(change));
    }
    if let Some(env) = plan.env.as_ref().filter(|env| !env.added.is_empty()) {
        let lines = env.added.iter().map(|name| format!("{name}=…"));
        let lines: Vec<String> = lines.collect();
        text.push_str(&render_added(&env.file, env.before.is_some(), &lines));
    }
    if let Some(change) = &plan.example {
        text.push_str(&added(change));
    }
    if let Some(change) = &plan.readme {
        text.push_str(&diff(change, TextKind::Prose));
    }
    for change in &plan.documents {
        text.push_str(&diff(change, TextKind::Document));
    }
    text
}

/// Shows the lines behind the end of a file.
fn added(change: &TextChange) -> String {
    let before = change.before.as_deref().unwrap_or_default();
    let added = change.after.get(before.len()..).unwrap_or_default();
    let lines = added.lines().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    render_added(&change.file, change.before.is_some(), &lines)
}

/// Says what a person has to do so that the host gets the values.
fn exports(plan: &EnvPlan) -> String {
    let mut lines = String::new();
    for name in plan.variables() {
        let mut moves = plan.moves.iter();
        let is_set = moves.any(|moved| moved.variable == name && moved.asked_as.is_none());
        if is_set {
            lines.push_str(&format!("export {name}=…\n"));
        }
    }
    if !lines.is_empty() {
        lines = format!("\nto be set in the shell that starts the client:\n\n{lines}");
    }
    let mut asked: Vec<&str> = Vec::new();
    for moved in plan.moves.iter().filter(|moved| moved.asked_as.is_some()) {
        if !asked.contains(&moved.variable.as_str()) {
            asked.push(&moved.variable);
        }
    }
    if !asked.is_empty() {
        let names = asked.join(", ");
        lines.push_str(&format!("\nthe host asks for these from now on: {names}\n"));
    }
    lines
}

fn summary(plan: &EnvPlan, is_written: bool) -> String {
    if plan.is_empty() {
        let is_clean = plan.diagnostics.is_empty();
        let text = if is_clean {
            "nothing to do\n"
        } else {
            "nothing was moved\n"
        };
        return text.to_owned();
    }
    let literals = counted(plan.moves.len(), "literal");
    let variables = counted(plan.variables().len(), "variable");
    if !is_written {
        return format!("would move {literals} to {variables}; `--write` does it\n");
    }
    let mut text = format!("moved {literals} to {variables}\n");
    let is_read_from_shell = plan.moves.iter().any(|moved| moved.asked_as.is_none());
    if let Some(env) = plan.env.as_ref().filter(|_| is_read_from_shell) {
        let file = if env.file.starts_with('/') {
            env.file.to_string()
        } else {
            format!("./{}", env.file)
        };
        text.push_str(&format!(
            "`set -a; . {file}; set +a` loads the values into the shell\n"
        ));
    }
    text
}
