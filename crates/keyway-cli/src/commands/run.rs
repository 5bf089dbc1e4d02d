//! `keyway run`: MCP on standard input and output for any client.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::aggregate::{Member, Naming, Settings, aggregate};
use keyway::bridge::bridge;
use keyway::connect::Connection;
use keyway::connect::Host;
use keyway::load::Loaded;
use keyway::sign_in::Asking;
use tokio::net::unix::pipe;

use crate::error::CliError;
use crate::exit::Exit;
use crate::lazy::Lazy;
use crate::reach::{Manner, Reach, ReachError, client_info, find};
use crate::session::Session;

/// Connect a client on standard input and output to one server, or to all of a plugin
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The same as `--config`
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Only this server, without a prefix on its names
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Work alone, even where a gateway runs
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command; standard output carries protocol and nothing else.
pub(crate) fn run(arguments: &Run, session: &Session) -> Result<Exit, CliError> {
    let loaded = arguments.reach.load(arguments.path.as_deref())?;
    let names = arguments.servers(&loaded)?;
    super::block_on(async {
        let asking = |asking| Manner {
            asking,
            ..Manner::default()
        };
        let single = match names.as_slice() {
            [only] => {
                let manner = asking(Asking::AtMost(ENTRY_WAIT));
                let host = arguments.reach.host(session, manner)?;
                let entry = find(&loaded, Some(only))?;
                let ready = arguments.reach.prepare(session, &loaded, entry);
                // A client that is told why can show it; one whose server is gone cannot.
                match ready {
                    Ok(ready) if ready.is_open(&host).await => Some(ready.connect(&host).await?),
                    _ => None,
                }
            }
            _ => None,
        };
        let connection = match single {
            Some(connected) => connected.connection,
            None => {
                let host = arguments.reach.host(session, asking(Asking::Never))?;
                several(arguments, session.clone(), loaded, &names, &Arc::new(host))
            }
        };
        let (input, output) = pipes()?;
        // As a task like all others: the runtime looks for news less often between them.
        let bridging = match (input, output) {
            (Some(input), Some(output)) => tokio::spawn(bridge(input, output, connection)),
            _ => tokio::spawn(bridge(tokio::io::stdin(), tokio::io::stdout(), connection)),
        };
        let bridged = bridging.await.map_err(std::io::Error::other);
        let bridged = bridged.and_then(|bridged| bridged);
        bridged.map_err(|source| ReachError::Client { source })?;
        Ok(Exit::Done)
    })
}

impl Run {
    /// Returns the names of the servers to serve: the one that was named, or all.
    fn servers(&self, loaded: &Loaded) -> Result<Vec<String>, CliError> {
        if let Some(name) = &self.server {
            let (_, server) = find(loaded, Some(name))?;
            return Ok(vec![server.name.clone()]);
        }
        let usable = loaded
            .plugin
            .servers()
            .filter(|(document, server)| document.is_usable() && !server.disabled);
        let mut names: Vec<String> = usable.map(|(_, server)| server.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Err(ReachError::WhichServer { names }.into());
        }
        Ok(names)
    }
}

/// Serves servers together; each is approved, resolved and connected when it is first needed.
fn several(
    arguments: &Run,
    session: Session,
    loaded: Loaded,
    names: &[String],
    host: &Arc<Host>,
) -> Connection {
    let loaded = Arc::new(loaded);
    let mut settings = Settings::new(client_info());
    settings.observer = Arc::new(session.events.clone());
    if let [_] = names {
        settings.naming = Naming::Bare;
    }
    let members = names.iter().map(|name| Member {
        name: name.clone(),
        connector: Arc::new(Lazy::new(&arguments.reach, &session, &loaded, name, host)),
        timeout: None,
    });
    aggregate(members.collect(), settings)
}

/// Standard input and output without a thread between, where they are pipes.
pub(super) fn pipes() -> Result<(Option<pipe::Receiver>, Option<pipe::Sender>), CliError> {
    let failed = |source| ReachError::Client { source };
    let input = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed)?;
    let output = std::io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed)?;
    // What is made ready for one of them is made so for everybody who shares it, so both or none.
    if !is_pipe(&input) || !is_pipe(&output) {
        return Ok((None, None));
    }
    Ok((
        pipe::Receiver::from_owned_fd(input).ok(),
        pipe::Sender::from_owned_fd(output).ok(),
    ))
}

fn is_pipe(descriptor: &OwnedFd) -> bool {
    let file = descriptor.try_clone().map(File::from);
    let kind = file.and_then(|file| file.metadata());
    kind.is_ok_and(|found| found.file_type().is_fifo())
}

/// Less than the minute that most clients wait for a call.
const ENTRY_WAIT: Duration = Duration::from_secs(45);
