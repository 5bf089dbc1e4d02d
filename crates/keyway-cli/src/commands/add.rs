//! `keyway add`: a server of the person's own, from nothing to signed in, and into clients.

use std::io::{self, IsTerminal as _};

use clap::Args;
use keyway::host::SignInOutcome;
use keyway::sign_in::PromptPolicy;
use keyway::{Approved, Host, Plan};
use keyway_clients::clients::{CLIENTS, Client};
use keyway_clients::install::Remote;
use keyway_clients::new_server::NewServer;
use keyway_code::Exit;
use keyway_secret::printable;

use super::client_entry::{self, Via};
use super::client_files::{data_folder, machine};
use super::confirmation::{ask, lines};
use super::login::sign_in_if_needed;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::hidden;
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::waiting::{signing_in, waiting_for};

/// Add a server of your own, sign in to it, and add it to MCP clients
///
/// The entry is kept in a plugin of your own. Its servers are called `own:NAME` from anywhere.
#[derive(Debug, Args)]
#[command(mut_arg("config", hidden))]
#[command(after_help = "\
Examples:
  keyway add https://mcp.example.com/mcp
  keyway add docs https://mcp.example.com/mcp --client claude-code
  keyway add search https://api.example.com/mcp --header X-API-Key
  keyway add time -- uvx mcp-server-time")]
pub(crate) struct Add {
    /// Name and URL; the name is taken from the URL or the command if it is left out
    #[arg(value_name = "NAME|URL", num_args = 0..=2)]
    words: Vec<String>,
    /// Command to start instead of a URL
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Send this header, whose value is asked for or read from standard input
    #[arg(long, value_name = "NAME")]
    header: Option<String>,
    /// Add it to this client too, or to `all` found here [default: asks on a terminal]
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    /// How clients with a `headersHelper` reach the server [default: run]
    #[arg(long, value_enum, value_name = "WAY")]
    via: Option<Via>,
    /// Do not sign in now
    #[arg(long)]
    no_login: bool,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(arguments: &Add, context: &CommandContext) -> Result<Exit, CliError> {
    let mut wanted = arguments.wanted()?;
    if arguments.reach.config.is_some() {
        return Err(CliError::Usage {
            what: "`keyway add` adds to your own plugin, so `--config` does not apply; edit that plugin's `.mcp.json` instead",
        });
    }
    if arguments.via == Some(Via::Direct) {
        return Err(CliError::Usage {
            what: "`--via direct` does not apply to a new server; add it, then run `keyway headers NAME --direct`",
        });
    }
    let clients = arguments.chosen_clients(context)?;
    let own = own_plugin::folder()?;
    if let Some(header) = arguments
        .header
        .as_ref()
        .filter(|_| wanted.remote().is_some())
    {
        let value = super::env::read_value(header)?.ok_or(CliError::Usage {
            what: "the header needs a value",
        })?;
        wanted = wanted.with_header(header, value);
    }
    wanted.add(&own, super::env::keep_all)?;
    let server = wanted.name();
    context.print_aside(&format!("added `own:{}`\n", printable(server)));
    let via = arguments.via.filter(|_| wanted.remote().is_some());
    let remote = wanted.remote().cloned();
    let remote = remote.unwrap_or_else(|| Remote::new("", "stdio"));
    let machine = machine()?;
    let files = clients.iter().map(|it| (*it, (it.user)(&machine.homes)));
    let files: Vec<_> = files.collect();
    let via = via.unwrap_or(Via::Run).into();
    let entries = client_entry::own_entries()?;
    let written = entries.install(&files, server, (via, &remote), &data_folder()?)?;
    context.print(&lines("wrote", &written), Exit::Done)?;
    for client in &clients {
        for shadowed in machine.shadowed(client, &[server]) {
            context.print_aside(&format!("warning: {shadowed}\n"));
        }
        if context.verbosity != Verbosity::Quiet {
            context.print_aside(&format!("{}: {}\n", client.title, client.afterwards));
        }
    }
    arguments.sign_in(context, server)
}

impl Add {
    fn wanted(&self) -> Result<NewServer, CliError> {
        let usage = |what| Err(CliError::Usage { what });
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if !self.command.is_empty() {
            let name = match words.as_slice() {
                [] => None,
                [name] if NewServer::address(name).is_none() => Some(*name),
                _ => return usage("give a URL, or a command after `--`, not both"),
            };
            let program = NewServer::program(name, &self.command);
            return program.map_or_else(|| usage(NEITHER), Ok);
        }
        let (name, url, what) = match words.as_slice() {
            [url] => (None, NewServer::address(url), NEITHER),
            [name, url] => {
                let what = "the second argument is the server's URL";
                (Some(*name), NewServer::address(url), what)
            }
            _ => (None, None, NEITHER),
        };
        url.map_or_else(|| usage(what), |url| Ok(NewServer::at(name, &url)))
    }

    /// Returns the clients to write to: those that are named, or that a person at a terminal picks.
    fn chosen_clients(&self, context: &CommandContext) -> Result<Vec<&'static Client>, CliError> {
        let here = || -> Result<Vec<&'static Client>, CliError> {
            let found = machine()?.survey().into_iter().filter(|it| it.is_here);
            Ok(found.map(|it| it.client).collect())
        };
        if self.clients.iter().any(|name| name == "all") {
            return here();
        }
        if self.clients.is_empty() {
            if !io::stdin().is_terminal() || self.header.is_some() {
                return Ok(Vec::new());
            }
            let mut chosen = here()?;
            chosen.retain(|client| ask(context, &format!("Add it to {}?", client.title)));
            return Ok(chosen);
        }
        let mut chosen = Vec::new();
        for name in &self.clients {
            let client = CLIENTS.iter().find(|client| client.name == *name);
            chosen.push(*client.ok_or(CliError::Usage {
                what: "no such client; `keyway clients` lists those found here",
            })?);
        }
        Ok(chosen)
    }

    /// Approves what the person typed, and signs in where that is asked for.
    fn sign_in(&self, context: &CommandContext, server: &str) -> Result<Exit, CliError> {
        super::block_on(async {
            let policy = SignInPolicy {
                insists: true,
                ..SignInPolicy::waiting(PromptPolicy::WhenNeeded)
            };
            let host = self.reach.host(context, policy)?;
            let approved = approve(&host, server)?;
            if self.no_login || approved.oauth().is_none() {
                return Ok(Exit::Done);
            }
            let name = printable(server);
            let signing = sign_in_if_needed(&approved, None);
            match waiting_for(context, signing_in(server), None, signing).await {
                Ok(SignInOutcome::Unneeded) => {
                    context.print_aside("no sign-in is needed\n");
                    Ok(Exit::Done)
                }
                Ok(_) => {
                    context.print_aside(&format!("signed in to `own:{name}`\n"));
                    Ok(Exit::Done)
                }
                Err(error) => {
                    let next = match error.exit() {
                        Exit::Network => "the server is added but did not answer; check its URL",
                        _ => "the server is added but you are not signed in",
                    };
                    context.print_aside(&format!(
                        "{next}\n  \
                         sign in: keyway login own:{name}\n  \
                         remove it: keyway remove {name}\n  \
                         if it takes an API key, remove it, then: keyway add {name} URL --header NAME\n"
                    ));
                    Err(error.into())
                }
            }
        })
    }
}

/// Approves a server that the person has just typed.
fn approve(host: &Host, server: &str) -> Result<Approved<Plan>, CliError> {
    let plugin = own_plugin::load(host)?;
    let plan = plugin.plan(server)?;
    if let Some(question) = plan.question() {
        host.dangerous_store_approval(question)?;
    }
    Ok(plugin.plan(server)?.approved_before()?)
}

const NEITHER: &str = "give the server's URL, or its command after `--`";
