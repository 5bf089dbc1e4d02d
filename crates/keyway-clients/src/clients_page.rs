//! The page of clients: what the table of them says, and how their files are changed.

use crate::clients::{CLIENTS, Syntax, Tolerance};

/// Returns the page; `note` says below its title where it comes from.
#[must_use]
pub fn clients_page(note: &str) -> String {
    let mut text = format!("# Clients\n\n{note}\n{CLIENTS_HEAD}");
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
            Syntax::Json(Tolerance::Commas) => "JSON with comments and trailing commas",
            Syntax::Yaml => "YAML",
            Syntax::Toml => "TOML",
        };
        text.push_str(&format!(
            "| `{name}` ([{title}]({source})) | {file} | {project} | `{key}` | {syntax} |\n"
        ));
    }
    text.push_str(CLIENTS_TAIL);
    text
}

/// Makes a text fit into one cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

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

## Tried with the programs themselves

The tests start these clients, from npm, on what `adopt` or `install` wrote. Clients that only connect
in a conversation get a stand-in for their model on loopback, with no account.

| client | version | what is seen |
|---|---|---|
| Claude Code | 2.1.326 | your entry, the project's and an installed plugin's server are connected by their own names in `claude mcp list`, none twice. One session with `--via gateway` and `--via direct` outlives three access tokens without a question. Without a browser, a session is signed in by the codes that it shows, at its start and after a sign-out in the middle |
| Codex | 0.169.0 | lists what was adopted, and calls tools in a thread of `codex app-server`, over three access tokens as above |
| Gemini CLI | 0.61.0 | connected in `gemini mcp list` |
| opencode | 1.18.33 | connected in `opencode mcp list` |
| Continue | 1.5.47 | `cn -p` calls a tool |
| Copilot CLI | 1.0.102 | in `copilot mcp list`; `copilot -p` with a model provider of its own calls a tool |
| Cline | 3.0.65 | only by hand, for its size: the command line offers its model the tool. It reads `~/.cline/data/settings/cline_mcp_settings.json`; `CLINE_MCP_SETTINGS_PATH` leads it to the extension's file, which is the one that Keyway writes |

Undoing restores every byte of each file. VS Code's own reader of JSON reads what is written for it. The
others are known by their documents and files: no registry has them as a program that starts without a
screen.

## Removing Keyway

`keyway service uninstall` removes the service with and without a session bus. `keyway purge` shows
everything of Keyway's, then restores clients' files, removes the service, signs out of the servers of
your own plugin, and deletes vault, key, settings and backups.
";
