//! `keyway doctor`: every server through every stage, to its first fault, with what to do next.
//!
//! It asks no questions and opens no window; what is not approved is not run and not sent.

mod bundle;
mod layout;
mod output;
mod progress_table;

use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::diagnosis::Diagnosis;
use keyway::examination::{Candidate, OnlineCheck, candidates};
use keyway::{Error, Plugin};
use keyway_code::Exit;
use keyway_config::names::nearest_name;
use keyway_secret::printable;
use tokio::task::JoinSet;

use self::bundle::Bundle;
use self::progress_table::ProgressTable;
use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::hidden;
use crate::arguments::server::ServerArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use keyway_terminal::Interrupts;

/// Find out why servers do not work, and what to do next
///
/// Checks all servers at once, stage by stage, and reports the first fault of each. Then looks at
/// the files of MCP clients on this machine.
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
    /// Also write a tar archive for a bug report to FILE; contains no credentials
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
    let (plugin, is_whole, examined) = super::block_on(async {
        let host = arguments.reach.host(context, SignInPolicy::NEVER)?;
        let (plugin, given) = arguments.servers.load(&host, &arguments.reach)?;
        let candidates = chosen(candidates(&plugin)?, &plugin, &given)?;
        let mut interrupts = Interrupts::listen();
        // Not biased: a Ctrl-C in the moment of the end may lose. Dropping `examine` closes its
        // connections and ends the programs that it started.
        let examined = tokio::select! {
            examined = examine(candidates, arguments, context) => examined,
            () = interrupts.next() => Err(Error::Cancelled.into()),
        };
        Ok((plugin, given.is_empty(), examined?))
    })?;
    let exit = exit_of(&examined);
    let text = match arguments.format {
        Format::Human => output::human(&examined, context),
        Format::Json => output::json(&examined),
    };
    context.print(&text, exit)?;
    if arguments.format == Format::Human && is_whole {
        super::clients::tell_problems(context);
    }
    if let Some(bundle) = bundle {
        let report = output::json(&examined);
        let listed = bundle.write(&plugin, context, &report)?;
        context.print_aside(&listed);
    }
    Ok(exit)
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
        if !found
            .iter()
            .any(|candidate| candidate.diagnosis.server == wanted)
        {
            let names = found
                .iter()
                .map(|candidate| candidate.diagnosis.server.as_str());
            return Err(CliError::from(Error::UnknownServer {
                name: printable(name),
                near: nearest_name(&wanted, names),
            }));
        }
    }
    let wanted: Vec<String> = given.iter().map(|name| own(name)).collect();
    let is_wanted = |candidate: &Candidate| wanted.contains(&candidate.diagnosis.server);
    Ok(found.into_iter().filter(is_wanted).collect())
}

/// Takes all servers that are ready through the stages that need the network, at once.
async fn examine(
    candidates: Vec<Candidate>,
    arguments: &Doctor,
    context: &CommandContext,
) -> Result<Vec<Diagnosis>, CliError> {
    let has_browser = arguments.reach.has_browser(context)?;
    let table = Arc::new(ProgressTable::new(context, &candidates));
    let mut work = JoinSet::new();
    let mut examined: Vec<Diagnosis> = Vec::new();
    for (at, candidate) in candidates.into_iter().enumerate() {
        let known = candidate.diagnosis;
        examined.push(known.clone());
        let Some(ready) = candidate.ready else {
            table.end(at, &known);
            continue;
        };
        let progress = Arc::clone(&table);
        let check = OnlineCheck::new(*ready, known)
            .within(Duration::from_secs(arguments.timeout))
            .with_browser(has_browser)
            .reporting(Arc::new(move |stage| progress.enter(at, stage)));
        work.spawn(async move { (at, check.run().await) });
    }
    while let Some(done) = work.join_next().await {
        let (at, found) = match done {
            Ok(done) => done,
            // A server that was not examined to its end must not look like one that is not there.
            Err(broken) if broken.is_panic() => panic::resume_unwind(broken.into_panic()),
            Err(_) => continue,
        };
        table.end(at, &found);
        if let Some(place) = examined.get_mut(at) {
            *place = found;
        }
    }
    table.wipe();
    Ok(examined)
}

fn exit_of(examined: &[Diagnosis]) -> Exit {
    let mut exits = examined
        .iter()
        .filter(|one| one.fault().is_some())
        .map(|one| one.exit);
    let Some(first) = exits.next() else {
        return Exit::Done;
    };
    if exits.all(|other| other == first) {
        first
    } else {
        Exit::Failed
    }
}
