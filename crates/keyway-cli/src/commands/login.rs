//! `keyway login`: sign in to a server, whatever is stored.

mod given;

use std::io::{self, IsTerminal as _};

use clap::Args;
use keyway::examination::{list_anything, sign_in_with};
use keyway::host::SignInOutcome;
use keyway::sign_in::{PromptPolicy, SignIn, SignInPreview};
use keyway::{Approved, Error, Host, Plan};
use keyway_code::Exit;
use keyway_secret::printable;
use serde_json::json;

use super::confirmation::ask;
use super::tools::Format;
use super::vault::{confirm, parse_key, print_moved};
use crate::arguments::connect::{ConnectArgs, SignInChannel, SignInPolicy, plan};
use crate::arguments::server::{ServerArg, all, by_oauth};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::waiting::{asking, signing_in, waiting_for};

/// Sign in to a server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway login docs
  keyway login docs --no-browser
  keyway login docs --device
  keyway login docs --force
  keyway login docs --dry-run
  keyway login docs --from-stdin < tokens.json
  keyway login docs --for \"$(ssh build keyway vault key)\" > docs.sign-in
  keyway login --all")]
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
    /// Sign in again even if already signed in, without asking
    #[arg(long)]
    force: bool,
    /// Sign in to every server of the plugin that needs it, one after the other
    #[arg(long)]
    all: bool,
    /// Print the issuer, client, redirect URL and scopes, and do not sign in
    #[arg(long, conflicts_with_all = ["all", "force"])]
    dry_run: bool,
    /// Store tokens that another program obtained: one JSON object on standard input
    ///
    /// With `issuer`, `client_id` and `access_token`, and where there is one `client_secret`,
    /// `resource`, `scope`, `refresh_token` and `expires_at` (seconds since 1970). They are stored
    /// once the server has answered a list request with them.
    #[arg(long, conflicts_with_all = ["all", "dry_run", "device", "no_browser", "scopes", "for_key"])]
    from_stdin: bool,
    /// Sign in for another vault: print the sign-in sealed for its public key and store nothing here
    #[arg(long = "for", id = "for_key", value_name = "KEY", conflicts_with_all = ["all", "dry_run"])]
    for_key: Option<String>,
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
        if let Some(key) = &login.for_key {
            return login.sign_in_for(key, context, policy).await;
        }
        let host = login.reach.host(context, policy)?;
        if login.all {
            return login.every(&host, context).await;
        }
        let approved = login.server.approved(context, &host, &login.reach).await?;
        if login.dry_run {
            return login.preview(&approved, context).await;
        }
        if login.from_stdin {
            let trying = sign_in_with(&approved, given::read()?);
            waiting_for(context, asking(approved.server()), None, trying).await?;
            let text = login.signed_in(approved.server(), approved.stored_sign_in()?.as_ref());
            context.print(&text, Exit::Done)?;
            return Ok(Exit::Done);
        }
        if let Some(kept) = approved.stored_sign_in()?.filter(SignIn::is_complete)
            && approved.oauth().is_some()
            && !login.replaces(context, approved.server(), &kept)?
        {
            return Ok(Exit::Done);
        }
        login.sign_in(&approved, context).await
    })
}

impl Login {
    /// Signs in a second time, beside what is stored, and seals that for another vault.
    async fn sign_in_for(
        &self,
        key: &str,
        context: &CommandContext,
        policy: SignInPolicy,
    ) -> Result<Exit, CliError> {
        let to = parse_key(key)?;
        // An account of its own until it has left: the sign-in that is here stays.
        let reach = self.reach.for_account(&format!("for {}", to.fingerprint()));
        let host = reach.host(context, policy)?;
        let approved = self.server.approved(context, &host, &reach).await?;
        if !confirm(context, &approved, &to)? {
            return Ok(Exit::Done);
        }
        let signing = approved.sign_in(self.scopes.clone());
        waiting_for(context, signing_in(approved.server()), None, signing).await?;
        print_moved(context, approved.server(), approved.move_sign_in(&to)?)
    }

    /// Signs in to one server and says so.
    async fn sign_in(
        &self,
        approved: &Approved<Plan>,
        context: &CommandContext,
    ) -> Result<Exit, CliError> {
        let server = approved.server();
        let signing = sign_in_if_needed(approved, self.scopes.clone());
        let text = match waiting_for(context, signing_in(server), None, signing).await? {
            SignInOutcome::Unneeded => self.unneeded(server),
            _ => self.signed_in(server, approved.stored_sign_in()?.as_ref()),
        };
        context.print(&text, Exit::Done)?;
        Ok(Exit::Done)
    }

    /// Signs in wherever it is needed. One that fails does not keep the others from their turn; its
    /// exit code is that of the command.
    async fn every(&self, host: &Host, context: &CommandContext) -> Result<Exit, CliError> {
        let (plugin, server) = self.server.load(host, &self.reach)?;
        if server.is_some() {
            return Err(CliError::Usage {
                what: "give a server or `--all`, not both",
            });
        }
        let mut exit = Exit::Done;
        // Not to be approved for this: a program or a fixed header has no sign-in.
        let with_sign_in = by_oauth(plugin.loaded());
        let names = all(&plugin)?.into_iter();
        for name in names.filter(|name| with_sign_in.contains(name)) {
            let done = async {
                let approved = plan(&plugin, Some(&name))?.approve().await?;
                if approved.oauth().is_none() {
                    return Ok(Exit::Done);
                }
                match approved.stored_sign_in()?.filter(SignIn::is_complete) {
                    Some(kept) if !self.force => {
                        let text = self.signed_in(&name, Some(&kept));
                        context.print(&text, Exit::Done)?;
                        Ok(Exit::Done)
                    }
                    _ => self.sign_in(&approved, context).await,
                }
            };
            if let Err(error) = done.await {
                context.print_failure(&error);
                exit = error.exit();
            }
        }
        Ok(exit)
    }

    /// Says what a sign-in would ask for, and which issuer.
    async fn preview(
        &self,
        approved: &Approved<Plan>,
        context: &CommandContext,
    ) -> Result<Exit, CliError> {
        let server = approved.server().to_owned();
        let Some(oauth) = approved.oauth() else {
            let method = approved.method();
            return Err(Error::NotOAuth { server, method }.into());
        };
        let looking = oauth.dry_run(self.scopes.clone());
        let found = waiting_for(context, asking(&server), None, looking).await;
        let found = found.map_err(|error| Error::SignIn {
            server: server.clone(),
            error,
        })?;
        let text = match self.format {
            Format::Json => {
                let result = json!({
                    "schema_version": 1,
                    "diagnostics": [],
                    "server": server,
                    "issuer": found.issuer,
                    "client": found.client,
                    "redirect_uri": found.redirect_uri,
                    "scopes": found.scopes,
                    "resource": found.resource,
                });
                format!("{result}\n")
            }
            Format::Human => preview(&found),
        };
        context.print(&text, Exit::Done)?;
        Ok(Exit::Done)
    }

    fn signed_in(&self, server: &str, kept: Option<&SignIn>) -> String {
        match self.format {
            Format::Json => {
                let result = json!({
                    "schema_version": 1,
                    "diagnostics": [],
                    "server": server,
                    "signed_in": true,
                    "account": kept.and_then(|kept| kept.account.clone()),
                    "scopes": kept.map(|kept| kept.scopes.clone()),
                    "unrequested_scopes": kept.map(|kept| kept.unrequested_scopes.clone()),
                });
                format!("{result}\n")
            }
            Format::Human => {
                let account = kept.and_then(|kept| kept.account.as_deref());
                let who = account.map(|name| format!(" as {}", printable(name)));
                let beyond = kept.map(beyond_request).unwrap_or_default();
                let after = if kept.is_some_and(|kept| kept.renews) {
                    "It renews automatically."
                } else {
                    "It cannot be renewed; you are asked again when it expires."
                };
                let who = who.unwrap_or_default();
                format!(
                    "Signed in to `{}`{who}. {after}\n{beyond}",
                    printable(server)
                )
            }
        }
    }
}

/// Puts a preview into lines, each value behind its name.
fn preview(found: &SignInPreview) -> String {
    let scopes = found.scopes.join(" ");
    let free_port = " (PORT: any free port)";
    let redirect = found.redirect_uri.as_deref().map(|uri| {
        let note = if uri.contains(":PORT/") {
            free_port
        } else {
            ""
        };
        format!("{}{note}", printable(uri))
    });
    let rows = [
        ("issuer", Some(printable(&found.issuer))),
        ("client", found.client.as_deref().map(printable)),
        ("redirect", redirect),
        ("scopes", (!scopes.is_empty()).then(|| printable(&scopes))),
        ("resource", found.resource.as_deref().map(printable)),
    ];
    let line = |(name, value): (&str, Option<String>)| {
        let missing = match name {
            "client" => "registered at sign-in",
            "scopes" => "the server's default",
            _ => "none",
        };
        let value = value.unwrap_or_else(|| missing.to_owned());
        format!("{name:<9} {value}\n")
    };
    rows.into_iter().map(line).collect()
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
    /// Says that there is a sign-in already, and asks on a terminal whether to replace it. A script
    /// keeps it: a page that no person looks at would hold the script up until it times out.
    fn replaces(
        &self,
        context: &CommandContext,
        server: &str,
        kept: &SignIn,
    ) -> Result<bool, CliError> {
        if self.force || self.scopes.is_some() {
            return Ok(true);
        }
        let account = kept.account.as_deref();
        let account = account.map(|name| format!(" as {}", printable(name)));
        let account = account.unwrap_or_default();
        let already = format!("Already signed in to `{}`{account}.", printable(server));
        if io::stdin().is_terminal() {
            context.print_aside(&format!("{already}\n"));
            return Ok(ask(context, "Sign in again?"));
        }
        context.print_aside(&format!("{already} `--force` signs in again.\n"));
        if self.format == Format::Json {
            context.print(&self.signed_in(server, Some(kept)), Exit::Done)?;
        }
        Ok(false)
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

/// Signs in to a server, unless it answers without a credential and offers no sign-in. Over HTTP+SSE
/// only a connection shows that.
pub(super) async fn sign_in_if_needed(
    server: &Approved<Plan>,
    scopes: Option<Vec<String>>,
) -> Result<SignInOutcome, Error> {
    let failed = match server.sign_in(scopes).await {
        Err(error @ Error::SignIn { .. }) => error,
        other => return other,
    };
    match server.offers_oauth().await.is_err() && list_anything(server).await.is_ok() {
        true => Ok(SignInOutcome::Unneeded),
        false => Err(failed),
    }
}

/// Printed after the name of a server that takes requests without a credential.
pub(super) const UNNEEDED: &str =
    "needs no sign-in: it answers without a credential and offers no sign-in.";
