//! The local gateway: Streamable HTTP in both protocol eras, in front of the servers of plugins.
//!
//! Closed by default. A request has to name this machine, come from no foreign page, and show a
//! capability that opens the server it asks for; then one client is one connection to a server, as
//! on pipes, and bytes pass through. What a client sends to be let in goes no further.

mod capability;
mod closing;
mod exchange;
mod guard;
mod holders;
mod incoming;
mod legacy;
mod metrics;
mod modern;
mod old_sse;
mod reply;
mod room;
mod roster;
mod routes;
mod runners;
mod stay;
mod streams;
mod told;
mod ways;

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use keyway_auth::BoxFuture;
use keyway_transport::{Envelope, Inbound, Reply, Service};
use tokio::time::{Instant, interval};

pub use keyway_transport::{ListenError, Listener, serve};

pub use self::capability::{Capability, IssueError, Register, Scope};
use self::holders::Holders;
pub use self::holders::Reader;
use self::incoming::{Incoming, bounded, tool_name};
use self::legacy::Sessions;
use self::metrics::Metrics;
use self::modern::Pools;
use self::old_sse::OldSessions;
use self::reply::{INVALID_REQUEST, PARSE_ERROR, SESSION_ID, VERSION};
pub use self::roster::{Served, Upstream};
use self::routes::NoRoute;
pub(crate) use self::routes::decoded;
pub(crate) use self::runners::Runner;
use self::ways::Ways;
use crate::activity::{self, Activity, Outcome, Ticket};
use crate::dashboard::Dashboard;
use crate::traces::Parent;
use keyway_mcp::aggregate::Subject;
use keyway_mcp::eras::{Spoken, names::MODERN};
use keyway_mcp::session::ClientInfo;

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    ways: Arc<Ways>,
    holders: Holders,
    sessions: Sessions,
    old_sessions: OldSessions,
    pools: Pools,
    metrics: Metrics,
    activity: Arc<Activity>,
    dashboard: Option<Arc<Dashboard>>,
}

impl Gateway {
    /// Puts servers behind a gateway that lets in whom `capabilities` names.
    #[must_use]
    pub fn new(servers: Vec<Served>, capabilities: Reader, info: ClientInfo) -> Self {
        Self {
            ways: Arc::new(Ways::new(servers, info)),
            holders: Holders::new(capabilities),
            sessions: Sessions::default(),
            old_sessions: OldSessions::default(),
            pools: Pools::default(),
            metrics: Metrics::default(),
            activity: Arc::default(),
            dashboard: None,
        }
    }

    /// Records what clients ask here.
    #[must_use]
    pub fn recording(mut self, activity: Arc<Activity>) -> Self {
        self.activity = activity;
        self
    }

    /// Lets a person in as well.
    #[must_use]
    pub fn with_dashboard(mut self, dashboard: Arc<Dashboard>) -> Self {
        self.dashboard = Some(dashboard);
        self
    }

    /// Returns the servers as they are now.
    #[must_use]
    pub fn servers(&self) -> Arc<[Arc<Served>]> {
        self.ways.servers()
    }

    /// Puts other servers in the place of those that were there.
    ///
    /// One that is [the same](Served::is_same_as) as before keeps its connections. Those to all
    /// others are ended when the calls under way are, or after some seconds. Sessions go on over
    /// new connections where the entry is still the same, and end elsewhere.
    ///
    /// Must be called inside a runtime.
    pub fn replace(&self, servers: Vec<Served>) {
        self.ways.change(|current| {
            let kept = servers.into_iter().map(|new| {
                let same = current.iter().find(|old| old.is_same_as(&new));
                same.cloned().unwrap_or_else(|| Arc::new(new))
            });
            kept.collect()
        });
        self.let_go();
        self.ways.adapt();
    }

    /// Ends the connections to one server, so that whoever needs it next connects anew; sessions
    /// go on.
    ///
    /// Must be called inside a runtime.
    pub fn reconnect(&self, plugin: &str, name: &str) {
        self.ways.change(|current| {
            let renewed = current.iter().map(|server| {
                if server.plugin == plugin && server.name == name {
                    Arc::new(server.renewed())
                } else {
                    Arc::clone(server)
                }
            });
            renewed.collect()
        });
        self.let_go();
    }

    /// Ends the connections that do not lead any more where their clients want to go, and moves
    /// sessions to others where there are any.
    fn let_go(&self) {
        let (servers, closings) = (self.servers(), &self.ways.closings);
        for stay in self.sessions.let_go(&servers) {
            closings.begin(stay.finish());
        }
        for room in self.pools.let_go(&servers) {
            closings.begin(roster::finish(room));
        }
        self.old_sessions.let_go(&servers, closings);
        let mut moving = self.sessions.to_move(&servers);
        moving.extend(self.old_sessions.to_move(&servers));
        for stay in moving {
            let ways = Arc::clone(&self.ways);
            closings.begin(async move { stay.settle(&ways).await });
        }
    }

    /// Keeps streams alive, and ends what nobody uses or may use any more; never returns.
    pub async fn tend(&self) {
        let mut beat = interval(BEAT);
        let mut beats = 0_u64;
        loop {
            beat.tick().await;
            beats += 1;
            if self.session_count() > 0 || !self.pools.is_empty() {
                self.holders.refresh().await;
            }
            // Of what was under way when the servers changed.
            self.let_go();
            let closings = &self.ways.closings;
            closings.end(self.sessions.sweep(&self.holders));
            closings.end(self.old_sessions.sweep(&self.holders));
            closings.close(self.pools.sweep(&self.holders));
            if beats.is_multiple_of(BEATS_PER_SIGN) {
                self.sessions.tend();
                self.old_sessions.tend();
            }
        }
    }

    /// Ends the streams that would never end, so that everything else can be finished.
    pub fn stop_streams(&self) {
        self.sessions.stop_streams();
        self.old_sessions.stop(&self.ways.closings);
        if let Some(dashboard) = &self.dashboard {
            dashboard.stop_streams();
        }
    }

    /// Ends all connections in good order.
    pub async fn close(&self) {
        let closings = &self.ways.closings;
        closings.end(self.sessions.take());
        self.pools.close(closings).await;
        closings.settled().await;
    }

    fn session_count(&self) -> usize {
        self.sessions.count() + self.old_sessions.count()
    }

    async fn handle(&self, request: Inbound) -> Reply {
        if !guard::is_ours(request.peer, &request.uri, &request.headers) {
            return reply::forbidden();
        }
        let path = request.uri.path();
        if path == "/healthz" {
            return reply::plain(StatusCode::OK, "ok\n");
        }
        if let Some(dashboard) = self.dashboard.as_ref().filter(|_| Dashboard::is_own(path)) {
            return dashboard.answer(request).await;
        }
        let principal = self.holders.principal(request.peer, &request.headers);
        let Some(principal) = principal.await else {
            return reply::forbidden();
        };
        if path == "/metrics" {
            let text = self.metrics.text(self.session_count());
            return reply::plain(StatusCode::OK, "").body(text);
        }
        let route = match routes::find(path, &self.servers(), &principal) {
            Ok(route) => route,
            Err(nowhere) => {
                if let Some(route) = self.old_route(path, &principal) {
                    return Box::pin(self.old(request, principal, route)).await;
                }
                return match nowhere {
                    NoRoute::Forbidden => reply::forbidden(),
                    NoRoute::Unknown => reply::plain(StatusCode::NOT_FOUND, "not found\n"),
                };
            }
        };
        match request.method {
            Method::POST => match Incoming::read(request, principal, route).await {
                Ok(incoming) => self.post(incoming).await,
                Err(refusal) => refusal,
            },
            Method::GET => self.listen(&principal, &route, &request.headers),
            Method::DELETE => self.end(&principal, &route, &request.headers).await,
            _ => reply::wrong_method(),
        }
    }

    async fn post(&self, mut incoming: Incoming) -> Reply {
        let Ok(envelope) = incoming.frame.envelope() else {
            let (code, what) = match incoming.frame.bytes().first() {
                Some(b'[') => (INVALID_REQUEST, "batches are not taken"),
                _ => (PARSE_ERROR, "not a JSON-RPC message"),
            };
            return reply::error(StatusCode::BAD_REQUEST, None, &reply::fault(code, what));
        };
        incoming.ticket = self.begin(&incoming, &envelope);
        let told = incoming.headers.get(VERSION);
        let is_modern = told.is_some_and(|version| version == MODERN)
            || !incoming.headers.contains_key(SESSION_ID)
                && Spoken::of(&envelope) == Some(Spoken::Modern);
        let reply = if is_modern {
            self.modern(&incoming, &envelope).await
        } else {
            self.legacy(&incoming, &envelope).await
        };
        if let Some(ticket) = &incoming.ticket
            && !reply.status().is_success()
        {
            ticket.end(Outcome::Status(reply.status().as_u16()));
        }
        reply
    }

    /// Notes a request; what is no request is not noted.
    fn begin(&self, incoming: &Incoming, envelope: &Envelope<'_>) -> Option<Arc<Ticket>> {
        let method = envelope
            .method
            .as_deref()
            .filter(|_| envelope.id().is_some())?;
        let served = incoming.route.only();
        let asked = activity::Asked {
            server: served.map(|served| (served.plugin.clone(), served.name.clone())),
            by: incoming.principal.name().to_owned(),
            method: bounded(method),
            tool: (method == "tools/call")
                .then(|| tool_name(envelope))
                .flatten(),
            parent: Parent::read(&incoming.headers),
        };
        let ticket = self.activity.begin(asked);
        let subject = || Subject::of(method, envelope.params?.get());
        let subject = served.is_none().then(subject).flatten();
        Some(Arc::new(ticket.about(subject)))
    }
}

impl Service for Gateway {
    fn answer(self: Arc<Self>, request: Inbound) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let begun = Instant::now();
            let reply = self.handle(request).await;
            self.metrics.http.count(reply.status(), begun.elapsed());
            reply
        })
    }
}

const BEAT: Duration = Duration::from_secs(1);
/// A sign of life every quarter of a minute.
const BEATS_PER_SIGN: u64 = 15;

#[cfg(test)]
mod tests;
