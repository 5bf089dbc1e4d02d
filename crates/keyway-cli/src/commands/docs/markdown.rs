//! The documents as Markdown.

use clap::{Arg, Command, CommandFactory as _};
use keyway_config::diagnostic::Severity;
use keyway_config::edit::Applicability;
use keyway_config::lint::RULES;

use crate::arguments::{Arguments, visible};
use crate::environment::DOCUMENTED;
use crate::exit;

/// Returns the reference of commands and flags.
pub(super) fn commands() -> String {
    let mut program = Arguments::command();
    program.build();
    let mut text = format!("# Command line\n\n{GENERATED}\n");
    text.push_str("Flags that every command takes:\n\n");
    let (global, _): (Vec<&Arg>, Vec<&Arg>) =
        program.get_arguments().partition(|arg| arg.is_global_set());
    text.push_str(&flags(&global));
    for command in visible(&program) {
        text.push_str(&section(command));
    }
    text
}

/// Returns the table of rules.
pub(super) fn rules() -> String {
    let mut text = format!("# Rules\n\n{GENERATED}\n");
    text.push_str("| rule | severity | under `--strict` | fix | what it looks for |\n");
    text.push_str("|---|---|---|---|---|\n");
    for rule in RULES {
        let fix = match rule.fix {
            Some(Applicability::Safe) => "safe",
            Some(Applicability::Unsafe) => "unsafe",
            _ => "–",
        };
        let strict = match rule.strict == rule.severity {
            true => "–",
            false => Severity::as_str(rule.strict),
        };
        let (id, severity, summary) = (rule.id, rule.severity, cell(rule.summary));
        text.push_str(&format!(
            "| [`{id}`](rules/{id}.md) | {severity} | {strict} | {fix} | {summary} |\n"
        ));
    }
    text
}

/// Returns the table of environment variables.
pub(super) fn environment() -> String {
    let mut text = format!("# Environment variables\n\n{GENERATED}\n");
    text.push_str("| variable | what it does |\n|---|---|\n");
    for variable in DOCUMENTED {
        let (name, meaning) = (variable.name, cell(variable.meaning));
        text.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    text.push_str("\nVariables that entries name are read by `keyway status`, by `keyway check --env`, and by\n`keyway migrate env`, which asks whether one is set to a literal's value.\n");
    text
}

/// Returns the table of exit codes.
pub(super) fn exit_codes() -> String {
    let mut text = format!("# Exit codes\n\n{GENERATED}\n");
    text.push_str("| code | meaning |\n|---|---|\n");
    for exit in exit::ALL {
        text.push_str(&format!("| {} | {} |\n", exit.code(), cell(exit.meaning())));
    }
    text
}

fn section(command: &Command) -> String {
    let mut command = command.clone();
    let name = command.get_bin_name().unwrap_or_default().to_owned();
    let about = command.get_about().map(ToString::to_string);
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && !arg.is_hide_set())
        .filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
        .collect();
    format!(
        "\n## `{name}`\n\n{}\n\n```text\n{usage}\n```\n\n{}",
        about.unwrap_or_default(),
        flags(&own)
    )
}

fn flags(arguments: &[&Arg]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let mut text = "| flag | what it does |\n|---|---|\n".to_owned();
    for argument in arguments {
        let help = argument.get_help().map(ToString::to_string);
        let help = cell(&help.unwrap_or_default());
        let values = values(argument);
        text.push_str(&format!("| `{}` | {help}{values} |\n", spelling(argument)));
    }
    text
}

fn spelling(argument: &Arg) -> String {
    let value = argument
        .get_value_names()
        .filter(|_| argument.get_action().takes_values())
        .map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
        .map(|names| names.join(" "));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let short = argument.get_short().map(|short| format!("-{short}"));
    let names: Vec<String> = [short, long].into_iter().flatten().collect();
    let names = names.join(", ");
    match (names.is_empty(), value) {
        (true, value) => value.unwrap_or_default(),
        (false, Some(value)) => format!("{names} {value}"),
        (false, None) => names,
    }
}

fn values(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return String::new();
    }
    let values = argument.get_possible_values();
    let names: Vec<String> = values
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let default = argument.get_default_values().first();
    let default = default.map(|default| format!("; default `{}`", default.to_string_lossy()));
    format!(" ({}{})", names.join(", "), default.unwrap_or_default())
}

/// Makes a text fit into one cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

const GENERATED: &str = "<!-- Made from the code by `cargo xtask docs`; do not edit. -->\n";
