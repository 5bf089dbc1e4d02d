//! `keyway serve`: one door for every client on this machine.

mod plugins;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::dashboard::Dashboard;
use keyway::gateway::{Gateway, ListenError, Listener, Reader, Register, Served, serve};
use keyway::load::Loaded;
use keyway::sharing;
use keyway::vault::Vault;
use keyway_config::names::path_segment;
use keyway_secret::printable;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncReadExt as _;
use tokio::task::AbortHandle;

use self::plugins::Plugins;
use crate::dashboard::Desk;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{Reach, ReachError, client_info};
use crate::service_manager;
use crate::session::{Session, Verbosity};
use crate::shared;
use crate::signals;
use crate::traces;
use crate::vault::folders;

/// Serve plugins over HTTP to every client on this machine
///
/// It listens on the loopback interface, and on private sockets.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Plugin folders or files; without one, as `--config`
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Where to listen; only 127.0.0.1 and [::1] are taken, and port 0 means any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5399")]
    listen: SocketAddr,
    /// The socket for processes of the same user, which need no token; otherwise `gateway.sock` in
    /// the folder for run-time files
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// End when standard input does
    #[arg(long, hide = true)]
    while_input: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command until it is told to stop.
pub(crate) fn run(arguments: &Serve, session: &Session) -> Result<Exit, CliError> {
    allow_many_connections();
    super::block_on_to_its_end(async {
        let desk = Desk::new(&arguments.reach, session)?;
        let vault = desk.vault()?;
        let mut plugins = Plugins::open(arguments, session, &desk)?;
        desk.serves(plugins.loaded());
        let servers = plugins.servers();
        let routes: Vec<String> = servers.iter().map(route).collect();
        let reader: Reader = {
            let vault = Arc::clone(&vault);
            Arc::new(move || Register::new(&vault)?.list())
        };
        let (activity, export) = traces::begin(session)?;
        let activity = Arc::new(activity);
        let dashboard = Dashboard::new(Arc::clone(&desk) as _, Arc::clone(&activity));
        let dashboard = Arc::new(dashboard);
        let gateway = Gateway::new(servers, reader, client_info())
            .recording(activity)
            .with_dashboard(Arc::clone(&dashboard));
        let gateway = Arc::new(gateway);
        desk.tends(&gateway);
        let listeners = arguments.listeners(session)?;
        let sharing = arguments.share(&gateway, &vault)?;
        let port = listeners.iter().find_map(Listener::port);
        let port = port.unwrap_or_else(|| arguments.listen.port());
        dashboard.listens_at(port);
        session.print(&format!("http://127.0.0.1:{port}/mcp\n"), Exit::Done)?;
        if session.verbosity != Verbosity::Quiet {
            tell(session, &routes, port);
            invite(session, &dashboard);
        }
        service_manager::tell(service_manager::State::Ready);
        let stop = {
            let gateway = Arc::clone(&gateway);
            async move {
                tokio::select! {
                    () = ended_by_signal() => {}
                    () = end_of_input(), if arguments.while_input => {}
                }
                service_manager::tell(service_manager::State::Stopping);
                gateway.stop_streams();
                if let Some(sharing) = sharing {
                    sharing.abort();
                }
            }
        };
        let serving = serve(listeners, Arc::clone(&gateway) as _, stop);
        tokio::select! {
            () = serving => {}
            () = gateway.tend() => {}
            () = plugins.follow(Arc::clone(&gateway)) => {}
        }
        // Children get to end in good order, but nobody waits for them forever.
        drop(tokio::time::timeout(CLOSE_TIME, gateway.close()).await);
        if let Some(export) = export {
            export.end().await;
        }
        Ok(Exit::Done)
    })
}

impl Serve {
    /// Reads the plugins, each with the path by which it is read again.
    fn load(&self, session: &Session) -> Result<Vec<(PathBuf, Loaded)>, CliError> {
        let mut plugins = Vec::new();
        if self.paths.is_empty() {
            let loaded = self.reach.load(session, None)?;
            let found = || loaded.plugin.root.clone();
            let path = self.reach.config.clone().unwrap_or_else(found);
            plugins.push((path, loaded));
        }
        for path in &self.paths {
            plugins.push((path.clone(), self.reach.load(session, Some(path))?));
        }
        if plugins
            .iter()
            .all(|(_, loaded)| plugins::names(loaded).is_empty())
        {
            return Err(ReachError::WhichServer { names: Vec::new() }.into());
        }
        let mut names: Vec<String> = plugins.iter().map(|(_, it)| it.plugin.name()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        if names.len() < count {
            return Err(CliError::Usage {
                what: "two plugins have the same name, so that no token could tell them apart",
            });
        }
        Ok(plugins)
    }

    /// Lets `keyway run` of the same user use our connections.
    fn share(
        &self,
        gateway: &Arc<Gateway>,
        vault: &Vault,
    ) -> Result<Option<AbortHandle>, CliError> {
        let (Some(socket), Some(key)) = (shared::socket(), sharing::make_key(vault)?) else {
            return Ok(None);
        };
        let listener = match Listener::unix(&socket) {
            Ok(listener) => listener,
            // Another gateway shares its own.
            Err(ListenError::Taken { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let sharing = sharing::share(listener, Arc::clone(gateway), key);
        Ok(Some(tokio::spawn(sharing).abort_handle()))
    }

    fn listeners(&self, session: &Session) -> Result<Vec<Listener>, CliError> {
        let inherited = service_manager::inherited()?;
        if !inherited.is_empty() {
            return Ok(inherited);
        }
        let mut listeners = vec![Listener::loopback(self.listen)?];
        let usual = folders()?.runtime.join("gateway.sock");
        let path = self.socket.as_ref().unwrap_or(&usual);
        match Listener::unix(path) {
            Ok(listener) => listeners.push(listener),
            Err(ListenError::Taken { .. }) if self.socket.is_none() => {
                session
                    .print_aside("note: another gateway has the socket; this one goes without\n");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(listeners)
    }
}

fn route(server: &Served) -> String {
    let (plugin, name) = (path_segment(&server.plugin), path_segment(&server.name));
    format!("/mcp/{plugin}/{name}")
}

fn tell(session: &Session, routes: &[String], port: u16) {
    let mut text = String::new();
    for route in routes {
        text.push_str(&format!("  http://127.0.0.1:{port}{}\n", printable(route)));
    }
    text.push_str("A client needs a token: keyway token new --name NAME\n");
    session.print_aside(&text);
}

/// Prints the way to the dashboard. A journal keeps what it gets, so that it gets no link.
fn invite(session: &Session, dashboard: &Dashboard) {
    let link = dashboard
        .link()
        .filter(|_| !ProcessEnvironment::has_journal());
    session.print_aside(&match link {
        Some(link) => format!(
            "The dashboard, by a link that works once within five minutes:\n  {}\n\
             Another link: keyway open\n",
            link.expose()
        ),
        None => "The dashboard: keyway open\n".to_owned(),
    });
}

/// Waits for Ctrl-C, or for whoever started us to end us.
async fn ended_by_signal() {
    tokio::select! {
        () = signals::interrupted() => {}
        () = signals::terminated() => {}
    }
}

/// Waits until whoever started us is gone.
async fn end_of_input() {
    let mut piece = [0; 64];
    let mut input = tokio::io::stdin();
    while matches!(input.read(&mut piece).await, Ok(1..)) {}
}

/// Each client has a connection or two, and so has each server.
fn allow_many_connections() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum.map(|most| most.min(MOST_FILES)),
        ..limit
    };
    // With fewer, fewer clients fit.
    let _as_before = setrlimit(Resource::Nofile, raised);
}

const CLOSE_TIME: Duration = Duration::from_secs(5);
const MOST_FILES: u64 = 65_536;
