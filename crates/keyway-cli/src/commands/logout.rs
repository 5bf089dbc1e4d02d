//! `keyway logout`: revoke where that is possible, and forget in any case.

use clap::Args;
use keyway::load::Loaded;
use keyway::sign_in::{Revoked, SignedOut};
use keyway_config::declared::Endpoint;
use keyway_config::method::Method;
use keyway_secret::printable;
use serde_json::{Value, json};

use super::tools::Format;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{NOBODY, Reach, ReachError, find};
use crate::session::Session;

/// Sign out of a server: its tokens are revoked and deleted
#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// The server, where the plugin has several
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Of all servers of the plugin
    #[arg(long, conflicts_with = "server")]
    all: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command.
pub(crate) fn run(logout: &Logout, session: &Session) -> Result<Exit, CliError> {
    let loaded = logout.reach.load(None)?;
    let names = if logout.all {
        by_oauth(&loaded)
    } else {
        let (_, server) = find(&loaded, logout.server.as_deref())?;
        vec![server.name.clone()]
    };
    let outcomes = super::block_on(async {
        let host = logout.reach.host(session, NOBODY)?;
        let mut outcomes = Vec::new();
        for name in names {
            let entry = find(&loaded, Some(&name))?;
            let ready = logout.reach.prepare_unasked(session, &loaded, entry)?;
            let Some(oauth) = ready.oauth(&host) else {
                let method = ready.spec.method;
                return Err(ReachError::NotOAuth {
                    server: name,
                    method,
                }
                .into());
            };
            let done = oauth.sign_out().await.map_err(|error| ReachError::SignIn {
                server: name.clone(),
                error,
            })?;
            if done.existed {
                session.events.emit("token.cleared", Some(&name), None);
            }
            outcomes.push((name, done));
        }
        Ok(outcomes)
    })?;
    let text = match logout.format {
        Format::Human => outcomes.iter().map(line).collect(),
        Format::Json => {
            let servers: Vec<Value> = outcomes.iter().map(object).collect();
            let result = json!({ "schema_version": 1, "diagnostics": [], "servers": servers });
            format!("{result}\n")
        }
    };
    session.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

fn by_oauth(loaded: &Loaded) -> Vec<String> {
    let is_oauth = |server: &keyway_config::declared::DeclaredServer| {
        matches!(server.endpoint, Endpoint::Remote(_)) && Method::declared(server) == Method::OAuth
    };
    let servers = loaded.plugin.servers();
    let usable = servers.filter(|(document, _)| document.is_usable());
    let names = usable.filter(|(_, server)| is_oauth(server));
    names.map(|(_, server)| server.name.clone()).collect()
}

fn line((name, done): &(String, SignedOut)) -> String {
    let name = printable(name);
    if !done.existed {
        return format!("`{name}`: nobody was signed in.\n");
    }
    let revoked = match done.revoked {
        Revoked::Done => "the tokens were revoked and deleted",
        Revoked::NotOffered => {
            "the tokens were deleted here; the authorization server takes no revocations, so they count until they end"
        }
        _ => {
            "the tokens were deleted here; the authorization server could not be told, so they count until they end"
        }
    };
    format!("`{name}`: signed out; {revoked}.\n")
}

fn object((name, done): &(String, SignedOut)) -> Value {
    let revoked = match done.revoked {
        Revoked::Done => "done",
        Revoked::NotOffered => "not-offered",
        Revoked::Nothing => "nothing",
        _ => "failed",
    };
    json!({ "name": name, "was_signed_in": done.existed, "revoked": revoked })
}
