//! `keyway login`: sign in to a server, whatever is stored.

use std::io::{self, IsTerminal as _};

use clap::Args;
use keyway::examination::list_anything;
use keyway::host::SignInOutcome;
use keyway::sign_in::{PromptPolicy, SignIn};
use keyway::{Approved, Error, Plan};
use keyway_code::Exit;
use keyway_secret::printable;
use serde_json::json;

use super::install::ask;
use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInChannel, SignInPolicy};
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::error::CliError;

/// Sign in to a server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway login docs
  keyway login docs --no-browser
  keyway login docs --device
  keyway login docs --force")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Login {
    #[command(flatten)]
    server: ServerArg,
    /// Print the sign-in URL instead of opening a browser
    #[arg(long)]
    no_browser: bool,
    /// Sign in with a code on another device
    #[arg(long)]
    device: bool,
    /// Sign in again without asking, if already signed in
    #[arg(long)]
    force: bool,
    /// Request these scopes instead of the ones that the server names
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    scopes: Option<Vec<String>>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(login: &Login, context: &CommandContext) -> Result<Exit, CliError> {
    let policy = SignInPolicy {
        asking: PromptPolicy::WhenNeeded,
        channel: match (login.device, login.no_browser) {
            (true, _) => SignInChannel::Code,
            (false, true) => SignInChannel::Address,
            (false, false) => SignInChannel::Browser,
        },
        insists: true,
    };
    super::block_on(async {
        let host = login.reach.host(context, policy)?;
        let approved = login.server.approved(&host, &login.reach).await?;
        let server = approved.server().to_owned();
        if approved.oauth().is_none() {
            let method = approved.method();
            return Err(Error::NotOAuth { server, method }.into());
        }
        if let Some(kept) = approved.stored_sign_in()?.filter(|kept| !kept.ended)
            && !login.goes_on(context, &server, &kept)
        {
            return Ok(Exit::Done);
        }
        let signed_in = approved.sign_in(login.scopes.clone()).await;
        let outcome = match signed_in {
            Err(_) if is_open(&approved).await => SignInOutcome::Unneeded,
            other => other?,
        };
        if outcome == SignInOutcome::Unneeded {
            context.print(&login.unneeded(&server), Exit::Done)?;
            return Ok(Exit::Done);
        }
        let kept = approved.stored_sign_in()?;
        let text = match login.format {
            Format::Json => {
                let result = json!({
                    "schema_version": 1,
                    "diagnostics": [],
                    "server": server,
                    "signed_in": true,
                    "account": kept.as_ref().and_then(|kept| kept.account.clone()),
                    "scopes": kept.as_ref().map(|kept| kept.scopes.clone()),
                    "unrequested_scopes": kept.as_ref().map(|kept| kept.unrequested_scopes.clone()),
                });
                format!("{result}\n")
            }
            Format::Human => {
                let account = kept.as_ref().and_then(|kept| kept.account.as_deref());
                let who = account.map(|name| format!(" as {}", printable(name)));
                let beyond = kept.as_ref().map(beyond_request).unwrap_or_default();
                let renews = kept.is_some_and(|kept| kept.renews);
                let after = if renews {
                    "It renews automatically."
                } else {
                    "It cannot be renewed; you are asked again when it expires."
                };
                let who = who.unwrap_or_default();
                format!(
                    "Signed in to `{}`{who}. {after}\n{beyond}",
                    printable(&server)
                )
            }
        };
        context.print(&text, Exit::Done)?;
        Ok(Exit::Done)
    })
}

/// Names the scopes that were granted without being asked for, on a line of their own.
fn beyond_request(kept: &SignIn) -> String {
    if kept.unrequested_scopes.is_empty() {
        return String::new();
    }
    let scopes = printable(&kept.unrequested_scopes.join(" "));
    format!("The authorization server granted more scopes than requested: {scopes}\n")
}

impl Login {
    /// Says that there is a sign-in already, and asks whether to replace it. A script that asks for
    /// a sign-in gets one.
    fn goes_on(&self, context: &CommandContext, server: &str, kept: &SignIn) -> bool {
        if self.force || self.scopes.is_some() {
            return true;
        }
        let account = kept.account.as_deref();
        let account = account.map(|name| format!(" as {}", printable(name)));
        let account = account.unwrap_or_default();
        let server = printable(server);
        context.print_aside(&format!("Already signed in to `{server}`{account}.\n"));
        if !io::stdin().is_terminal() {
            return true;
        }
        ask(context, "Sign in again?")
    }

    fn unneeded(&self, server: &str) -> String {
        match self.format {
            Format::Json => {
                let result = json!({
                    "schema_version": 1,
                    "diagnostics": [],
                    "server": server,
                    "signed_in": false,
                    "account": null,
                    "scopes": null,
                });
                format!("{result}\n")
            }
            Format::Human => format!("`{}` {UNNEEDED}\n", printable(server)),
        }
    }
}

/// Says whether the server answers without a credential and offers no sign-in. Over HTTP+SSE only a
/// connection shows it.
async fn is_open(server: &Approved<Plan>) -> bool {
    server.offers_oauth().await.is_err() && list_anything(server).await.is_ok()
}

/// What is said of a server that takes everybody, after its name.
const UNNEEDED: &str = "needs no sign-in: it answers without a credential and offers no sign-in.";
