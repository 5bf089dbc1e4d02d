//! `keyway run`: MCP on standard input and output for any client.

use std::io;
use std::sync::Arc;

use clap::Args;
use keyway::connect::Connection;
use keyway::diagnosis::explainer;
use keyway::host::keyway_folders;
use keyway::sign_in::PromptPolicy;
use keyway::{Approved, Host, Plan, Plugin};
use keyway_code::Exit;
use keyway_gateway::lazy_server::{LazyServer, LazyServerOptions};
use keyway_gateway::shared_gateway::SharedGateway;
use keyway_gateway::sharing::relay;
use keyway_mcp::aggregate::{AggregateSettings, Member, Naming, aggregate};
use keyway_mcp::bridge::{
    BridgedServer, PipeReader, PipeWriter, bridge, bridge_explained, standard_pipes,
};
use keyway_mcp::timeouts::SIGN_IN_TIMEOUT;
use keyway_mcp::tool_memory::ToolMemory;

use crate::arguments::connect::{ConnectArgs, SignInPolicy, tell_skipped};
use crate::arguments::server::{ServerArgs, all, named};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::settings;

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
    reach: ConnectArgs,
}

/// Runs the command; standard output carries protocol and nothing else.
pub(crate) fn run(arguments: &Run, context: &CommandContext) -> Result<Exit, CliError> {
    let alone = arguments.standalone || !arguments.reach.is_plain() || context.is_recorded;
    super::block_on(async {
        let policy = SignInPolicy::waiting(PromptPolicy::AtMost(SIGN_IN_TIMEOUT));
        let host = arguments.reach.host(context, policy)?;
        let host = host.with_codes_shown_by_clients();
        let (plugin, given) = arguments.servers.load(&host, &arguments.reach)?;
        let names = if given.is_empty() {
            let all = all(&plugin)?;
            tell_skipped(context, plugin.loaded());
            all
        } else {
            named(&plugin, &given)?
        };
        let folders = keyway_folders().filter(|_| !alone);
        let shared = folders.and_then(|it| SharedGateway::find(&it.runtime, settings::around));
        if let ([only], None) = (names.as_slice(), &shared) {
            plugin.start_launcher_ahead(only);
        }
        let runner = Arc::new(Runner {
            shared,
            plugin,
            names,
        });
        let (input, output) = standard_pipes().map_err(|source| CliError::Client { source })?;
        let bridged = runner.serve(input, output).await?;
        bridged.map_err(|source| CliError::Client { source })?;
        Ok(Exit::Done)
    })
}

/// One client and what it is to be connected to.
struct Runner {
    /// Under a host that may ask for a sign-in, for a while.
    plugin: Plugin,
    names: Vec<String>,
    shared: Option<SharedGateway>,
}

impl Runner {
    /// Serves the client until it goes away.
    async fn serve(
        self: Arc<Self>,
        input: PipeReader,
        output: PipeWriter,
    ) -> Result<io::Result<()>, CliError> {
        let only = self.only_server().await;
        let shared = match (&only, &self.shared) {
            (Some(server), Some(shared)) => shared.connect(server).await,
            _ => None,
        };
        // As a task like all others: the runtime looks for news less often between them.
        let bridging = if let Some(stream) = shared {
            let alone = async move || self.alone().await;
            tokio::spawn(async move { relay(input, output, stream, alone).await })
        } else {
            match only {
                Some(server) if server.is_open().await => match server.open().await {
                    Ok(connected) => {
                        let site = self.plugin.declaration_site(&server.spec().name);
                        let explainer = explainer(server.spec().clone(), site);
                        let connection = lasting(connected.connection);
                        let tools = server.remembered_tools();
                        let tools = tools.map(|tools| Arc::new(tools) as Arc<dyn ToolMemory>);
                        let fallback = Box::new(move || self.together());
                        let bridged = BridgedServer::new(connection, explainer, fallback);
                        let bridged = bridged.with_tool_memory(tools);
                        tokio::spawn(bridge_explained(input, output, bridged))
                    }
                    // It cannot even be started: a client that is told why can show it.
                    Err(_) => tokio::spawn(bridge(input, output, self.together())),
                },
                _ => tokio::spawn(bridge(input, output, self.together())),
            }
        };
        Ok(bridging.await.map_err(io::Error::other).flatten())
    }

    /// Returns the only server, if nothing has to be done first but to sign in.
    async fn only_server(&self) -> Option<Approved<Plan>> {
        let [only] = self.names.as_slice() else {
            return None;
        };
        // A client that is told why can show it; one whose server is gone cannot.
        self.plugin.plan(only).ok()?.approve().await.ok()
    }

    /// Connects without the gateway, which is gone.
    async fn alone(&self) -> Connection {
        if let Some(server) = self.only_server().await
            && server.is_open().await
            && let Ok(connected) = server.open().await
        {
            return lasting(connected.connection);
        }
        self.together()
    }

    /// Serves servers together; each is planned, approved and connected when it is first needed.
    fn together(&self) -> Connection {
        let host: Host = self.plugin.host().with_asking(PromptPolicy::Never);
        let mut settings = AggregateSettings::new(host.client().clone());
        if let [_] = self.names.as_slice() {
            settings.naming = Naming::Bare;
        }
        let plugin = host.plugin(Arc::clone(self.plugin.loaded()));
        let members = self.names.iter().map(|name| {
            let mut options = LazyServerOptions::default();
            options.shared.clone_from(&self.shared);
            let server = LazyServer::new(plugin.clone(), name.clone(), options);
            Member::new(name, Arc::new(server))
        });
        aggregate(members.collect(), settings)
    }
}

/// The client of a single server cannot reconnect by itself.
fn lasting(connection: Connection) -> Connection {
    connection.link.reopen_lost_streams();
    connection
}
