//! Which servers are served, and what becomes of connections when that changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::Connection;
use tokio::time::{Instant, sleep};

use super::holders::Principal;
use super::room::Room;
use super::routes::Route;
use crate::aggregate::{Connector, Member, Roster, Settings, aggregate_for_now};
use crate::connect::{Likeness, LikenessKey};

/// A server that is served.
#[derive(Debug)]
#[non_exhaustive]
pub struct Served {
    /// The name of its plugin.
    pub plugin: String,
    /// Its own name.
    pub name: String,
    /// What tells it apart from another of the same name: it changes with whatever a connection
    /// that was made before must not outlive.
    pub digest: [u8; 32],
    /// How to reach it.
    pub upstream: Arc<dyn Upstream>,
}

impl Served {
    /// Describes a server.
    #[must_use]
    pub const fn new(
        plugin: String,
        name: String,
        digest: [u8; 32],
        upstream: Arc<dyn Upstream>,
    ) -> Self {
        Self {
            plugin,
            name,
            digest,
            upstream,
        }
    }

    /// Says whether connections to one are as good as connections to the other.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.is_at_the_place_of(other) && self.digest == other.digest
    }

    /// Returns the same server, to which no connection belongs yet.
    pub(super) fn renewed(&self) -> Self {
        Self::new(
            self.plugin.clone(),
            self.name.clone(),
            self.digest,
            Arc::clone(&self.upstream),
        )
    }

    /// Says whether the same path leads to both.
    pub(super) fn is_at_the_place_of(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.name == other.name
    }
}

/// Reaches one server, and knows whether a person has to do something first.
pub trait Upstream: Connector {
    /// Connects if the server can be talked to as it is: approved, and signed in to if need be.
    fn open(&self) -> BoxFuture<'_, Option<Connection>>;

    /// Returns what a connection would depend on; `None` if there can be none. May block.
    fn likeness(&self, _key: &LikenessKey) -> Option<Likeness> {
        None
    }
}

/// A connection for a client.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) connection: Connection,
    /// What it stands and falls with; none if it adapts itself.
    pub(super) tie: Option<Tie>,
    /// Who is behind it, if that are several.
    pub(super) roster: Option<Roster>,
}

/// Binds a connection to the server that it goes to.
#[derive(Debug)]
pub(super) struct Tie {
    server: Arc<Served>,
    /// For whom it is all that there is: somebody who asked for all servers together.
    alone_for: Option<Principal>,
}

impl Tie {
    pub(super) fn new(server: &Arc<Served>, principal: &Principal, route: &Route) -> Self {
        Self {
            server: Arc::clone(server),
            alone_for: matches!(route, Route::All(_)).then(|| principal.clone()),
        }
    }

    /// Says whether the connection is still what its client asked for.
    pub(super) fn holds(&self, servers: &[Arc<Served>]) -> bool {
        let is_own = |server: &Arc<Served>| Arc::ptr_eq(server, &self.server);
        let Some(principal) = &self.alone_for else {
            return servers.iter().any(is_own);
        };
        let mut reached = servers
            .iter()
            .filter(|it| principal.opens(&it.plugin, &it.name));
        reached.next().is_some_and(is_own) && reached.next().is_none()
    }
}

/// The connections that adapt themselves when servers change.
#[derive(Debug, Default)]
pub(super) struct Adapting(Mutex<Vec<Adaptive>>);

#[derive(Debug)]
struct Adaptive {
    roster: Roster,
    principal: Principal,
    route: Route,
}

impl Adapting {
    /// Makes a connection to all servers of a route together.
    pub(super) fn connect(
        &self,
        servers: &[Arc<Served>],
        principal: &Principal,
        route: &Route,
        settings: Settings,
    ) -> (Connection, Roster) {
        let adaptive = |roster| Adaptive {
            roster,
            principal: principal.clone(),
            route: route.clone(),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that no change comes in between.
        let members = members(servers, principal, route);
        let (connection, roster) = aggregate_for_now(members, settings);
        all.retain(|it| !it.roster.is_over());
        all.push(adaptive(roster.clone()));
        (connection, roster)
    }

    /// Puts the servers as they are now behind all of them.
    pub(super) fn adapt(&self, servers: &[Arc<Served>]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| !it.roster.is_over());
        for it in all.iter() {
            it.roster
                .replace(members(servers, &it.principal, &it.route));
        }
    }
}

/// Returns whom a client reaches by a route.
fn members(servers: &[Arc<Served>], principal: &Principal, route: &Route) -> Vec<Member> {
    let is_reached = |server: &&Arc<Served>| match route {
        Route::One(one) => one.is_at_the_place_of(server),
        Route::All(_) => principal.opens(&server.plugin, &server.name),
    };
    let reached = servers.iter().filter(is_reached);
    let member = |server: &Arc<Served>| Member {
        name: display_name(servers, server),
        connector: Arc::clone(&server.upstream) as Arc<dyn Connector>,
        timeout: None,
        place: Some((server.plugin.clone(), server.name.clone())),
    };
    reached.map(member).collect()
}

/// Returns the name of a server where it is one of many.
fn display_name(servers: &[Arc<Served>], server: &Served) -> String {
    let same = |other: &&Arc<Served>| other.name == server.name;
    if servers.iter().filter(same).count() > 1 {
        format!("{}_{}", server.plugin, server.name)
    } else {
        server.name.clone()
    }
}

/// Ends a connection that nobody finds any more, once the calls under way have their answers.
pub(super) async fn finish(room: Arc<Room>) {
    room.streams.stop_listening();
    let deadline = Instant::now() + GRACE;
    while !room.is_over() && room.is_used() && Instant::now() < deadline {
        sleep(PAUSE).await;
    }
    room.close().await;
}

/// How long calls under way may take when their server goes away.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
