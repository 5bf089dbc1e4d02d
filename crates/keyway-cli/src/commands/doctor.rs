//! `keyway doctor`: every server through every stage, to its first fault, with what to do next.
//!
//! Nobody is asked and no window opens; what is not approved is not run and not sent.

mod board;
mod bundle;
mod fault;
mod layout;
mod offline;
mod online;
mod output;

use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::{Error, Plugin};
use keyway_code::Exit;
use keyway_config::names::nearest_name;
use keyway_secret::printable;
use tokio::task::JoinSet;

use self::board::Board;
use self::bundle::Bundle;
use self::fault::Examined;
pub(crate) use self::fault::{Fault, Verdict};
use self::offline::Candidate;
use super::tools::Format;
use crate::arguments::hidden;
use crate::connect_args::{ConnectArgs, SignInPolicy};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::server_args::ServerArgs;
use crate::signals::Interrupts;

/// Find out why servers do not work, and what to do next
///
/// Checks all servers at once, stage by stage, and reports the first fault of each.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway doctor
  keyway doctor docs search
  keyway doctor --config ~/plugins/wiki --bundle report.tar")]
#[command(mut_arg("browser", hidden))]
pub(crate) struct Doctor {
    #[command(flatten)]
    servers: ServerArgs,
    /// Time limit for each server
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Also write an archive without credentials to FILE, for a bug report
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command; the exit code is that of the faults if they agree, otherwise that of a failure.
pub(crate) fn run(arguments: &Doctor, context: &CommandContext) -> Result<Exit, CliError> {
    let bundle = arguments.bundle.as_deref().map(Bundle::begin).transpose()?;
    let watched = bundle
        .as_ref()
        .map(|bundle| context.watched(bundle.listener()));
    let context = watched.as_ref().unwrap_or(context);
    let (plugin, examined) = super::block_on(async {
        let host = arguments.reach.host(context, SignInPolicy::NEVER)?;
        let (plugin, given) = arguments.servers.load(&host, &arguments.reach)?;
        let variables = host.variable_scope(plugin.loaded())?;
        let found = offline::examine(&plugin, variables.scope());
        let candidates = chosen(found, &plugin, &given)?;
        let mut interrupts = Interrupts::listen();
        let examined = tokio::select! {
            examined = examine(candidates, arguments, context) => examined,
            () = interrupts.next() => Err(Error::Cancelled.into()),
        };
        Ok((plugin, examined?))
    })?;
    let exit = exit_of(&examined);
    let text = match arguments.format {
        Format::Human => output::human(&examined, context),
        Format::Json => output::json(&examined),
    };
    context.print(&text, exit)?;
    if let Some(bundle) = bundle {
        let report = output::json(&examined);
        let listed = bundle.write(&plugin, context, &report)?;
        context.print_aside(&listed);
    }
    Ok(exit)
}

/// Examines one server and prints nothing; `None` if there is no such server.
pub(crate) async fn diagnose(plugin: &Plugin, server: &str) -> Result<Option<Verdict>, CliError> {
    let variables = plugin.host().variable_scope(plugin.loaded())?;
    let found = offline::examine(plugin, variables.scope());
    let mut found = found.into_iter();
    let Some(candidate) = found.find(|candidate| candidate.name == server) else {
        return Ok(None);
    };
    let ready = match candidate.outcome {
        Ok(ready) => *ready,
        Err(verdict) => return Ok(Some(verdict)),
    };
    let patient = online::Patient {
        ready,
        // Whoever asks for this looks at a page.
        has_browser: true,
        limit: LONGEST,
        board: Arc::new(Board::hidden(server)),
        at: 0,
    };
    Ok(Some(patient.examine().await))
}

/// Keeps the servers that were given, all of them if none was.
fn chosen(
    found: Vec<Candidate>,
    plugin: &Plugin,
    given: &[String],
) -> Result<Vec<Candidate>, CliError> {
    if given.is_empty() {
        return Ok(found);
    }
    let prefix = format!("{}:", plugin.name());
    let own = |name: &str| name.strip_prefix(&prefix).unwrap_or(name).to_owned();
    for name in given {
        let wanted = own(name);
        if !found.iter().any(|candidate| candidate.name == wanted) {
            let names = found.iter().map(|candidate| candidate.name.as_str());
            return Err(CliError::from(Error::UnknownServer {
                name: printable(name),
                near: nearest_name(&wanted, names),
            }));
        }
    }
    let wanted: Vec<String> = given.iter().map(|name| own(name)).collect();
    let is_wanted = |candidate: &Candidate| wanted.contains(&candidate.name);
    Ok(found.into_iter().filter(is_wanted).collect())
}

/// Takes all servers that are ready through the stages that need the network, at once.
async fn examine(
    candidates: Vec<Candidate>,
    arguments: &Doctor,
    context: &CommandContext,
) -> Result<Vec<Examined>, CliError> {
    let has_browser = arguments.reach.has_browser(context)?;
    let board = Arc::new(Board::new(context, &candidates));
    let mut work = JoinSet::new();
    let mut examined: Vec<Option<Examined>> = Vec::new();
    for (at, candidate) in candidates.into_iter().enumerate() {
        let Candidate { name, outcome } = candidate;
        let ready = match outcome {
            Ok(ready) => *ready,
            Err(verdict) => {
                board.end(at, &verdict);
                examined.push(Some(Examined { name, verdict }));
                continue;
            }
        };
        examined.push(None);
        let patient = online::Patient {
            ready,
            has_browser,
            limit: Duration::from_secs(arguments.timeout),
            board: Arc::clone(&board),
            at,
        };
        work.spawn(async move {
            let verdict = patient.examine().await;
            (at, Examined { name, verdict })
        });
    }
    while let Some(done) = work.join_next().await {
        let (at, one) = match done {
            Ok(done) => done,
            // A server that was not examined to its end must not look like one that is not there.
            Err(broken) if broken.is_panic() => panic::resume_unwind(broken.into_panic()),
            Err(_) => continue,
        };
        board.end(at, &one.verdict);
        if let Some(place) = examined.get_mut(at) {
            *place = Some(one);
        }
    }
    board.wipe();
    Ok(examined.into_iter().flatten().collect())
}

fn exit_of(examined: &[Examined]) -> Exit {
    let mut exits = examined.iter().filter_map(|one| match &one.verdict {
        Verdict::Faulty(fault) => Some(fault.exit),
        _ => None,
    });
    let Some(first) = exits.next() else {
        return Exit::Done;
    };
    if exits.all(|other| other == first) {
        first
    } else {
        Exit::Failed
    }
}

/// How long a server may take where nobody said so.
const LONGEST: Duration = Duration::from_secs(30);
