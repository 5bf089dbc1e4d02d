//! `keyway token`: what clients show to the gateway.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use keyway::events::rfc3339;
use keyway::{Error, Plugin};
use keyway_code::Exit;
use keyway_config::names::{of_path_segment, server_id};
use keyway_policy::{
    GatewayToken, IssueError, TokenScope, TokenStore, TokenUses, is_token_name, token_usage,
};
use keyway_secret::{Clock as _, Secret, SystemClock, printable, shell_word};
use serde_json::json;

use super::tools::Format;
use crate::arguments::connect::{reading_host, server_name};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::vault::{existing_vault, folders, open_vault, remove_from_vault};
use keyway_terminal::Table;

/// Manage the gateway tokens that let clients in
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway token new --name claude-code
  keyway token list")]
pub(crate) struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a gateway token; it is printed once and cannot be shown again
    #[command(after_help = "\
Examples:
  keyway token new --name claude-code
  keyway token new --name ci --server wiki:docs
  keyway token new --name nightly --server wiki:docs --account bot")]
    New {
        /// Name of the client that will use it
        #[arg(long, value_name = "NAME")]
        name: String,
        /// Limit the token to this server: a server of the plugin in this folder, `PLUGIN:SERVER`,
        /// or `PLUGIN:*` for a whole plugin; repeatable
        #[arg(long = "server", value_name = "SERVER")]
        servers: Vec<String>,
        /// Make a service account: the token uses the sign-in of this account, as given to
        /// `keyway login --account`, and never asks a person; needs one SERVER
        #[arg(long, value_name = "ACCOUNT", requires = "servers")]
        account: Option<String>,
        /// Plugin folder or file that declares SERVER
        #[arg(long, value_name = "PATH")]
        config: Option<PathBuf>,
    },
    /// List gateway tokens
    #[command(after_help = "\
Examples:
  keyway token list")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
    },
    /// Revoke a gateway token and close its sessions
    #[command(after_help = "\
Examples:
  keyway token revoke ci")]
    Revoke {
        /// Name of the token
        #[arg(value_name = "NAME")]
        name: String,
    },
}

impl Token {
    /// Says whether one JSON object is printed.
    pub(crate) const fn format(&self) -> Format {
        match self.action {
            Action::List { format } => format,
            _ => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Token, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::New {
            name,
            servers,
            account,
            config,
        } => make(
            context,
            (name, account.as_deref()),
            servers,
            config.as_deref(),
        ),
        Action::List { format } => list(context, *format),
        Action::Revoke { name } => revoke(context, name),
    }
}

fn make(
    context: &CommandContext,
    (name, account): (&str, Option<&str>),
    servers: &[String],
    config: Option<&Path>,
) -> Result<Exit, CliError> {
    checked_name(name)?;
    let scopes: Result<Vec<TokenScope>, CliError> =
        servers.iter().map(|name| scope(name, config)).collect();
    let scopes = Some(scopes?).filter(|scopes| !scopes.is_empty());
    let scopes_given = scopes.clone();
    let service = account.map(|account| service(scopes.as_deref(), account));
    let service = service.transpose()?;
    let vault = open_vault()?;
    let store = TokenStore::new(&vault)?;
    print_once(context, &store, (name, "keyway token revoke"), || {
        let now = SystemClock.wall();
        let token = match service {
            Some((server, account)) => store.issue_service(name, server, account, now)?,
            None => store.issue(name, scopes.clone(), now)?,
        };
        for note in servers.iter().filter_map(|name| absence(name, config)) {
            if context.verbosity != Verbosity::Quiet {
                context.print_aside(&format!("note: {note}\n"));
            }
        }
        Ok(token)
    })?;
    if context.verbosity != Verbosity::Quiet {
        context.print_aside(&token_usage(name, scopes_given.as_deref()));
    }
    Ok(Exit::Done)
}

/// Returns the server and the account of a service account, which has one of each.
fn service<'a>(
    scopes: Option<&'a [TokenScope]>,
    account: &'a str,
) -> Result<((&'a str, &'a str), &'a str), CliError> {
    match scopes {
        Some([only]) if !account.is_empty() => only.only_server().map(|server| (server, account)),
        _ => None,
    }
    .ok_or(CliError::Usage {
        what: "a token with `--account` is for one server: `--server PLUGIN:SERVER`, once",
    })
}

/// Refuses a name that cannot be told apart in a table or typed.
pub(super) fn checked_name(name: &str) -> Result<(), CliError> {
    if !is_token_name(name) {
        return Err(CliError::Usage {
            what: "a name has at most 64 characters and no spaces",
        });
    }
    Ok(())
}

/// Issues a token and prints it; one that could not be printed is revoked again, as the command
/// `revoke` does.
pub(super) fn print_once(
    context: &CommandContext,
    store: &TokenStore<'_>,
    (name, revoke): (&str, &str),
    issue: impl FnOnce() -> Result<Secret<String>, IssueError>,
) -> Result<(), CliError> {
    refuse_null_device()?;
    let token = issue()?;
    // A token that was never shown would be valid and unusable.
    if let Err(unseen) = context.print(&format!("{}\n", token.expose()), Exit::Failed) {
        let outcome = match store.revoke(name) {
            Ok(_) => "so it was revoked".to_owned(),
            Err(error) => {
                let name = shell_word(name);
                format!("and could not be revoked ({error}): `{revoke} {name}`")
            }
        };
        context.print_aside(&format!("the token could not be printed, {outcome}\n"));
        return Err(unseen);
    }
    Ok(())
}

/// Refuses to print where nothing is kept: standard output that is closed, or the null device.
///
/// The runtime opens the null device in place of a closed output, so both look alike.
fn refuse_null_device() -> Result<(), CliError> {
    let device = |file: io::Result<File>| -> Option<u64> {
        let metadata = file.ok()?.metadata().ok()?;
        metadata
            .file_type()
            .is_char_device()
            .then(|| metadata.rdev())
    };
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    match (device(output), device(File::open("/dev/null"))) {
        (Some(output), Some(null)) if output == null => Err(CliError::Output {
            source: io::Error::other("standard output is closed or the null device"),
        }),
        _ => Ok(()),
    }
}

/// Returns the plugin and the name of one server, as `scope` reads it.
pub(super) fn server_scope(
    name: &str,
    config: Option<&Path>,
) -> Result<(String, String), CliError> {
    let scope = scope(name, config)?;
    let only = scope.only_server().ok_or(CliError::Usage {
        what: "name one server: `PLUGIN:SERVER`",
    })?;
    Ok((only.0.to_owned(), only.1.to_owned()))
}

/// Reads what a token opens; a bare name is that of the plugin where the person stands.
fn scope(name: &str, config: Option<&Path>) -> Result<TokenScope, CliError> {
    let is_address = name.contains("://");
    if let Some(scope) = TokenScope::read(name).filter(|_| !is_address) {
        return Ok(scope);
    }
    let found = load(config).and_then(|plugin| {
        let server = server_name(&plugin, Some(name))?;
        Ok(TokenScope::server(&plugin.name(), &server))
    });
    found.map_err(|error| match (error, of_path(name)) {
        (CliError::Host(Error::Load(_) | Error::UnknownServer { .. }), Some(near)) => {
            let name = printable(name);
            let near = Some(near);
            Error::UnknownServer { name, near }.into()
        }
        (error, _) => error,
    })
}

fn load(config: Option<&Path>) -> Result<Plugin, CliError> {
    let host = reading_host()?;
    Ok(match config {
        Some(path) => host.load(path)?,
        None => host.discover(".")?,
    })
}

/// Returns the server that the path of an endpoint ends with, as a token names it.
fn of_path(path: &str) -> Option<String> {
    let (before, server) = path.trim_end_matches('/').rsplit_once('/')?;
    let plugin = before.rsplit('/').next()?;
    let scope = server_id(&of_path_segment(plugin)?, &of_path_segment(server)?);
    TokenScope::read(&scope).map(|scope| printable(&scope.to_string()))
}

/// Says that a server is not there now, as far as the plugin where the person stands tells. It may
/// come later, so this is not an error.
fn absence(name: &str, config: Option<&Path>) -> Option<String> {
    let (plugin, server) = name.split_once(':')?;
    let there = load(config).ok()?;
    let here = there.name();
    let name = printable(name);
    if here != plugin {
        return Some(format!(
            "the plugin here is `{}`; it was not checked whether there is a `{name}`",
            printable(&here)
        ));
    }
    let is_there = server == "*" || there.entry(Some(server)).is_ok();
    (!is_there).then(|| format!("there is no `{name}` yet; the token will open it once there is"))
}

fn list(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let all = match existing_vault()? {
        Some(vault) => TokenStore::new(&vault)?.list()?,
        None => Vec::new(),
    };
    let uses = TokenUses::read(&folders()?.data);
    let words = |scopes: &[TokenScope]| -> Vec<String> {
        scopes.iter().map(TokenScope::to_string).collect()
    };
    let text = match format {
        Format::Json => {
            let object = |it: &GatewayToken| {
                let servers = it.servers.as_deref().map(words);
                json!({
                    "name": it.name,
                    "servers": servers,
                    "account": it.account(),
                    "created_at": created(it),
                    "last_used_at": uses.last(it).and_then(shown_time),
                })
            };
            let tokens: Vec<_> = all.iter().map(object).collect();
            let all = json!({ "schema_version": 1, "diagnostics": [], "tokens": tokens });
            format!("{all}\n")
        }
        Format::Human if all.is_empty() => "no tokens\n".to_owned(),
        Format::Human => {
            let mut table = Table::new(["NAME", "CREATED", "LAST USED", "SERVERS"]);
            for it in all {
                let servers = it.servers.as_deref().map(words);
                let mut servers = servers.map_or_else(|| "all".to_owned(), |it| it.join(", "));
                if let Some(account) = it.account() {
                    servers.push_str(&format!(" as {account}"));
                }
                let created = created(&it).unwrap_or_else(|| "-".to_owned());
                let used = uses.last(&it).and_then(shown_time);
                let used = used.unwrap_or_else(|| "never".to_owned());
                table.push([printable(&it.name), created, used, printable(&servers)]);
            }
            context.render(&table)
        }
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

/// Returns when a token was made; earlier versions did not record it.
pub(super) fn created(token: &GatewayToken) -> Option<String> {
    shown_time(token.created_at()?)
}

fn shown_time(at: SystemTime) -> Option<String> {
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    Some(rfc3339(i64::try_from(since.as_secs()).ok()?))
}

fn revoke(context: &CommandContext, name: &str) -> Result<Exit, CliError> {
    let texts = ("token", "keyway token list", "revoked\n");
    remove_from_vault(context, texts, |vault| {
        Ok(TokenStore::new(vault)?.revoke(name)?)
    })
}
