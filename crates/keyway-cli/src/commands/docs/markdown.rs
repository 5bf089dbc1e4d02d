//! The documents as Markdown.

use clap::{Arg, Command};
use keyway::settings::SECTIONS;
use keyway_clients::clients::{CLIENTS, Syntax, Tolerance};
use keyway_code::Exit;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::Applicability;
use keyway_lint::RULES;

use crate::arguments::visible;
use crate::context::CommandContext;
use crate::environment::DOCUMENTED;

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

/// Returns the table of clients that `keyway install` knows.
pub(super) fn clients() -> String {
    let mut text = format!("# Clients\n\n{GENERATED}\n{CLIENTS_HEAD}");
    text.push_str("| CLIENT | file | with `--project` | key | syntax |\n|---|---|---|---|---|\n");
    for client in CLIENTS {
        let (name, title, source) = (client.name, client.title, client.source);
        let (file, key) = (cell(client.user_in_words), client.key);
        let project = client
            .project
            .map_or("–".to_owned(), |file| format!("`{file}`"));
        let syntax = match client.syntax {
            Syntax::Json(Tolerance::Strict) => "JSON",
            Syntax::Json(Tolerance::Comments) => "JSON with comments",
            Syntax::Json(_) => "JSON with comments and trailing commas",
            _ => "TOML",
        };
        text.push_str(&format!(
            "| `{name}` ([{title}]({source})) | {file} | {project} | `{key}` | {syntax} |\n"
        ));
    }
    text.push_str(CLIENTS_TAIL);
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

const SETTINGS: &str = "\
Your own settings, which a plugin cannot change. The file is `config.toml` in
`$XDG_CONFIG_HOME/keyway` (`~/.config/keyway` if that is not set), or in `$KEYWAY_HOME/config`. A flag
overrides the environment, the environment overrides this file, and this file overrides a plugin's
entry.

The file and its folder must belong to you and be writable only by you. It is at most 1 MiB. An
unknown key or a value of the wrong type is an error: commands that connect then do nothing. Paths are
relative to the folder of the file; `~/` is your home. Do not put secrets into it.
";

const CLIENTS_HEAD: &str = "\
`keyway install CLIENT [SERVER]…` writes an entry for each server of a plugin into the file of an MCP
client. The entry starts `keyway run --server NAME --config PLUGIN` with the absolute path of the
program: Keyway decides at run time which credential a server gets, and none is ever in a client's
file.

";

const CLIENTS_TAIL: &str = "
Keyway shows the diff and writes nothing before you agree; `--yes` is for scripts, `--dry-run` shows
the diff and writes nothing. Comments, indentation and line ends stay. A file that the client could not
read itself is refused with line and column. The previous file is saved in `clients/backups` in
Keyway's data folder, readable by its owner only.

`keyway uninstall CLIENT [SERVER]…` removes what was written. If the text around an entry is unchanged,
the bytes are as before; if the client has rewritten its file, only the entry is removed. An entry that
was edited stays.

A name that the client already has is refused; `--replace` replaces that entry, and `uninstall`
restores it. Clients list a server under its own name, with `-` for everything but letters, digits, `-`
and `_`.

A client reads an entry of its project's own `.mcp.json` before that of the user's file: in a project
that declares the server itself, Claude Code uses the project's entry, and not Keyway's.

## Replacing `mcp-remote`

`keyway install CLIENT --mcp-remote` replaces the entries that run `mcp-remote`, whatever starts it;
without the flag Keyway lists them, or asks on a terminal. The URL becomes an entry in the `.mcp.json`
of the plugin at `--config`, or of the folder `adopted` in Keyway's data folder. Every `--header`
becomes a variable, and so does a credential in the URL, including every parameter that is named like
one. The name of each variable begins with the server's name, because a variable of the shell overrides
the file. The values go to a private, ignored `.env` beside the entry, which the client's entry names
with `--env-file`; in `adopted` every command reads it. Approve the server once with
`keyway trust grant` if it is sent a variable, and get new tokens from the issuer: the old ones were
written down, and the backup still has them. `keyway uninstall` restores the old entry, and leaves the
plugin folder as it is.

An entry with an option that has no counterpart stays, and is named: `--ignore-tool`, `--resource`,
`--static-oauth-client-info` and `--static-oauth-client-metadata`.
";

const GENERATED: &str = "<!-- Made from the code by `cargo xtask docs`; do not edit. -->\n";
