//! `keyway embed`: which programs may approve entries over the control API.

use std::io::{self, IsTerminal as _};

use clap::{Args, Subcommand};
use keyway_code::Exit;
use keyway_policy::TokenStore;
use keyway_secret::{Clock as _, SystemClock, printable};
use serde_json::json;

use super::token::{checked_name, created, print_once};
use super::tools::Format;
use crate::arguments::connect::ask;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::vault::{existing_vault, open_vault, remove_from_vault};
use keyway_terminal::Table;

/// Manage which hosts may approve entries over the control API
///
/// Every process of yours may read states and begin sign-ins at the gateway's private socket. To
/// approve what an entry runs and receives, a host also needs the token that this prints.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway embed allow my-editor
  keyway embed list")]
pub(crate) struct Embed {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Allow a host to approve entries; asks on a terminal and prints its token once
    #[command(after_help = "\
Examples:
  keyway embed allow my-editor")]
    Allow {
        /// Name of the host
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the hosts that may approve entries
    #[command(after_help = "\
Examples:
  keyway embed list")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
    },
    /// Stop a host from approving entries; what it approved stays approved
    #[command(after_help = "\
Examples:
  keyway embed revoke my-editor")]
    Revoke {
        /// Name of the host
        #[arg(value_name = "NAME")]
        name: String,
    },
}

impl Embed {
    /// Says whether one JSON object is printed.
    pub(crate) const fn format(&self) -> Format {
        match self.action {
            Action::List { format } => format,
            _ => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Embed, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Allow { name } => allow(context, name),
        Action::List { format } => list(context, *format),
        Action::Revoke { name } => revoke(context, name),
    }
}

fn allow(context: &CommandContext, name: &str) -> Result<Exit, CliError> {
    checked_name(name)?;
    // There is no flag to skip the question: a program that could answer it for the person could
    // approve anything afterwards.
    if !io::stdin().is_terminal() {
        let what = "standard input is not a terminal; a person has to allow a host on one";
        return Err(CliError::Usage { what });
    }
    let shown = printable(name);
    let page = format!(
        "`{shown}` will be able to approve entries for you: which programs run and which variables \
         they get.\n"
    );
    if !ask(context, &page, "Allow this?") {
        context.print_aside("nothing was allowed\n");
        return Ok(Exit::NotTrusted);
    }
    let vault = open_vault()?;
    let store = TokenStore::of_hosts(&vault)?;
    print_once(context, &store, (name, "keyway embed revoke"), || {
        store.issue(name, None, SystemClock.wall())
    })?;
    if context.verbosity != Verbosity::Quiet {
        context.print_aside(
            "The token is shown only this once. The host sends it as `Authorization: Bearer TOKEN` \
             with `POST /v1/servers/ID/approve`.\n",
        );
    }
    Ok(Exit::Done)
}

fn list(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let all = match existing_vault()? {
        Some(vault) => TokenStore::of_hosts(&vault)?.list()?,
        None => Vec::new(),
    };
    let text = match format {
        Format::Json => {
            let hosts = all
                .iter()
                .map(|it| json!({ "name": it.name, "created_at": created(it) }));
            let hosts: Vec<_> = hosts.collect();
            let all = json!({ "schema_version": 1, "diagnostics": [], "hosts": hosts });
            format!("{all}\n")
        }
        Format::Human if all.is_empty() => "no hosts\n".to_owned(),
        Format::Human => {
            let mut table = Table::new(["NAME", "CREATED"]);
            for it in all {
                let created = created(&it).unwrap_or_else(|| "-".to_owned());
                table.push([printable(&it.name), created]);
            }
            context.render(&table)
        }
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

fn revoke(context: &CommandContext, name: &str) -> Result<Exit, CliError> {
    let texts = ("host", "keyway embed list", "revoked\n");
    remove_from_vault(context, texts, |vault| {
        Ok(TokenStore::of_hosts(vault)?.revoke(name)?)
    })
}
