//! The servers: one port each, one gate each, and the same two tools behind every gate.

mod authority;
mod gate;
mod http;
mod mcp;
mod page;
mod site;
mod stream;
mod tokens;
mod websocket;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyway_transport::{Listener, serve};
use tokio::task::JoinSet;

use self::authority::Authority;
use self::gate::Gate;
use self::site::{Site, Talk};
use crate::clock::DemoClock;
use crate::credentials::{
    API_KEY, Credentials, EVENTS_TOKEN, LIVE_TOKEN, SIGNING_KEY, SIGNING_SECRET, TENANT, TOKEN,
};
use crate::error::DemoError;
use crate::journal::Journal;

pub(crate) use self::mcp::answer as mcp_answer;

/// The ports of all servers, open but not yet served.
#[derive(Debug)]
pub(crate) struct Ports {
    /// OAuth over Streamable HTTP.
    pub(crate) docs: Port,
    /// A bearer token over Streamable HTTP.
    pub(crate) search: Port,
    /// An API key and a tenant over Streamable HTTP.
    pub(crate) tenant: Port,
    /// Signed requests over Streamable HTTP.
    pub(crate) signed: Port,
    /// A bearer token over a WebSocket.
    pub(crate) live: Port,
    /// A bearer token over HTTP with SSE.
    pub(crate) events: Port,
}

/// One open port.
#[derive(Debug)]
pub(crate) struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

impl Ports {
    /// Opens a free port of loopback for each server.
    pub(crate) fn open() -> Result<Self, DemoError> {
        Ok(Self {
            docs: Port::open()?,
            search: Port::open()?,
            tenant: Port::open()?,
            signed: Port::open()?,
            live: Port::open()?,
            events: Port::open()?,
        })
    }
}

impl Port {
    fn open() -> Result<Self, DemoError> {
        let failed = |source| DemoError::Listen { source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Returns host and port, as they stand in an address.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }
}

/// The servers at work; dropping this ends them with all of their connections.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Held for the tasks in it.
    _tasks: JoinSet<()>,
}

/// How the servers behave.
#[derive(Debug, Clone)]
pub(crate) struct Manners {
    /// How long an access token of `docs` lives.
    pub(crate) token_life: Duration,
    /// What time it is.
    pub(crate) now: fn() -> SystemTime,
    /// By which access tokens expire.
    pub(crate) clock: Arc<DemoClock>,
}

impl Servers {
    /// Starts to serve.
    pub(crate) fn start(
        ports: &Ports,
        credentials: &Credentials,
        journal: &Journal,
        manners: &Manners,
    ) -> Result<Self, DemoError> {
        let secret = |name| credentials.get(name);
        let authority = Authority::new(&ports.docs.authority(), manners, journal);
        let signature = Gate::Signature {
            key: secret(SIGNING_KEY)?,
            secret: secret(SIGNING_SECRET)?,
            now: manners.now,
        };
        let tenant = Gate::Tenant {
            key: secret(API_KEY)?,
            tenant: secret(TENANT)?,
        };
        let (search, live) = (secret(TOKEN)?, secret(LIVE_TOKEN)?);
        let events = secret(EVENTS_TOKEN)?;
        let sites = [
            (&ports.docs, "docs", Talk::Exchange, Gate::OAuth(authority)),
            (
                &ports.search,
                "search",
                Talk::Exchange,
                Gate::Bearer(search),
            ),
            (&ports.tenant, "tenant", Talk::Exchange, tenant),
            (&ports.signed, "signed", Talk::Exchange, signature),
            (&ports.live, "live", Talk::Socket, Gate::Bearer(live)),
            (
                &ports.events,
                "events",
                Talk::stream(),
                Gate::Bearer(events),
            ),
        ];
        let mut tasks = JoinSet::new();
        for (port, name, talk, gate) in sites {
            let failed = |source| DemoError::Listen { source };
            let listener = port.listener.try_clone().map_err(failed)?;
            let listener = Listener::inherited_loopback(listener, None);
            let listener = listener.map_err(|error| failed(std::io::Error::other(error)))?;
            let site = Site {
                name,
                authority: port.authority(),
                talk,
                gate,
                journal: journal.clone(),
            };
            let forever = std::future::pending();
            tasks.spawn(serve(vec![listener], Arc::new(site), forever));
        }
        Ok(Self { _tasks: tasks })
    }
}

/// Where messages go.
const MCP: &str = "/mcp";
