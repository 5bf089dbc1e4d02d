//! `keyway logout`: end sessions, revoke where that is possible, and forget in any case.

use clap::Args;
use keyway::load::Loaded;
use keyway::sign_in::{Revoked, SignedOut};
use keyway_code::Exit;
use keyway_config::declared::Endpoint;
use keyway_config::method::Method;
use keyway_secret::printable;
use serde_json::{Value, json};

use super::tools::Format;
use crate::arguments::hidden;
use crate::connect_args::{ConnectArgs, SignInPolicy};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::server_args::{ServerArgs, named};

/// Sign out of servers: close sessions, revoke and delete tokens
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway logout docs
  keyway logout --all")]
#[command(mut_arg("trust", hidden))]
#[command(mut_arg("browser", |flag| hidden(flag)))]
pub(crate) struct Logout {
    #[command(flatten)]
    servers: ServerArgs,
    /// Sign out of every server of the plugin
    #[arg(long, conflicts_with = "named")]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// What became of one sign-in.
struct Outcome {
    name: String,
    done: SignedOut,
    /// The variables without which the client could not show who it is.
    missing: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(logout: &Logout, context: &CommandContext) -> Result<Exit, CliError> {
    let outcomes = super::block_on(async {
        let host = logout.reach.host(context, SignInPolicy::NEVER)?;
        let (plugin, given) = logout.servers.load(&host, &logout.reach)?;
        let names = match (logout.all, given.is_empty()) {
            (true, true) => by_oauth(plugin.loaded()),
            (true, false) => {
                let what = "give servers or `--all`, not both";
                return Err(CliError::Usage { what });
            }
            (false, _) => named(&plugin, &given)?,
        };
        let mut outcomes = Vec::new();
        for name in names {
            let plan = plugin.plan_sign_out(&name)?;
            let done = plan.sign_out().await?;
            let missing = plan.missing_variables().to_vec();
            outcomes.push(Outcome {
                name,
                done,
                missing,
            });
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
    context.print(&text, Exit::Done)?;
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

fn line(outcome: &Outcome) -> String {
    let words = in_words(&outcome.done, &outcome.missing);
    format!("`{}`: {words}.\n", printable(&outcome.name))
}

/// Says what became of the tokens; `missing` are the variables that were wanted and are not set.
pub(crate) fn in_words(done: &SignedOut, missing: &[String]) -> String {
    if !done.existed {
        return "was not signed in".to_owned();
    }
    let revoked = match done.revoked {
        Revoked::Done => "the tokens were revoked and deleted",
        Revoked::NotOffered => {
            "the tokens were deleted here; the authorization server does not offer revocation, so they stay valid until they expire"
        }
        Revoked::NoProof if !missing.is_empty() => &format!(
            "the tokens were deleted here; they could not be revoked, because {} not set, which holds the client secret, so they stay valid until they expire",
            listed(missing)
        ),
        Revoked::NoProof => {
            "the tokens were deleted here; they could not be revoked, because the client secret is missing or not approved, so they stay valid until they expire"
        }
        _ => {
            "the tokens were deleted here; the authorization server could not be reached, so they stay valid until they expire"
        }
    };
    let sessions = sessions(done);
    format!("signed out; {revoked}{sessions}")
}

fn listed(missing: &[String]) -> String {
    let names: Vec<String> = missing
        .iter()
        .map(|name| format!("`{}`", printable(name)))
        .collect();
    let (word, verb) = match names.len() {
        1 => ("variable", "is"),
        _ => ("variables", "are"),
    };
    format!("the {word} {} {verb}", names.join(" and "))
}

/// Says what became of the sessions of other processes.
fn sessions(done: &SignedOut) -> String {
    let mut text = String::new();
    match done.users.stopped {
        0 => {}
        1 => text.push_str("; one process that used them ended its session"),
        many => text.push_str(&format!(
            "; {many} processes that used them ended their sessions"
        )),
    }
    match done.users.remaining {
        0 => {}
        1 => text.push_str("; one process did not answer, its session ends at its next request"),
        many => text.push_str(&format!(
            "; {many} processes did not answer, their sessions end at their next requests"
        )),
    }
    text
}

fn object(outcome: &Outcome) -> Value {
    let Outcome {
        name,
        done,
        missing,
    } = outcome;
    let revoked = match done.revoked {
        Revoked::Done => "done",
        Revoked::NotOffered => "not-offered",
        Revoked::NoProof => "no-proof",
        Revoked::Nothing => "nothing",
        _ => "failed",
    };
    json!({
        "name": name,
        "was_signed_in": done.existed,
        "revoked": revoked,
        "missing_variables": missing,
        "sessions": { "ended": done.users.stopped, "left": done.users.remaining },
    })
}
