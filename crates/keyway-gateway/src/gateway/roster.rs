//! Which servers are served, and what becomes of connections when that changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::Connection;
use tokio::time::{Instant, sleep};

use super::holders::Principal;
use super::room::Room;
use super::routes::Route;
use keyway::connect::{Likeness, LikenessKey};
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{
    Connector, Entrance, Member, Opened, Roster, Settings, aggregate_for_now,
};
use keyway_mcp::states::Trouble;
use keyway_mcp::whereabouts::Whereabouts;

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
    /// The same without who is signed in: it changes with whatever a client's session must not
    /// outlive.
    pub entry: [u8; 32],
    /// How to reach it.
    pub upstream: Arc<dyn Upstream>,
}

impl Served {
    /// Describes a server, whose sessions last as long as its connections.
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
            entry: digest,
            upstream,
        }
    }

    /// Lets sessions last for as long as `entry` stays the same.
    #[must_use]
    pub const fn lasting(mut self, entry: [u8; 32]) -> Self {
        self.entry = entry;
        self
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
        .lasting(self.entry)
    }

    /// Says whether the same path leads to both.
    pub(super) fn is_at_the_place_of(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.name == other.name
    }
}

/// Reaches one server, and knows whether a person has to do something first.
pub trait Upstream: Connector {
    /// Connects if the server can be talked to as it is: approved, and signed in to if need be.
    /// With `whose` the connection keeps to that account.
    fn open<'a>(&'a self, whose: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>>;

    /// Does what [`Connector::connect`] does, for a conversation that keeps to one account.
    fn connect_as<'a>(&'a self, whose: &'a AccountPin) -> BoxFuture<'a, Result<Opened, Trouble>>;

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
    /// Whether the connection itself adapts to who is signed in.
    adapts: bool,
}

/// Whether a connection is still what its client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// It is.
    Holds,
    /// Another in its place would be.
    Moves,
    /// It is not, and none would be.
    Ends,
}

impl Tie {
    pub(super) fn new(server: &Arc<Served>, principal: &Principal, route: &Route) -> Self {
        Self {
            server: Arc::clone(server),
            alone_for: matches!(route, Route::All(_)).then(|| principal.clone()),
            adapts: false,
        }
    }

    /// The same for a connection that adapts to who is signed in.
    pub(super) const fn adapting(mut self) -> Self {
        self.adapts = true;
        self
    }

    /// Returns where the server is declared, if that is known.
    pub(super) fn whereabouts(&self) -> Option<Whereabouts> {
        self.server.upstream.whereabouts()
    }

    /// Says whether the connection is still what its client asked for.
    pub(super) fn hold(&self, servers: &[Arc<Served>]) -> Hold {
        let mut reached = servers.iter().filter(|it| match &self.alone_for {
            Some(principal) => principal.opens(&it.plugin, &it.name),
            None => it.is_at_the_place_of(&self.server),
        });
        let (Some(server), None) = (reached.next(), reached.next()) else {
            return Hold::Ends;
        };
        let is_same = server.is_at_the_place_of(&self.server) && server.entry == self.server.entry;
        match (Arc::ptr_eq(server, &self.server), is_same, self.adapts) {
            (true, ..) | (_, true, true) => Hold::Holds,
            (_, true, false) => Hold::Moves,
            (_, false, _) => Hold::Ends,
        }
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
    whose: Option<AccountPin>,
    /// The way to the only server, if it is one.
    own: Option<Arc<Own>>,
}

/// A server as one client reaches it, over one account.
#[derive(Debug)]
struct Own {
    upstream: Arc<dyn Upstream>,
    whose: AccountPin,
}

impl Connector for Own {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, Trouble>> {
        self.upstream.connect_as(&self.whose)
    }

    fn look(&self) -> BoxFuture<'_, ()> {
        self.upstream.look()
    }

    fn entrance(&self) -> Option<&dyn Entrance> {
        self.upstream.entrance()
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        self.upstream.whereabouts()
    }
}

impl Adapting {
    /// Makes a connection to all servers of a route together.
    pub(super) fn connect(
        &self,
        servers: &[Arc<Served>],
        (principal, route, whose): (&Principal, &Route, Option<&AccountPin>),
        settings: Settings,
    ) -> (Connection, Roster) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that no change comes in between.
        let mut members = members(servers, principal, route);
        let own = whose.and_then(|whose| own(&mut members, servers, whose, None));
        let (connection, roster) = aggregate_for_now(members, settings);
        all.retain(|it| !it.roster.is_over());
        all.push(Adaptive {
            roster: roster.clone(),
            principal: principal.clone(),
            route: route.clone(),
            whose: whose.cloned(),
            own,
        });
        (connection, roster)
    }

    /// Puts the servers as they are now behind all of them.
    pub(super) fn adapt(&self, servers: &[Arc<Served>]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| !it.roster.is_over());
        for it in all.iter_mut() {
            let mut members = members(servers, &it.principal, &it.route);
            if let Some(whose) = &it.whose {
                it.own = own(&mut members, servers, whose, it.own.take());
            }
            it.roster.replace(members);
        }
    }
}

/// Lets the only member be reached over one account, by the way that there was if it still leads
/// there. Who uses several servers has no account of its own.
fn own(
    members: &mut [Member],
    servers: &[Arc<Served>],
    whose: &AccountPin,
    before: Option<Arc<Own>>,
) -> Option<Arc<Own>> {
    let [member] = members else {
        return None;
    };
    let place = member.place.as_ref()?;
    let is_it = |it: &&Arc<Served>| it.plugin == place.0 && it.name == place.1;
    let upstream = &servers.iter().find(is_it)?.upstream;
    let before = before.filter(|own| Arc::ptr_eq(&own.upstream, upstream));
    let own = before.unwrap_or_else(|| {
        Arc::new(Own {
            upstream: Arc::clone(upstream),
            whose: whose.clone(),
        })
    });
    member.connector = Arc::clone(&own) as Arc<dyn Connector>;
    Some(own)
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
    room.stop_listening();
    let deadline = Instant::now() + GRACE;
    while !room.is_over() && room.is_used() && Instant::now() < deadline {
        sleep(PAUSE).await;
    }
    room.close().await;
}

/// How long calls under way may take when their server goes away.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
