//! `keyway serve`: one door for every client on this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::connect::Host;
use keyway::gateway::{Gateway, ListenError, Listener, Reader, Register, Served, serve};
use keyway::load::Loaded;
use keyway::sign_in::Asking;
use keyway_secret::printable;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CliError;
use crate::exit::Exit;
use crate::lazy::Lazy;
use crate::reach::{Manner, Reach, ReachError, client_info};
use crate::session::{Session, Verbosity};
use crate::vault::{folders, open_vault};

/// Serve plugins to every client on this machine, over HTTP on the loopback interface
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
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command until it is told to stop.
pub(crate) fn run(arguments: &Serve, session: &Session) -> Result<Exit, CliError> {
    let plugins = arguments.load()?;
    let vault = Arc::new(open_vault()?);
    allow_many_connections();
    super::block_on_to_its_end(async {
        let servers = arguments.servers(session, &plugins)?;
        let routes: Vec<String> = servers.iter().map(route).collect();
        let reader: Reader = {
            let vault = Arc::clone(&vault);
            Arc::new(move || Register::new(&vault)?.list())
        };
        let gateway = Arc::new(Gateway::new(servers, reader, client_info()));
        let listeners = arguments.listeners(session)?;
        let port = listeners.iter().find_map(Listener::port);
        let port = port.unwrap_or_else(|| arguments.listen.port());
        session.print(&format!("http://127.0.0.1:{port}/mcp\n"), Exit::Done)?;
        if session.verbosity != Verbosity::Quiet {
            tell(session, &routes, port);
        }
        let stop = {
            let gateway = Arc::clone(&gateway);
            async move {
                ended_by_signal().await;
                gateway.stop_streams();
            }
        };
        let serving = serve(listeners, Arc::clone(&gateway) as _, stop);
        tokio::select! {
            () = serving => {}
            () = gateway.tend() => {}
        }
        // Children get to end in good order, but nobody waits for them forever.
        drop(tokio::time::timeout(CLOSE_TIME, gateway.close()).await);
        Ok(Exit::Done)
    })
}

impl Serve {
    fn load(&self) -> Result<Vec<Arc<Loaded>>, CliError> {
        let mut plugins = Vec::new();
        if self.paths.is_empty() {
            plugins.push(Arc::new(self.reach.load(None)?));
        }
        for path in &self.paths {
            plugins.push(Arc::new(self.reach.load(Some(path))?));
        }
        let mut names: Vec<String> = plugins.iter().map(|it| it.plugin.name()).collect();
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

    fn servers(&self, session: &Session, plugins: &[Arc<Loaded>]) -> Result<Vec<Served>, CliError> {
        let host = |asking| -> Result<Arc<Host>, CliError> {
            let manner = Manner {
                asking,
                ..Manner::default()
            };
            Ok(Arc::new(self.reach.host(session, manner)?))
        };
        let (together, direct) = (host(Asking::Never)?, host(Asking::AtMost(ENTRY_WAIT))?);
        let reach = self.reach.unattended();
        let mut servers = Vec::new();
        for loaded in plugins {
            let plugin = loaded.plugin.name();
            let usable = loaded
                .plugin
                .servers()
                .filter(|(document, server)| document.is_usable() && !server.disabled);
            let mut names: Vec<String> = usable.map(|(_, server)| server.name.clone()).collect();
            names.sort_unstable();
            names.dedup();
            servers.extend(names.into_iter().map(|name| {
                let lazy = Lazy::new(&reach, session, loaded, &name, &together);
                Served {
                    plugin: plugin.clone(),
                    upstream: Arc::new(lazy.directly(&direct)),
                    name,
                }
            }));
        }
        if servers.is_empty() {
            return Err(ReachError::WhichServer { names: Vec::new() }.into());
        }
        Ok(servers)
    }

    fn listeners(&self, session: &Session) -> Result<Vec<Listener>, CliError> {
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
    format!("/mcp/{}/{}", encoded(&server.plugin), encoded(&server.name))
}

/// Writes a name as a part of a path.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn tell(session: &Session, routes: &[String], port: u16) {
    let mut text = String::new();
    for route in routes {
        text.push_str(&format!("  http://127.0.0.1:{port}{}\n", printable(route)));
    }
    text.push_str("A client needs a token: keyway token new --name NAME\n");
    session.print_aside(&text);
}

/// Waits for Ctrl-C, or for whoever started us to end us.
async fn ended_by_signal() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
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

/// Less than the minute that most clients wait for a call.
const ENTRY_WAIT: Duration = Duration::from_secs(45);
const CLOSE_TIME: Duration = Duration::from_secs(5);
const MOST_FILES: u64 = 65_536;
