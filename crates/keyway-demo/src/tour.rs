//! The tour: to every server by the way that any host goes.
//!
//! load → trust → resolve → connect → session, then one list and one call.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyway::connect::Launcher;
use keyway::sign_in::PromptPolicy;
use keyway::vault::{Folders, KeySources, SourceKind};
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Transport};
use keyway_config::environment::Variables;
use keyway_config::method::Method;
use keyway_mcp::session::{Session, SessionError};
use keyway_mcp::states::{ServerProblem, ServerState, State};
use serde_json::json;

use crate::error::DemoError;
use crate::settings::Settings;

/// The way to all servers of a demo.
#[derive(Debug)]
pub struct Tour {
    plugin: Plugin,
}

/// What a visit to one server brought.
#[derive(Debug, Clone)]
pub struct Row {
    /// The server.
    pub server: String,
    /// How it is reached.
    pub transport: Transport,
    /// How it is authenticated to.
    pub method: Method,
    /// What became of it.
    pub state: ServerState,
    /// How many tools it has.
    pub tools: usize,
    /// How long the call of a tool took, once connected.
    pub latency: Option<Duration>,
    /// What went wrong.
    pub problem: Option<ServerProblem>,
}

impl Row {
    /// Says whether a tool was called and gave the right answer.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.state.state == State::Connected && self.latency.is_some()
    }
}

impl Tour {
    /// Loads the plugin and prepares a host that keeps everything below `home`.
    pub(crate) fn new(
        plugin: &Path,
        home: &Path,
        variables: Variables,
        settings: &Settings,
    ) -> Result<Self, DemoError> {
        let host = Host::builder()
            .client("keyway-demo", env!("CARGO_PKG_VERSION"))
            .launcher(Launcher::new(&settings.binary))
            .environment(variables)
            .child_environment(settings.environment.clone())
            .project_dir(plugin.to_owned())
            .isolation(settings.isolation.clone())
            .vault(
                Folders::below(home),
                KeySources::default().choosing(SourceKind::KeyFile),
            )
            .presenter(Arc::clone(&settings.presenter))
            .asking(PromptPolicy::WhenNeeded)
            .events(settings.events.clone())
            .clock(Arc::clone(&settings.clock) as _)
            // As with `--trust`: this plugin was written a moment ago, by us.
            .dangerous_approve_all(true)
            .build()?;
        let plugin = host.load(plugin)?;
        Ok(Self { plugin })
    }

    /// Returns the names of all servers, in the order of the file.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let servers = self.plugin.loaded().plugin.servers();
        servers.map(|(_, server)| server.name.clone()).collect()
    }

    /// Returns a row for a server that was not visited yet.
    #[must_use]
    pub fn unvisited(&self, name: &str) -> Option<Row> {
        self.find(name).map(Row::of)
    }

    /// Approves servers for later hosts with the same home.
    ///
    /// # Errors
    ///
    /// Returns [`DemoError::Vault`] if that cannot be kept.
    pub fn approve(&self, which: impl Fn(&str) -> bool) -> Result<(), DemoError> {
        let host = self.plugin.host();
        if host.approval_store().is_none() {
            return Ok(());
        }
        for name in self.servers().iter().filter(|name| which(name)) {
            if let Some(question) = self.plugin.question(name)? {
                host.dangerous_store_approval(&question)?;
            }
        }
        Ok(())
    }

    /// Visits one server: connects, lists its tools, calls one; `None` if there is no such server.
    ///
    /// A server that wants a sign-in waits for the person.
    ///
    /// Cancel safety: dropping the future ends the connection; a sign-in that was begun continues.
    pub async fn visit(&self, name: &str) -> Option<Row> {
        let mut row = Row::of(self.find(name)?);
        let visited = match self.approved(name).await {
            Ok(server) => talk(&server, &mut row).await,
            Err(error) => Err(error),
        };
        match visited {
            Ok(()) => row.state = ServerState::CONNECTED,
            Err(problem) => {
                row.state = problem.state;
                row.problem = Some(problem);
            }
        }
        Some(row)
    }

    fn find(&self, name: &str) -> Option<&DeclaredServer> {
        let mut servers = self.plugin.loaded().plugin.servers();
        let found = servers.find(|(_, server)| server.name == name);
        found.map(|(_, server)| server)
    }

    async fn approved(&self, name: &str) -> Result<Approved<Plan>, ServerProblem> {
        let problem = |error: Error| error.problem();
        let plan = self.plugin.plan(name).map_err(problem)?;
        plan.approve().await.map_err(problem)
    }
}

async fn talk(server: &Approved<Plan>, row: &mut Row) -> Result<(), ServerProblem> {
    let session = server.connect().await.map_err(|error| error.problem())?;
    let used = use_tools(&session, row).await;
    session.close().await;
    used
}

impl Row {
    fn of(server: &DeclaredServer) -> Self {
        Self {
            server: server.name.clone(),
            transport: server.transport,
            method: Method::declared(server),
            state: ServerState::CONNECTING,
            tools: 0,
            latency: None,
            problem: None,
        }
    }
}

/// Lists the tools and calls one whose answer can be checked.
async fn use_tools(session: &Session, row: &mut Row) -> Result<(), ServerProblem> {
    let failed = |error: SessionError| ServerProblem::from(&error);
    row.tools = session.tools().await.map_err(failed)?.len();
    let start = Instant::now();
    let result = session.call("echo", json!({ "text": GREETING })).await;
    if result.map_err(failed)?.text() != GREETING {
        return Err(broken(
            Code::DemoFailed,
            "the tool did not echo the message",
        ));
    }
    row.latency = Some(start.elapsed());
    Ok(())
}

fn broken(code: Code, message: &str) -> ServerProblem {
    let mut problem = ServerProblem::new(code, keyway_secret::printable(message));
    problem.state = ServerState::without_reason(State::Failed);
    problem
}

const GREETING: &str = "hello from keyway demo";
