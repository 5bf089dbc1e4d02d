//! Clients since 2026-07-28: every request stands alone, and headers repeat what it says.

mod headers;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use keyway_transport::{Envelope, Reply, ToolHeaders};

use super::Gateway;
use super::capability::Hash;
use super::closing::Closings;
use super::exchange::{Exchange, GoingAway, Learning};
use super::holders::Holders;
use super::incoming::{Incoming, asked, prefers_events};
use super::reply::{self, INVALID_REQUEST, METHOD_NOT_FOUND};
use super::room::Room;
use super::roster::{Hold, Served};
use super::routes::Route;
use super::streams::Streams;
use keyway_mcp::eras::Spoken;

/// Connections for clients that have no session: those of one holder to one place are shared.
#[derive(Debug, Default)]
pub(super) struct Pools(Mutex<HashMap<Key, Arc<Pool>>>);

type Key = (Option<Hash>, Route);

/// The connections of one holder to one place. Mostly one; another where two clients use the same
/// id at the same time, so that nothing has to be rewritten, or can do different things.
#[derive(Debug, Default)]
struct Pool {
    rooms: tokio::sync::Mutex<Vec<Shared>>,
    tools: Arc<ToolHeaders>,
}

/// A connection that clients with the same capabilities share: where it leads to an older server,
/// that was told them once and for all.
#[derive(Debug)]
struct Shared {
    room: Arc<Room>,
    /// What the clients can do, as a number.
    abilities: u64,
}

impl Gateway {
    /// Serves a message of a modern client.
    pub(super) async fn modern(&self, incoming: &Incoming, envelope: &Envelope<'_>) -> Reply {
        let id = envelope.id();
        let refuse =
            |status, code, what: &str| reply::error(status, id.as_ref(), &reply::fault(code, what));
        let Some(asked) = asked(envelope, &incoming.headers) else {
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
            .of((incoming.principal.id(), incoming.route.clone()));
        let abilities = match headers::check(&incoming.headers, envelope, &pool.tools) {
            Ok(capabilities) => number_of(capabilities),
            Err(error) => return reply::error(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        let method = envelope.method.as_deref().unwrap_or_default();
        if REMOVED.contains(&method) {
            let what = "the method is not part of this version";
            return refuse(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, what);
        }
        let frame = incoming.frame.clone();
        let mut rooms = pool.rooms.lock().await;
        rooms.retain(|shared| !shared.room.is_over());
        let entered = rooms
            .iter()
            .filter(|shared| shared.abilities == abilities)
            .find_map(|shared| Some((Arc::clone(&shared.room), shared.room.enter(&asked).ok()?)));
        let learning = (method == "tools/list").then(|| Learning {
            tools: Arc::clone(&pool.tools),
            from_start: envelope
                .params
                .is_none_or(|it| !it.get().contains("cursor")),
        });
        let wait = |room, items| {
            Exchange::new(room, asked.id.clone(), GoingAway::Cancels, items)
                .takes_events(asked.takes_events)
                .prefers_events(prefers_events(&incoming.headers))
                .learning(learning)
                .noted(incoming.ticket.clone())
        };
        let exchange = if let Some((room, items)) = entered {
            drop(rooms);
            let exchange = wait(room, items);
            exchange.send(frame).await;
            exchange
        } else {
            if rooms.len() >= MAX_ROOMS {
                let what = "too many clients at once";
                return refuse(StatusCode::SERVICE_UNAVAILABLE, INVALID_REQUEST, what);
            }
            let ways = &self.ways;
            let reached = ways.connect(&incoming.principal, &incoming.route, None);
            let (reached, streams) = (reached.await, Arc::<Streams>::default());
            let opened = Room::open(reached, frame, Spoken::Modern, &asked, streams).await;
            let Ok((room, items)) = opened else {
                return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
            };
            rooms.push(Shared {
                room: Arc::clone(&room),
                abilities,
            });
            drop(rooms);
            wait(room, items)
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
    pub(super) fn sweep(&self, holders: &Holders) -> Vec<Arc<Room>> {
        let pools: Vec<_> = self.lock().clone().into_iter().collect();
        let mut ended = Vec::new();
        for ((owner, _), pool) in pools {
            let Ok(mut rooms) = pool.rooms.try_lock() else {
                continue;
            };
            let is_allowed = owner.is_none_or(|owner| holders.has(owner));
            let is_idle = |Shared { room, .. }: &mut Shared| {
                !is_allowed || room.is_over() || room.idle_time() > IDLE_TIME
            };
            let idle = rooms.extract_if(.., is_idle);
            ended.extend(idle.map(|shared| shared.room));
        }
        ended
    }

    /// Forgets the connections that do not lead where they should any more, and returns them.
    /// Those of a pool in which one is being made are left for the next time.
    pub(super) fn let_go(&self, servers: &[Arc<Served>]) -> Vec<Arc<Room>> {
        let mut ended = Vec::new();
        for pool in self.all() {
            let Ok(mut rooms) = pool.rooms.try_lock() else {
                continue;
            };
            let wrong = rooms.extract_if(.., |shared| shared.room.hold(servers) != Hold::Holds);
            ended.extend(wrong.map(|shared| shared.room));
        }
        ended
    }

    /// Ends all connections aside.
    pub(super) async fn close(&self, closings: &Closings) {
        for pool in self.all() {
            let mut rooms = pool.rooms.lock().await;
            closings.close(rooms.drain(..).map(|shared| shared.room));
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

const MAX_ROOMS: usize = 64;
const IDLE_TIME: Duration = Duration::from_secs(5 * 60);
