//! `keyway run`: MCP on standard input and output for any client.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::connect::{Connection, Host};
use keyway::load::Loaded;
use keyway::sign_in::PromptPolicy;
use keyway_gateway::sharing::relay;
use keyway_mcp::aggregate::{Member, Naming, Settings, aggregate};
use keyway_mcp::bridge::bridge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::lazy::Lazy;
use crate::reach::{Manner, Reach, ReachError, Ready, client_info, find, tell_left_out};
use crate::server_args::{ServerArgs, all, named};
use crate::shared::Shared;

/// Serve a plugin's servers to a client over stdio
///
/// The names of tools get the server's name as a prefix if there are several servers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway run docs
  keyway run --config ~/plugins/wiki
  claude mcp add docs -- keyway run docs --config ~/plugins/wiki")]
pub(crate) struct Run {
    #[command(flatten)]
    servers: ServerArgs,
    /// Do not reuse connections of a running gateway
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command; standard output carries protocol and nothing else.
pub(crate) fn run(arguments: &Run, context: &CommandContext) -> Result<Exit, CliError> {
    let (loaded, given) = arguments.servers.load(context, &arguments.reach)?;
    let names = if given.is_empty() {
        let all = all(&loaded)?;
        tell_left_out(context, &loaded);
        all
    } else {
        named(&loaded, &given)?
    };
    let alone = arguments.standalone || !arguments.reach.is_plain() || context.events.is_on();
    super::block_on(async {
        let runner = Arc::new(Runner {
            reach: arguments.reach.clone(),
            context: context.clone(),
            loaded: Arc::new(loaded),
            names,
            shared: if alone { None } else { Shared::find() },
        });
        let (input, output) = pipes()?;
        let bridged = match (input, output) {
            (Some(input), Some(output)) => runner.serve(input, output).await?,
            _ => {
                runner
                    .serve(tokio::io::stdin(), tokio::io::stdout())
                    .await?
            }
        };
        bridged.map_err(|source| ReachError::Client { source })?;
        Ok(Exit::Done)
    })
}

/// One client and what it is to be connected to.
struct Runner {
    reach: Reach,
    context: CommandContext,
    loaded: Arc<Loaded>,
    names: Vec<String>,
    shared: Option<Shared>,
}

impl Runner {
    /// Serves the client until it goes away.
    async fn serve<R, W>(self: Arc<Self>, input: R, output: W) -> Result<io::Result<()>, CliError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let host = self.host(PromptPolicy::AtMost(ENTRY_WAIT))?;
        let ready = self.ready();
        let shared = match (&ready, &self.shared) {
            (Some(ready), Some(shared)) => shared.ask(ready, &host).await,
            _ => None,
        };
        // As a task like all others: the runtime looks for news less often between them.
        let bridging = if let Some(stream) = shared {
            let alone = async move || self.alone(&host).await;
            tokio::spawn(async move { relay(input, output, stream, alone).await })
        } else {
            let connection = match ready {
                Some(ready) if ready.is_open(&host).await => {
                    lasting(ready.connect(&host).await?.connection)
                }
                _ => self.together()?,
            };
            tokio::spawn(bridge(input, output, connection))
        };
        Ok(bridging.await.map_err(io::Error::other).flatten())
    }

    /// Returns the only server, if nobody has to do anything first but sign in.
    fn ready(&self) -> Option<Ready> {
        let [only] = self.names.as_slice() else {
            return None;
        };
        let entry = find(&self.loaded, Some(only)).ok()?;
        // A client that is told why can show it; one whose server is gone cannot.
        self.reach.prepare(&self.context, &self.loaded, entry).ok()
    }

    /// Connects without the gateway, which is gone.
    async fn alone(&self, host: &Host) -> Connection {
        if let Some(ready) = self.ready()
            && ready.is_open(host).await
            && let Ok(connected) = ready.connect(host).await
        {
            return lasting(connected.connection);
        }
        self.together()
            .unwrap_or_else(|_| aggregate(Vec::new(), Settings::new(client_info())))
    }

    /// Serves servers together; each is approved, resolved and connected when it is first needed.
    fn together(&self) -> Result<Connection, CliError> {
        let host = Arc::new(self.host(PromptPolicy::Never)?);
        let mut settings = Settings::new(client_info());
        if let [_] = self.names.as_slice() {
            settings.naming = Naming::Bare;
        }
        let connector = |name: &String| {
            let lazy = Lazy::new(&self.reach, &self.context, &self.loaded, name, &host);
            Arc::new(lazy.sharing(self.shared.as_ref()))
        };
        let members = self.names.iter().map(|name| Member {
            name: name.clone(),
            connector: connector(name),
            timeout: None,
            place: None,
        });
        Ok(aggregate(members.collect(), settings))
    }

    fn host(&self, asking: PromptPolicy) -> Result<Host, CliError> {
        let manner = Manner {
            asking,
            ..Manner::default()
        };
        self.reach.host(&self.context, manner)
    }
}

/// Standard input and output without a thread between, where they are pipes.
pub(super) fn pipes() -> Result<(Option<pipe::Receiver>, Option<pipe::Sender>), CliError> {
    let failed = |source| ReachError::Client { source };
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    // What is made ready for one of them is made so for everybody who shares it, so both or none.
    if !is_pipe(&input) || !is_pipe(&output) {
        return Ok((None, None));
    }
    Ok((
        pipe::Receiver::from_owned_fd(input).ok(),
        pipe::Sender::from_owned_fd(output).ok(),
    ))
}

/// Whoever talks to one server cannot connect to it again by itself.
fn lasting(connection: Connection) -> Connection {
    connection.link.reopen_lost_streams();
    connection
}

fn is_pipe(descriptor: &OwnedFd) -> bool {
    let file = descriptor.try_clone().map(File::from);
    let kind = file.and_then(|file| file.metadata());
    kind.is_ok_and(|found| found.file_type().is_fifo())
}

/// Less than the minute that most clients wait for a call.
const ENTRY_WAIT: Duration = Duration::from_secs(45);
