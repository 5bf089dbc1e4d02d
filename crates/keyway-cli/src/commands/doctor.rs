//! `keyway doctor`: every server through every stage, to its first fault, with what to do next.
//!
//! Nobody is asked and no window opens; what is not approved is not run and not sent.

mod board;
mod fault;
mod offline;
mod online;
mod output;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::load::Loaded;
use keyway_config::names::nearest_name;
use keyway_secret::printable;
use tokio::task::JoinSet;

use self::board::Board;
use self::fault::{Examined, Verdict};
use self::offline::Candidate;
use super::tools::Format;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{NOBODY, Reach};
use crate::session::Session;
use crate::surroundings::Surroundings;

/// Find out why servers do not work: every stage, to the first fault, with the next command
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Plugin folder or file; the same as `--config`
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Seconds that each server may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command; the exit code is that of the faults if they agree, otherwise that of a failure.
pub(crate) fn run(arguments: &Doctor, session: &Session) -> Result<Exit, CliError> {
    let loaded = arguments.reach.load(arguments.path.as_deref())?;
    let surroundings = Surroundings::open(arguments.reach.env_file())?;
    let found = surroundings.with_scope(&loaded, |scope| {
        offline::examine(&loaded, scope, arguments, session)
    });
    let candidates = chosen(found, &loaded, arguments.server.as_deref())?;
    let examined = super::block_on(examine(candidates, arguments, session))?;
    let exit = exit_of(&examined);
    let text = match arguments.format {
        Format::Human => output::human(&examined, session),
        Format::Json => output::json(&examined),
    };
    session.print(&text, exit)?;
    Ok(exit)
}

fn chosen(
    mut found: Vec<Candidate>,
    loaded: &Loaded,
    server: Option<&str>,
) -> Result<Vec<Candidate>, CliError> {
    let Some(name) = server else {
        return Ok(found);
    };
    let plugin = loaded.plugin.name();
    let own = name.strip_prefix(&format!("{plugin}:")).unwrap_or(name);
    let near = nearest_name(own, found.iter().map(|candidate| candidate.name.as_str()));
    found.retain(|candidate| candidate.name == own);
    if found.is_empty() {
        return Err(CliError::UnknownServer {
            name: printable(name),
            near,
        });
    }
    Ok(found)
}

/// Takes all servers that are ready through the stages that need the network, at once.
async fn examine(
    candidates: Vec<Candidate>,
    arguments: &Doctor,
    session: &Session,
) -> Result<Vec<Examined>, CliError> {
    let host = arguments.reach.host(session, NOBODY)?;
    let has_browser = arguments.reach.has_browser(session)?;
    let board = Arc::new(Board::new(session, &candidates));
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
            host: host.clone(),
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
        if let Ok((at, one)) = done
            && let Some(place) = examined.get_mut(at)
        {
            board.end(at, &one.verdict);
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
