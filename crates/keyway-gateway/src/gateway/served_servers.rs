//! Which servers are served, and what becomes of connections when that changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::Connection;
use tokio::time::{Instant, sleep};

use super::principal::Principal;
use super::routes::Route;
use super::upstream_connection::UpstreamConnection;
use keyway::connect::{ConnectionFingerprint, FingerprintKey};
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{
    AggregateMembers, AggregateSettings, Connector, Member, Opened, SignInPort,
    aggregate_with_members,
};
use keyway_mcp::states::Trouble;
use keyway_mcp::whereabouts::Whereabouts;

/// A server that is served.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServedServer {
    /// The name of its plugin.
    pub plugin: String,
    /// Its own name.
    pub name: String,
    /// What tells it apart from another of the same name: it changes with whatever a connection
    /// that was made before must not outlive.
    pub digest: [u8; 32],
    /// The same without who is signed in: it changes with whatever a client's session must not
    /// outlive.
    pub entry_digest: [u8; 32],
    /// How to reach it.
    pub upstream: Arc<dyn Upstream>,
}

impl ServedServer {
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
            entry_digest: digest,
            upstream,
        }
    }

    /// Lets sessions last for as long as `entry_digest` stays the same.
    #[must_use]
    pub const fn with_entry_digest(mut self, entry_digest: [u8; 32]) -> Self {
        self.entry_digest = entry_digest;
        self
    }

    /// Says whether connections to one are as good as connections to the other.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.has_same_name_as(other) && self.digest == other.digest
    }

    /// Returns the same server, to which no connection belongs yet.
    pub(super) fn reset(&self) -> Self {
        Self::new(
            self.plugin.clone(),
            self.name.clone(),
            self.digest,
            Arc::clone(&self.upstream),
        )
        .with_entry_digest(self.entry_digest)
    }

    /// Says whether the same path leads to both.
    pub(super) fn has_same_name_as(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.name == other.name
    }
}

/// Reaches one server, and knows whether a person has to do something first.
pub trait Upstream: Connector {
    /// Connects if the server can be talked to as it is: approved, and signed in to if need be.
    /// With `account` the connection keeps to that account.
    fn open<'a>(&'a self, account: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>>;

    /// Does what [`Connector::connect`] does, for a conversation that keeps to one account.
    fn connect_as<'a>(&'a self, account: &'a AccountPin) -> BoxFuture<'a, Result<Opened, Trouble>>;

    /// Returns what a connection would depend on; `None` if there can be none. May block.
    fn fingerprint(&self, _key: &FingerprintKey) -> Option<ConnectionFingerprint> {
        None
    }
}

/// A connection for a client.
#[derive(Debug)]
pub(super) struct BoundConnection {
    pub(super) connection: Connection,
    /// What it stands and falls with; none if it adapts itself.
    pub(super) binding: Option<Binding>,
    /// Who is behind it, if that are several.
    pub(super) members: Option<AggregateMembers>,
}

/// Binds a connection to the server that it goes to.
#[derive(Debug)]
pub(super) struct Binding {
    server: Arc<ServedServer>,
    /// For whom it is all that there is: somebody who asked for all servers together.
    only_server_for: Option<Principal>,
    /// Whether the connection itself adapts to who is signed in.
    is_dynamic: bool,
}

/// Whether a connection is still what its client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validity {
    /// It is.
    Current,
    /// Another in its place would be.
    Reconnect,
    /// It is not, and none would be.
    Expired,
}

impl Binding {
    pub(super) fn new(server: &Arc<ServedServer>, principal: &Principal, route: &Route) -> Self {
        Self {
            server: Arc::clone(server),
            only_server_for: matches!(route, Route::All(_)).then(|| principal.clone()),
            is_dynamic: false,
        }
    }

    /// The same for a connection that adapts to who is signed in.
    pub(super) const fn for_dynamic(mut self) -> Self {
        self.is_dynamic = true;
        self
    }

    /// Returns where the server is declared, if that is known.
    pub(super) fn whereabouts(&self) -> Option<Whereabouts> {
        self.server.upstream.whereabouts()
    }

    /// Says whether the connection is still what its client asked for.
    pub(super) fn validity(&self, servers: &[Arc<ServedServer>]) -> Validity {
        let mut bound = servers.iter().filter(|it| match &self.only_server_for {
            Some(principal) => principal.opens(&it.plugin, &it.name),
            None => it.has_same_name_as(&self.server),
        });
        let (Some(server), None) = (bound.next(), bound.next()) else {
            return Validity::Expired;
        };
        let is_same = server.has_same_name_as(&self.server)
            && server.entry_digest == self.server.entry_digest;
        match (Arc::ptr_eq(server, &self.server), is_same, self.is_dynamic) {
            (true, ..) | (_, true, true) => Validity::Current,
            (_, true, false) => Validity::Reconnect,
            (_, false, _) => Validity::Expired,
        }
    }
}

/// The connections that adapt themselves when servers change.
#[derive(Debug, Default)]
pub(super) struct DynamicConnections(Mutex<Vec<DynamicConnection>>);

#[derive(Debug)]
struct DynamicConnection {
    members: AggregateMembers,
    principal: Principal,
    route: Route,
    account: Option<AccountPin>,
    /// The way to the only server, if it is one.
    pinned: Option<Arc<PinnedUpstream>>,
}

/// A server as one client reaches it, over one account.
#[derive(Debug)]
struct PinnedUpstream {
    upstream: Arc<dyn Upstream>,
    account: AccountPin,
}

impl Connector for PinnedUpstream {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, Trouble>> {
        self.upstream.connect_as(&self.account)
    }

    fn find_sign_in(&self) -> BoxFuture<'_, ()> {
        self.upstream.find_sign_in()
    }

    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        self.upstream.sign_in_port()
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        self.upstream.whereabouts()
    }
}

impl DynamicConnections {
    /// Makes a connection to all servers of a route together.
    pub(super) fn connect(
        &self,
        servers: &[Arc<ServedServer>],
        (principal, route, account): (&Principal, &Route, Option<&AccountPin>),
        settings: AggregateSettings,
    ) -> (Connection, AggregateMembers) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that no change comes in between.
        let mut members = members(servers, principal, route);
        let pinned = account.and_then(|account| pinned(&mut members, servers, account, None));
        let (connection, members) = aggregate_with_members(members, settings);
        all.retain(|it| !it.members.is_over());
        all.push(DynamicConnection {
            members: members.clone(),
            principal: principal.clone(),
            route: route.clone(),
            account: account.cloned(),
            pinned,
        });
        (connection, members)
    }

    /// Puts the servers as they are now behind all of them.
    pub(super) fn adapt(&self, servers: &[Arc<ServedServer>]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| !it.members.is_over());
        for it in all.iter_mut() {
            let mut members = members(servers, &it.principal, &it.route);
            if let Some(account) = &it.account {
                it.pinned = pinned(&mut members, servers, account, it.pinned.take());
            }
            it.members.replace(members);
        }
    }
}

/// Lets the only member be reached over one account, by the way that there was if it still leads
/// there. Who uses several servers has no account of its own.
fn pinned(
    members: &mut [Member],
    servers: &[Arc<ServedServer>],
    account: &AccountPin,
    before: Option<Arc<PinnedUpstream>>,
) -> Option<Arc<PinnedUpstream>> {
    let [member] = members else {
        return None;
    };
    let id = member.server_id.as_ref()?;
    let is_it = |it: &&Arc<ServedServer>| it.plugin == id.0 && it.name == id.1;
    let upstream = &servers.iter().find(is_it)?.upstream;
    let before = before.filter(|pinned| Arc::ptr_eq(&pinned.upstream, upstream));
    let pinned = before.unwrap_or_else(|| {
        Arc::new(PinnedUpstream {
            upstream: Arc::clone(upstream),
            account: account.clone(),
        })
    });
    member.connector = Arc::clone(&pinned) as Arc<dyn Connector>;
    Some(pinned)
}

/// Returns whom a client reaches by a route.
fn members(servers: &[Arc<ServedServer>], principal: &Principal, route: &Route) -> Vec<Member> {
    let is_reached = |server: &&Arc<ServedServer>| match route {
        Route::One(one) => one.has_same_name_as(server),
        Route::All(_) => principal.opens(&server.plugin, &server.name),
    };
    let bound = servers.iter().filter(is_reached);
    let member = |server: &Arc<ServedServer>| Member {
        name: display_name(servers, server),
        connector: Arc::clone(&server.upstream) as Arc<dyn Connector>,
        timeout: None,
        server_id: Some((server.plugin.clone(), server.name.clone())),
    };
    bound.map(member).collect()
}

/// Returns the name of a server where it is one of many.
fn display_name(servers: &[Arc<ServedServer>], server: &ServedServer) -> String {
    let same = |other: &&Arc<ServedServer>| other.name == server.name;
    if servers.iter().filter(same).count() > 1 {
        format!("{}_{}", server.plugin, server.name)
    } else {
        server.name.clone()
    }
}

/// Ends a connection that nobody finds any more, once the calls under way have their answers.
pub(super) async fn finish(connection: Arc<UpstreamConnection>) {
    connection.stop_listening();
    let deadline = Instant::now() + GRACE;
    while !connection.is_over() && connection.is_used() && Instant::now() < deadline {
        sleep(PAUSE).await;
    }
    connection.close().await;
}

/// How long calls under way may take when their server goes away.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
