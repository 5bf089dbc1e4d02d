//! `keyway logout`: end sessions, revoke where that is possible, and forget in any case.

use clap::Args;
use keyway::sign_in::{Revoked, SignedOut};
use keyway_code::Exit;
use keyway_secret::printable;
use serde_json::{Value, json};

use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::hidden;
use crate::arguments::server::{ServerArgs, by_oauth, named};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::waiting::waiting_for;

/// Sign out of servers: close sessions, revoke and delete tokens
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway logout docs
  keyway logout --all

Exits 1 if a token stays valid because the server could not be told or refused,
or because another process is renewing it; signing out again tells the server.")]
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
    /// What became of the tokens, in words.
    summary: String,
    done: SignedOut,
    /// The variables without which the client could not authenticate.
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
            let what = format!("signing out of `{}`", printable(&name));
            let done = waiting_for(context, what, None, plan.sign_out()).await?;
            let missing = plan.missing_variables().to_vec();
            outcomes.push(Outcome {
                name,
                summary: plan.summary(&done),
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
    let all_ended = outcomes.iter().all(|outcome| has_ended(&outcome.done));
    let exit = if all_ended { Exit::Done } else { Exit::Failed };
    context.print(&text, exit)?;
    Ok(exit)
}

/// Tells whether no token lives on that the server would have revoked.
const fn has_ended(done: &SignedOut) -> bool {
    matches!(
        done.revoked,
        Revoked::Done | Revoked::NotOffered | Revoked::Nothing
    )
}

fn line(outcome: &Outcome) -> String {
    let Outcome { name, summary, .. } = outcome;
    format!("`{}`: {summary}.\n", printable(name))
}

fn object(outcome: &Outcome) -> Value {
    let Outcome {
        name,
        done,
        missing,
        ..
    } = outcome;
    let revoked = match done.revoked {
        Revoked::Done => "done",
        Revoked::NotOffered => "not-offered",
        Revoked::NoProof => "no-proof",
        Revoked::Nothing => "nothing",
        Revoked::Refused => "refused",
        Revoked::Renewing => "renewing",
        _ => "failed",
    };
    json!({
        "name": name,
        "was_signed_in": done.existed,
        "revoked": revoked,
        "replaced_revoked": done.replaced,
        "pending": done.pending,
        "missing_variables": missing,
        "sessions": { "ended": done.users.stopped, "left": done.users.remaining },
    })
}
