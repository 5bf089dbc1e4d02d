//! Clients since 2026-07-28: every request stands alone, and headers repeat what it says.

mod headers;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use keyway_transport::{Envelope, Reply, ToolHeaders};

use super::Gateway;
use super::client_message::{ClientMessage, asked, prefers_events};
use super::closing_tasks::ClosingTasks;
use super::event_streams::EventStreams;
use super::exchange::{Exchange, OnDisconnect, ToolHeaderUpdate};
use super::gateway_token::TokenHash;
use super::principal::TokenTable;
use super::reply::{self, INVALID_REQUEST, METHOD_NOT_FOUND};
use super::routes::Route;
use super::served_servers::{ServedServer, Validity};
use super::upstream_connection::UpstreamConnection;
use keyway_mcp::eras::ClientEra;

/// Connections for clients that have no session: those of one holder to one place are shared.
#[derive(Debug, Default)]
pub(super) struct Pools(Mutex<HashMap<Key, Arc<Pool>>>);

type Key = (Option<TokenHash>, Route);

/// The connections of one holder to one place. Mostly one; another where two clients use the same
/// id at the same time, so that nothing has to be rewritten, or can do different things.
#[derive(Debug, Default)]
struct Pool {
    connections: tokio::sync::Mutex<Vec<Shared>>,
    tools: Arc<ToolHeaders>,
}

/// A connection that clients with the same capabilities share: where it leads to an older server,
/// that was told them once and for all.
#[derive(Debug)]
struct Shared {
    connection: Arc<UpstreamConnection>,
    /// What the clients can do, as a number.
    abilities: u64,
}

impl Gateway {
    /// Serves a message of a modern client.
    pub(super) async fn modern(&self, message: &ClientMessage, envelope: &Envelope<'_>) -> Reply {
        let id = envelope.id();
        let refuse =
            |status, code, what: &str| reply::error(status, id.as_ref(), &reply::fault(code, what));
        let Some(asked) = asked(envelope, &message.headers) else {
            // Of notifications the era knows only the cancellation, which over HTTP is to go away.
            return match &envelope.method {
                Some(_) => Reply::new(StatusCode::ACCEPTED),
                None => {
                    let what = "nobody waits for an answer";
                    refuse(StatusCode::BAD_REQUEST, INVALID_REQUEST, what)
                }
            };
        };
        let pool = self
            .pools
            .of((message.principal.id(), message.route.clone()));
        let abilities = match headers::check(&message.headers, envelope, &pool.tools) {
            Ok(capabilities) => number_of(capabilities),
            Err(error) => return reply::error(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        let method = envelope.method.as_deref().unwrap_or_default();
        if REMOVED.contains(&method) {
            let what = "the method is not part of this version";
            return refuse(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, what);
        }
        let frame = message.frame.clone();
        let mut connections = pool.connections.lock().await;
        connections.retain(|shared| !shared.connection.is_over());
        let entered = connections
            .iter()
            .filter(|shared| shared.abilities == abilities)
            .find_map(|shared| {
                Some((
                    Arc::clone(&shared.connection),
                    shared.connection.register(&asked).ok()?,
                ))
            });
        let tool_headers = (method == "tools/list").then(|| ToolHeaderUpdate {
            tools: Arc::clone(&pool.tools),
            from_start: envelope
                .params
                .is_none_or(|it| !it.get().contains("cursor")),
        });
        let wait = |connection, deliveries| {
            Exchange::new(
                connection,
                asked.id.clone(),
                OnDisconnect::Cancel,
                deliveries,
            )
            .takes_events(asked.takes_events)
            .prefers_events(prefers_events(&message.headers))
            .tool_headers(tool_headers)
            .observed_by(message.recorder.clone())
        };
        let exchange = if let Some((connection, deliveries)) = entered {
            drop(connections);
            let exchange = wait(connection, deliveries);
            exchange.send(frame).await;
            exchange
        } else {
            if connections.len() >= MAX_CONNECTIONS {
                let what = "too many clients at once";
                return refuse(StatusCode::SERVICE_UNAVAILABLE, INVALID_REQUEST, what);
            }
            let router = &self.router;
            let bound = router.connect(&message.principal, &message.route, None);
            let (bound, streams) = (bound.await, Arc::<EventStreams>::default());
            let opened =
                UpstreamConnection::open(bound, frame, ClientEra::Modern, &asked, streams).await;
            let Ok((connection, deliveries)) = opened else {
                return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
            };
            connections.push(Shared {
                connection: Arc::clone(&connection),
                abilities,
            });
            drop(connections);
            wait(connection, deliveries)
        };
        exchange.reply().await
    }
}

impl Pools {
    fn of(&self, key: Key) -> Arc<Pool> {
        Arc::clone(self.lock().entry(key).or_default())
    }

    /// Says whether there is anything to sweep.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Forgets connections that nobody uses, or may use any more, and returns them.
    pub(super) fn sweep(&self, tokens: &TokenTable) -> Vec<Arc<UpstreamConnection>> {
        let pools: Vec<_> = self.lock().clone().into_iter().collect();
        let mut ended = Vec::new();
        for ((owner, _), pool) in pools {
            let Ok(mut connections) = pool.connections.try_lock() else {
                continue;
            };
            let is_allowed = owner.is_none_or(|owner| tokens.has(owner));
            let is_idle = |Shared { connection, .. }: &mut Shared| {
                !is_allowed || connection.is_over() || connection.idle_time() > IDLE_TIME
            };
            let idle = connections.extract_if(.., is_idle);
            ended.extend(idle.map(|shared| shared.connection));
        }
        ended
    }

    /// Forgets the connections that do not lead where they should any more, and returns them.
    /// Those of a pool in which one is being made are left for the next time.
    pub(super) fn drop_stale(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<UpstreamConnection>> {
        let mut ended = Vec::new();
        for pool in self.all() {
            let Ok(mut connections) = pool.connections.try_lock() else {
                continue;
            };
            let wrong = connections.extract_if(.., |shared| {
                shared.connection.validity(servers) != Validity::Current
            });
            ended.extend(wrong.map(|shared| shared.connection));
        }
        ended
    }

    /// Ends all connections aside.
    pub(super) async fn close(&self, closing: &ClosingTasks) {
        for pool in self.all() {
            let mut connections = pool.connections.lock().await;
            closing.close(connections.drain(..).map(|shared| shared.connection));
        }
    }

    fn all(&self) -> Vec<Arc<Pool>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Pool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number_of(capabilities: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    capabilities.hash(&mut hasher);
    hasher.finish()
}

/// What the era has done away with; a server that still knows it would take it for the beginning
/// of an older conversation.
const REMOVED: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

const MAX_CONNECTIONS: usize = 64;
const IDLE_TIME: Duration = Duration::from_secs(5 * 60);
