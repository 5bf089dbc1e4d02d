//! `keyway login`: sign in to a server, whatever is stored.

use clap::Args;
use keyway::sign_in::{Asking, OAuth};
use keyway_secret::printable;
use serde_json::json;

use super::tools::Format;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{Manner, Reach, ReachError, Way, find};
use crate::session::Session;

/// Sign in to a server in the browser
#[derive(Debug, Args)]
pub(crate) struct Login {
    /// The server, where the plugin has several
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Print the address and open nothing
    #[arg(long)]
    no_browser: bool,
    /// Sign in by a code that is typed on another device
    #[arg(long)]
    device: bool,
    /// Ask for these scopes instead of what the server names
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    scopes: Option<Vec<String>>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command.
pub(crate) fn run(login: &Login, session: &Session) -> Result<Exit, CliError> {
    let loaded = login.reach.load(session, None)?;
    let entry = find(&loaded, login.server.as_deref())?;
    let ready = login.reach.prepare(session, &loaded, entry)?;
    let manner = Manner {
        asking: Asking::WhenNeeded,
        way: match (login.device, login.no_browser) {
            (true, _) => Way::Code,
            (false, true) => Way::Address,
            (false, false) => Way::Browser,
        },
        insists: true,
    };
    super::block_on(async {
        let host = login.reach.host(session, manner)?;
        let server = ready.spec.name.clone();
        let oauth = ready.oauth(&host).ok_or_else(|| ReachError::NotOAuth {
            server: server.clone(),
            method: ready.spec.method,
        })?;
        sign_in(&server, &oauth, login.scopes.clone()).await?;
        let kept = ready.sign_in(&host)?;
        let text = match login.format {
            Format::Json => {
                let result = json!({
                    "schema_version": 1,
                    "diagnostics": [],
                    "server": server,
                    "account": kept.as_ref().and_then(|kept| kept.account.clone()),
                    "scopes": kept.as_ref().map(|kept| kept.scopes.clone()),
                });
                format!("{result}\n")
            }
            Format::Human => {
                let account = kept.as_ref().and_then(|kept| kept.account.as_deref());
                let who = account.map(|name| format!(" as {}", printable(name)));
                let renews = kept.is_some_and(|kept| kept.renews);
                let after = if renews {
                    "It renews itself."
                } else {
                    "It cannot renew itself; when it ends, you are asked again."
                };
                let who = who.unwrap_or_default();
                format!("Signed in to `{}`{who}. {after}\n", printable(&server))
            }
        };
        session.print(&text, Exit::Done)?;
        Ok(Exit::Done)
    })
}

/// Signs in to a server.
pub(crate) async fn sign_in(
    server: &str,
    oauth: &OAuth,
    scopes: Option<Vec<String>>,
) -> Result<(), CliError> {
    let signed_in = oauth.sign_in(scopes).await;
    signed_in.map_err(|error| ReachError::SignIn {
        server: server.to_owned(),
        error,
    })?;
    Ok(())
}
