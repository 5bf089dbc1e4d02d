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
            Syntax::Yaml => "YAML",
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

const CLIENTS_HEAD: &str = "\
Four commands write into the files of MCP clients. None writes a credential there: an entry of
Keyway's names a server, and the credential is supplied when the server is used.

- `keyway add [NAME] URL` or `keyway add NAME -- COMMAND` keeps a server in a plugin of your own (the
  folder `own` of Keyway's data), signs in to it, and writes it into the clients that `--client` names.
  From anywhere it is called `own:NAME`. `keyway remove NAME` takes it out everywhere.
- `keyway adopt [CLIENT]` takes over the remote servers that clients already have.
- `keyway install CLIENT [SERVER]…` writes an entry for each server of a plugin. `--together NAME`
  writes one entry for all of them.
- `keyway uninstall CLIENT [SERVER]…`, `keyway uninstall --all` and `keyway adopt --undo` take back what
  was written.

`keyway clients` lists the clients found here with their entries: which are Keyway's, which hold a
secret, which cannot work any more, and which are not used because another scope has the same name.

";

const CLIENTS_TAIL: &str = "
Keyway shows the diff and writes nothing before you agree; `--yes` is for scripts, `--dry-run` shows
the diff and writes nothing. Comments, indentation and line ends stay. A file that the client could not
read itself is refused with line and column. The previous file is saved in `clients/backups` in
Keyway's data folder, readable by its owner only.

If the text around an entry is unchanged, taking it back restores every byte; if the client has
rewritten its file, only the entry is removed or restored. An entry that was edited stays.

A name that the client already has is refused, and so is the name of another plugin's server: `--as
NAME` gives the entry another one, `--replace` replaces that entry, and `uninstall` restores it.
Clients list a server under its own name, with `-` for everything but letters, digits, `-` and `_`.
Claude Code prefers an entry of the project's `.mcp.json`, once you enabled it there, to one of the same
name in your user file; `install` warns of that.

With `--project` the entry says nothing that is only true on this machine: it starts `keyway` by
name, and names the plugin by the client's variable for the project's folder. A plugin outside of the
project is refused there.

## Taking over what clients have

`keyway adopt` looks at your user files and takes over entries with a URL, and entries that run
`mcp-remote`, `supergateway` or `mcp-proxy` as a bridge to one. Each becomes a server of your own
plugin; several entries for one URL share one server and one sign-in. Headers become variables, and so
does a credential in the URL; the values go to the vault. The client's entry keeps its name, and its
switches, limits and lists of tools. An entry with something that has no counterpart stays, and is
named.

Some clients fill in no variable at all, such as Claude Desktop, Zed and LM Studio, so a program there
can only be given a credential in plain text. `keyway adopt CLIENT --programs` also takes over the
programs whose entries hold one: the value goes to the vault, the entry becomes one of Keyway's, and
Keyway starts the program with the value.

| CLIENT | what is where | what Keyway writes |
|---|---|---|
| `claude-code` | your entry, for all projects or for one | the same entry in place |
| `claude-code` | the project's `.mcp.json` | an entry of the same name for this project in your own file; the project's file stays as it is |
| `claude-code` | a server of an installed plugin | an entry `plugin:PLUGIN:SERVER` in your own file, which Claude Code uses instead of the plugin's, with the same tool names; the plugin's files stay as they are |
| `codex` | your entry | the same entry in place; the project's entries stay, except with `--via direct` |
| all others | your entry | the same entry in place; the project's entries stay |

Claude Code remembers for a quarter of an hour that a server wanted a sign-in; Keyway takes the names
that it adopts out of that memory. That an entry named `plugin:…` replaces a plugin's server is not
documented by Claude Code, and is tested with each version.

Claude Code and Codex can run a helper for the headers of an entry. `--via` says how they reach a
server; `keyway adopt` asks once on a terminal:

| `--via` | entry | needs |
|---|---|---|
| `run` | starts `keyway run` | nothing |
| `gateway` | the gateway's URL, and `keyway headers` as helper, which prints a gateway token for that server | `keyway serve` or the service, with the folder `own` among its plugins |
| `direct` | the server's own URL, and `keyway headers --direct` as helper, which prints the access token | your consent on a terminal; see [SECURITY.md](../SECURITY.md) |

`keyway install CLIENT --mcp-remote` replaces only the entries that run a bridge.

## Removing Keyway

`keyway service uninstall` removes the service with and without a session bus. `keyway purge` shows
everything of Keyway's, then restores clients' files, removes the service, signs out of the servers of
your own plugin, and deletes vault, key, settings and backups.
";

const GENERATED: &str = "<!-- Made from the code by `cargo xtask docs`; do not edit. -->\n";
