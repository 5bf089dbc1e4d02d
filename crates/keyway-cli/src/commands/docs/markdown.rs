//! The documents as Markdown.

use clap::{Arg, Command};
use keyway::settings::SECTIONS;
use keyway_code::Exit;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::Applicability;
use keyway_lint::RULES;

use crate::arguments::visible;
use crate::context::CommandContext;

/// Returns the reference of commands and flags.
pub(super) fn commands(context: &CommandContext) -> String {
    let mut program = (context.program)();
    program.build();
    let mut text = format!("# Command line\n\n{GENERATED}\n");
    text.push_str("Words after a command name servers of the plugin in this folder. A word with a `/` in it, one that\nends in `.json` or `.toml`, and the name of a file or folder that is not a server stand for the\nplugin, as `--config` does; `--server NAME` is always a server, `./NAME` always a path.\n\nFlags that every command takes:\n\n");
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
    format!("# Environment variables\n\n{GENERATED}\n{ENVIRONMENT}")
}

/// Returns the reference of `config.toml`.
pub(super) fn settings() -> String {
    let mut text = format!("# `config.toml`\n\n{GENERATED}\n{SETTINGS}");
    for section in SECTIONS {
        let (title, about) = (section.title, section.about);
        text.push_str(&format!("\n## `{title}`\n\n{about}\n\n"));
        text.push_str("| key | value | what it does | example |\n|---|---|---|---|\n");
        for key in section.keys {
            let (name, kind) = (key.name, cell(&key.kind.describe()));
            let (meaning, example) = (cell(key.meaning), cell(key.example));
            text.push_str(&format!(
                "| `{name}` | {kind} | {meaning} | `{example}` |\n"
            ));
        }
    }
    text
}

/// Returns the table of exit codes.
pub(super) fn exit_codes() -> String {
    let mut text = format!("# Exit codes\n\n{GENERATED}\n");
    text.push_str("| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
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
        "\n## `{name}`\n\n{}\n\n```text\n{usage}\n```\n\n{}{}",
        about.unwrap_or_default(),
        flags(&own),
        examples(&command)
    )
}

fn examples(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
    format!("\n```sh\n{}\n```\n", lines.join("\n"))
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
        // The value of these may be left out, so that a word after a blank is another argument.
        (false, Some(value)) if argument.is_require_equals_set() => format!("{names}[={value}]"),
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

/// Every variable that the program reads; a test compares it with the sources.
const ENVIRONMENT: &str = include_str!("environment.md");
const SETTINGS: &str = "\
Your own settings, which a plugin cannot change. The file is `config.toml` in
`$XDG_CONFIG_HOME/keyway` (`~/.config/keyway` if that is not set), or in `$KEYWAY_HOME/config`. A flag
overrides the environment, the environment overrides this file, and this file overrides a plugin's
entry.

The file and its folder must belong to you and be writable only by you. It is at most 1 MiB. An
unknown key or a value of the wrong type is an error: commands that connect then do nothing. Paths are
relative to the folder of the file; `~/` is your home. Do not put secrets into it.
";

/// What stands below the title of every page.
pub(super) const GENERATED: &str =
    "<!-- Made from the code by `cargo xtask docs`; do not edit. -->\n";
