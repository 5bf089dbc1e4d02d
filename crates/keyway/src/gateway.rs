//! The local gateway: Streamable HTTP in both protocol eras, in front of the servers of plugins.
//!
//! Closed by default. A request has to name this machine, come from no foreign page, and show a
//! capability that opens the server it asks for; then one client is one connection to a server, as
//! on pipes, and bytes pass through. What a client sends to be let in goes no further.

mod capability;
mod exchange;
mod guard;
mod holders;
mod legacy;
mod metrics;
mod modern;
mod reply;
mod room;
mod routes;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, StatusCode};
use keyway_auth::BoxFuture;
use keyway_transport::{Connection, Envelope, Frame, Inbound, Reply, Service};
use tokio::time::{Instant, interval};

pub use keyway_transport::{ListenError, Listener, serve};

pub use self::capability::{Capability, IssueError, Register, Scope};
pub use self::holders::Reader;
use self::holders::{Holders, Principal};
use self::legacy::Sessions;
use self::metrics::Metrics;
use self::modern::Pools;
use self::reply::{INVALID_REQUEST, PARSE_ERROR, SESSION_ID, VERSION};
use self::room::Asked;
use self::routes::{NoRoute, Route};
use crate::aggregate::{Connector, Member, Naming, Settings, aggregate};
use crate::eras::{Spoken, names::MODERN};
use crate::session::ClientInfo;

/// A server that is served.
#[derive(Debug)]
pub struct Served {
    /// The name of its plugin.
    pub plugin: String,
    /// Its own name.
    pub name: String,
    /// How to reach it.
    pub upstream: Arc<dyn Upstream>,
}

/// Reaches one server, and knows whether a person has to do something first.
pub trait Upstream: Connector {
    /// Connects if the server can be talked to as it is: approved, and signed in to if need be.
    fn open(&self) -> BoxFuture<'_, Option<Connection>>;
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    servers: Vec<Served>,
    holders: Holders,
    sessions: Sessions,
    pools: Pools,
    metrics: Metrics,
    info: ClientInfo,
}

/// A client's message, with what decides how it is served.
struct Incoming {
    principal: Principal,
    route: Route,
    headers: HeaderMap,
    frame: Frame,
}

impl Gateway {
    /// Puts servers behind a gateway that lets in whom `capabilities` names.
    #[must_use]
    pub fn new(servers: Vec<Served>, capabilities: Reader, info: ClientInfo) -> Self {
        Self {
            servers,
            holders: Holders::new(capabilities),
            sessions: Sessions::default(),
            pools: Pools::default(),
            metrics: Metrics::default(),
            info,
        }
    }

    /// Keeps streams alive, and ends what nobody uses or may use any more; never returns.
    pub async fn tend(&self) {
        let mut beat = interval(BEAT);
        let mut beats = 0_u64;
        loop {
            beat.tick().await;
            beats += 1;
            if self.sessions.count() > 0 || !self.pools.is_empty() {
                self.holders.refresh().await;
            }
            self.sessions.sweep(&self.holders).await;
            self.pools.sweep(&self.holders).await;
            if beats.is_multiple_of(BEATS_PER_SIGN) {
                self.sessions.tend();
            }
        }
    }

    /// Ends the streams that would never end, so that everything else can be finished.
    pub fn stop_streams(&self) {
        self.sessions.stop_streams();
    }

    /// Ends all connections in good order.
    pub async fn close(&self) {
        self.sessions.close().await;
        self.pools.close().await;
    }

    async fn handle(&self, mut request: Inbound) -> Reply {
        if !guard::is_ours(request.guest, &request.uri, &request.headers) {
            return reply::forbidden();
        }
        let path = request.uri.path();
        if path == "/healthz" {
            return reply::plain(StatusCode::OK, "ok\n");
        }
        let principal = self.holders.principal(request.guest, &request.headers);
        let Some(principal) = principal.await else {
            return reply::forbidden();
        };
        if path == "/metrics" {
            let text = self.metrics.text(self.sessions.count());
            return reply::plain(StatusCode::OK, "").body(text);
        }
        let route = match routes::find(path, &self.servers, &principal) {
            Ok(route) => route,
            Err(NoRoute::Forbidden) => return reply::forbidden(),
            Err(NoRoute::Unknown) => return reply::plain(StatusCode::NOT_FOUND, "not found\n"),
        };
        match request.method {
            Method::POST => {
                let frame = match read(&mut request).await {
                    Ok(frame) => frame,
                    Err(refusal) => return refusal,
                };
                let incoming = Incoming {
                    principal,
                    route,
                    headers: request.headers,
                    frame,
                };
                self.post(incoming).await
            }
            Method::GET => self.listen(&principal, &route, &request.headers),
            Method::DELETE => self.end(&principal, &route, &request.headers).await,
            _ => reply::wrong_method(),
        }
    }

    async fn post(&self, incoming: Incoming) -> Reply {
        let Ok(envelope) = incoming.frame.envelope() else {
            let (code, what) = match incoming.frame.bytes().first() {
                Some(b'[') => (INVALID_REQUEST, "batches are not taken"),
                _ => (PARSE_ERROR, "not a JSON-RPC message"),
            };
            return reply::error(StatusCode::BAD_REQUEST, None, &reply::fault(code, what));
        };
        let told = incoming.headers.get(VERSION);
        let is_modern = told.is_some_and(|version| version == MODERN)
            || !incoming.headers.contains_key(SESSION_ID)
                && Spoken::of(&envelope) == Some(Spoken::Modern);
        if is_modern {
            self.modern(&incoming, &envelope).await
        } else {
            self.legacy(&incoming, &envelope).await
        }
    }

    /// Makes a connection for a client: to the server itself where that can be talked to, else to
    /// one that says what is missing.
    async fn connect(&self, route: &Route) -> Connection {
        if let Route::One(at) = route
            && let Some(server) = self.servers.get(*at)
            && let Some(connection) = server.upstream.open().await
        {
            return connection;
        }
        let mut settings = Settings::new(ClientInfo::clone(&self.info));
        let places: &[usize] = match route {
            Route::One(at) => {
                settings.naming = Naming::Bare;
                std::slice::from_ref(at)
            }
            Route::All(places) => places,
        };
        let members = places.iter().filter_map(|at| self.servers.get(*at));
        let members = members.map(|server| Member {
            name: self.display_name(server),
            connector: Arc::clone(&server.upstream) as Arc<dyn Connector>,
            timeout: None,
        });
        aggregate(members.collect(), settings)
    }

    /// Returns the name of a server where it is one of many.
    fn display_name(&self, server: &Served) -> String {
        let same = |other: &&Served| other.name == server.name;
        if self.servers.iter().filter(same).count() > 1 {
            format!("{}_{}", server.plugin, server.name)
        } else {
            server.name.clone()
        }
    }
}

impl Service for Gateway {
    fn answer(self: Arc<Self>, request: Inbound) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let begun = Instant::now();
            let reply = self.handle(request).await;
            self.metrics.count(reply.status(), begun.elapsed());
            reply
        })
    }
}

/// Reads the message of a request.
async fn read(request: &mut Inbound) -> Result<Frame, Reply> {
    if !is_json(&request.headers) {
        let what = "the body has to be application/json\n";
        return Err(reply::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
    }
    let body = request.body().await.map_err(|fault| {
        use keyway_transport::BodyFault;
        let status = match fault {
            BodyFault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            BodyFault::TooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        reply::plain(status, "the body was not read\n")
    })?;
    let too_large = |_| reply::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n");
    Frame::new(body).map_err(too_large)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Says whether a client reads event streams.
fn takes_events(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(ACCEPT).iter();
    all.any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.contains("text/event-stream") || text.contains("*/*") || text.contains("text/*")
    })
}

/// Says whether a client names event streams before anything else.
fn prefers_events(headers: &HeaderMap) -> bool {
    let first = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    first.is_some_and(|text| text.trim_start().starts_with("text/event-stream"))
}

/// Describes a request for a room; `None` if the message is none.
fn asked(envelope: &Envelope<'_>, headers: &HeaderMap) -> Option<Asked> {
    let id = envelope.id().filter(|_| envelope.method.is_some())?;
    let params = envelope.params.map_or("", |params| params.get());
    let token = params
        .contains("progressToken")
        .then(|| room::progress_token(envelope))
        .flatten();
    Some(Asked {
        id,
        token,
        takes_events: takes_events(headers),
    })
}

const BEAT: Duration = Duration::from_secs(1);
/// A sign of life every quarter of a minute.
const BEATS_PER_SIGN: u64 = 15;

#[cfg(test)]
mod tests;
