//! `keyway run`: MCP on standard input and output for any client.

use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use keyway::aggregate::{Connector, Member, Opened, Settings, aggregate};
use keyway::bridge::bridge;
use keyway::connect::BoxFuture;
use keyway::connect::Connection;
use keyway::connect::Host;
use keyway::load::Loaded;
use keyway::states::Trouble;
use tokio::net::unix::pipe;

use crate::error::CliError;
use crate::exit::Exit;
use crate::host;
use crate::reach::{Reach, ReachError, client_info, find};
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
        let host = Arc::new(host::open()?);
        let connection = match names.as_slice() {
            [only] => match arguments
                .reach
                .prepare(session, &loaded, find(&loaded, Some(only))?)
            {
                Ok(ready) => ready.connect(&host).await?.connection,
                // A client that is told why can show it; one whose server is gone cannot.
                Err(_) => several(arguments, *session, loaded, &names, &host),
            },
            _ => several(arguments, *session, loaded, &names, &host),
        };
        let (input, output) = pipes()?;
        let bridged = match (input, output) {
            (Some(input), Some(output)) => bridge(input, output, connection).await,
            _ => bridge(tokio::io::stdin(), tokio::io::stdout(), connection).await,
        };
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
    let members = names.iter().map(|name| Member {
        name: name.clone(),
        connector: Arc::new(Lazy {
            reach: arguments.reach.clone(),
            session,
            loaded: Arc::clone(&loaded),
            server: name.clone(),
            host: Arc::clone(host),
        }),
        timeout: None,
    });
    aggregate(members.collect(), Settings::new(client_info()))
}

/// A server that is made ready each time it is connected to, so that an approval given meanwhile
/// counts.
#[derive(Debug)]
struct Lazy {
    reach: Reach,
    session: Session,
    loaded: Arc<Loaded>,
    server: String,
    host: Arc<Host>,
}

impl Connector for Lazy {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, Trouble>> {
        Box::pin(async move {
            let entry = find(&self.loaded, Some(&self.server)).map_err(|error| error.trouble())?;
            let ready = self.reach.prepare(&self.session, &self.loaded, entry);
            let ready = ready.map_err(|error| error.trouble())?;
            let connected = ready
                .connect(&self.host)
                .await
                .map_err(|error| error.trouble())?;
            Ok(Opened {
                connection: connected.connection,
                offer: connected.offer,
            })
        })
    }
}

/// Standard input and output without a thread between, where they are pipes.
fn pipes() -> Result<(Option<pipe::Receiver>, Option<pipe::Sender>), CliError> {
    let failed = |source| ReachError::Client { source };
    let input = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed)?;
    let output = std::io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed)?;
    Ok((
        pipe::Receiver::from_owned_fd(input).ok(),
        pipe::Sender::from_owned_fd(output).ok(),
    ))
}
