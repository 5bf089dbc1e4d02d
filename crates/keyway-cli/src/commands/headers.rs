//! `keyway headers`: what a client's `headersHelper` prints, so that the client keeps its own entry.
//!
//! Two kinds. By default a token for the gateway, good for one server: the entry's address is the
//! gateway's, and no token of the server leaves Keyway. With `--direct` the access token of the
//! server itself, where the person switched that on.
//!
//! A client gives a helper ten seconds and no terminal. Without a credential it gets an
//! `Authorization` that is refused: of a failure it would conclude that it has to sign in itself.

use std::io::{self, IsTerminal as _};

use clap::Args;
use keyway::hand_outs::{HandOutError, HandOuts};
use keyway::vault::Vault;
use keyway_code::Exit;
use keyway_gateway::address::{self, DEFAULT_PORT};
use keyway_policy::{TokenScope, TokenStore};
use keyway_secret::{Clock as _, Secret, SystemClock, printable};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use url::Url;

use super::confirmation::ask;
use crate::arguments::connect::{ConnectArgs, SignInPolicy, server_name};
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::timeouts::HEADERS_TIMEOUT;
use crate::vault::{folders, open_vault, unasked_sources};

/// Print headers for a client's `headersHelper`
///
/// By default the headers are for the gateway's address of that server. Servers are named
/// `PLUGIN:SERVER`, or by SERVER for the plugin in this folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway headers own:docs
  keyway headers docs --config ~/plugins/wiki
  keyway headers https://mcp.example.com/mcp --direct")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Headers {
    #[command(flatten)]
    server: ServerArg,
    /// Print the server's access token, for the server's own URL; asks once on a terminal
    #[arg(long)]
    direct: bool,
    /// Stop handing out the server's access token
    #[arg(long, conflicts_with_all = ["direct", "renew"])]
    no_direct: bool,
    /// Replace the gateway token; needed after `keyway token revoke`
    #[arg(long, conflicts_with = "direct")]
    renew: bool,
    /// Fail if there is no credential, instead of printing one that servers refuse
    #[arg(long)]
    fail: bool,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(arguments: &Headers, context: &CommandContext) -> Result<Exit, CliError> {
    if arguments.no_direct {
        return arguments.withdraw(context);
    }
    let found = refuse_own_programs().and_then(|()| {
        if arguments.direct {
            arguments.of_server(context)
        } else {
            arguments.of_gateway()
        }
    });
    let headers = match found {
        Ok(headers) => headers,
        Err(error) if arguments.fail || io::stdout().is_terminal() => return Err(error),
        Err(error) => {
            context.print_failure(&error);
            Secret::new(json!({ "Authorization": REFUSED }).to_string())
        }
    };
    context.print(&format!("{}\n", headers.expose()), Exit::Done)?;
    Ok(Exit::Done)
}

impl Headers {
    /// Returns a token for the gateway. Neither the network nor, with `PLUGIN:SERVER`, a file of the
    /// plugin is looked at: a client waits.
    fn of_gateway(&self) -> Result<Secret<String>, CliError> {
        let (plugin, server) = match self.server.qualified() {
            Some((plugin, server)) => (plugin.to_owned(), server.to_owned()),
            None => {
                let host = crate::arguments::connect::reading_host()?;
                let (plugin, server) = self.server.load(&host, &self.reach)?;
                let server = server_name(&plugin, server.as_deref())?;
                (plugin.name(), server)
            }
        };
        if let Some(url) = ProcessEnvironment::text(CLIENT_URL) {
            let port = address::read(&folders()?.data).unwrap_or(DEFAULT_PORT);
            if !address::is_route(&url, port, &plugin, &server) {
                let at = address::route(port, &plugin, &server);
                return Err(CliError::NotTheGateway { server, at });
            }
        }
        let vault = Vault::open(&folders()?, unasked_sources()?)?;
        let store = TokenStore::new(&vault)?;
        let scope = TokenScope::server(&plugin, &server);
        let token = store.for_helper(&scope, self.renew, SystemClock.wall())?;
        let token = token.ok_or(CliError::HelperTokenRevoked {
            scope: scope.to_string(),
        })?;
        Ok(object([(
            "Authorization",
            format!("Bearer {}", token.expose()),
        )]))
    }

    /// Returns the credential of the server itself.
    fn of_server(&self, context: &CommandContext) -> Result<Secret<String>, CliError> {
        let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal();
        let origin = ProcessEnvironment::text(CLIENT_URL);
        let origin = origin.map(|url| match Url::parse(&url) {
            Ok(url) => url.origin().ascii_serialization(),
            // Not an address that the server could have.
            Err(_) => String::new(),
        });
        super::block_on(async {
            let host = self.reach.host(context, SignInPolicy::NEVER)?;
            let host = host.without_approval_prompt();
            let (plugin, server) = self.server.load(&host, &self.reach)?;
            let server = server_name(&plugin, server.as_deref())?;
            let approved = plugin.plan(&server)?.approved_before()?;
            let vault = if is_asked {
                open_vault()?
            } else {
                Vault::open(&folders()?, unasked_sources()?)?
            };
            let outs = HandOuts::new(&vault)?;
            if is_asked && !outs.is_allowed(&approved)? {
                context.print_aside(&format!("{WHAT_DIRECT_MEANS}\n"));
                let question = format!("Hand out the access token of `{}`?", printable(&server));
                if ask(context, &question) {
                    outs.dangerous_allow(&approved, SystemClock.wall())?;
                }
            }
            let headers =
                timeout(HEADERS_TIMEOUT, outs.headers(&approved, origin.as_deref())).await;
            let headers = headers.map_err(|_| CliError::Late { server })??;
            let pairs = headers.iter().map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str(), value)
            });
            Ok(object(pairs))
        })
    }

    fn withdraw(&self, context: &CommandContext) -> Result<Exit, CliError> {
        let host = crate::arguments::connect::reading_host()?;
        let (plugin, server) = match self.server.qualified() {
            Some((plugin, server)) => (plugin.to_owned(), server.to_owned()),
            None => {
                let (plugin, server) = self.server.load(&host, &self.reach)?;
                let server = server_name(&plugin, server.as_deref())?;
                (plugin.name(), server)
            }
        };
        let vault = open_vault()?;
        if !HandOuts::new(&vault)?.withdraw(&plugin, &server)? {
            return Err(CliError::Absent {
                what: "permission",
                list: "keyway status",
            });
        }
        context.print_aside("the access token is no longer handed out\n");
        Ok(Exit::Done)
    }
}

/// Refuses programs that Keyway started: what they may have, they were given.
fn refuse_own_programs() -> Result<(), CliError> {
    #[cfg(target_os = "linux")]
    if keyway::connect::is_started_by_keyway() {
        return Err(CliError::Usage {
            what: "a program that Keyway started gets no credential this way",
        });
    }
    Ok(())
}

fn object<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Secret<String> {
    let members = pairs
        .into_iter()
        .map(|(name, value)| (canonical(name), Value::String(value)));
    let members: Map<String, Value> = members.collect();
    Secret::new(Value::Object(members).to_string())
}

/// Clients look for this one name as it is usually written.
fn canonical(name: &str) -> String {
    if name.eq_ignore_ascii_case("authorization") {
        "Authorization".to_owned()
    } else {
        name.to_owned()
    }
}

impl From<HandOutError> for CliError {
    fn from(error: HandOutError) -> Self {
        match error {
            HandOutError::Vault(error) => error.into(),
            HandOutError::Host(error) => Self::Host(*error),
            error => Self::HandOut(error),
        }
    }
}

/// The variable by which Claude Code tells a helper where the headers will go.
const CLIENT_URL: &str = "CLAUDE_CODE_MCP_SERVER_URL";
/// Every server refuses it, and it is told apart from a token that expired.
const REFUSED: &str = "Bearer keyway-has-no-credential";
const WHAT_DIRECT_MEANS: &str = "\
With `--direct` the client sends the access token to the server itself. Every program that runs as
you can then ask Keyway for that token; which one asks cannot be known. The refresh token stays in
the vault. Without `--direct` clients get a token for the gateway, which opens this server alone.";
