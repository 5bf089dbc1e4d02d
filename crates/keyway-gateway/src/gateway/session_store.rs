//! The sessions of all clients, whatever their protocol version, and the connection pools of
//! clients without sessions.
//!
//! ```text
//!             insert              drop_stale: the entry is gone ──► finish, then closed
//!  (client) ─────────► stored ──┤ close_expired: token revoked, idle or over ──► closed
//!                       │   ▲   ├ insert of another at the limit: idle for longest ──► closed
//!                       │   ▲   ├ a program of its person at their limit: the same ──► closed
//!                       │   ▲   └ to_migrate: the server object was replaced
//!                       └───┴── migrated to another upstream connection
//! ```
//!
//! An entry holds all that decides whether a request may use a session: its principal, its route,
//! and in [`ClientSession`] the negotiated version. With a key for session ids these are sealed into
//! the id, so that another replica can take the session over (`sealed_session`).

use http::StatusCode;
use keyway::settings::LimitSettings;
use keyway::store::seal::Context;
use keyway_people::Person;
use keyway_secret::Secret;
use keyway_transport::Reply;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::binding::Validity;
use super::client_session::ClientSession;
use super::closing_tasks::ClosingTasks;
use super::connection_pool::ConnectionPool;
use super::principal::{Principal, PrincipalId};
use super::reply;
use super::routes::Route;
use super::served_servers::ServedServer;
use super::sse_stream::SseStream;
use crate::timeouts::{SESSION_IDLE_TIMEOUT, SESSION_UNUSED_TIMEOUT};

/// All sessions and pools.
///
/// One lock for both maps. It is never held across an `await` or while anything is closed: what is
/// taken out is closed by [`ClosingTasks`].
#[derive(Debug, Default)]
pub(super) struct SessionStore(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    sessions: HashMap<Box<str>, Arc<StoredSession>>,
    pools: HashMap<PoolKey, Arc<ConnectionPool>>,
    /// Digests of the ids of sessions that have ended, the newest last.
    ended: VecDeque<[u8; 32]>,
    /// How many a client, and all clients of a server together, may have beside our own limits.
    limits: LimitSettings,
}

type PoolKey = (PrincipalId, Route);

/// A session with an id, and the principal that may use it.
#[derive(Debug)]
struct StoredSession {
    /// No other principal may use the session, even one that knows its id.
    owner: PrincipalId,
    route: Route,
    kind: SessionKind,
}

/// What a session id stands for.
#[derive(Debug)]
pub(super) enum SessionKind {
    /// 2025-03-26 to 2025-11-25: the `Mcp-Session-Id` header.
    Streamable(Arc<ClientSession>),
    /// 2024-11-05: the address that the stream's first event names.
    Sse(Arc<SseStream>),
}

impl SessionStore {
    /// Returns how many sessions there are.
    pub(super) fn count(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Says whether there is anything that a revoked token could still use.
    pub(super) fn is_empty(&self) -> bool {
        let entries = self.lock();
        entries.sessions.is_empty() && entries.pools.is_empty()
    }

    /// Says whether a principal may start another Streamable HTTP session: the limit is not
    /// reached, or an idle session can be evicted.
    pub(super) fn may_start(&self, principal: &Principal, route: &Route) -> Result<(), Shortage> {
        let entries = self.lock();
        let whose = (principal.id(), route);
        match entries.shortage(whose, MAX_STREAMABLE, SessionKind::is_streamable) {
            None => Ok(()),
            Some(shortage) => match entries.longest_idle(&shortage) {
                Some(_) => Ok(()),
                None => Err(shortage),
            },
        }
    }

    /// Sets limits below our own.
    pub(super) fn limit(&self, limits: LimitSettings) {
        self.lock().limits = limits;
    }

    /// Stores a session by its new id, and returns that. At the limit the session that was idle for longest
    /// is evicted: clients that crash, or that run for one command, do not end theirs. `None` if
    /// all are in use, without an id, or if there is one with this id.
    pub(super) fn insert(
        &self,
        id: Option<Secret<String>>,
        (principal, route): (&Principal, Route),
        kind: SessionKind,
        closing: &ClosingTasks,
    ) -> Option<Secret<String>> {
        let id = id?;
        let owner = principal.id();
        let mut entries = self.lock();
        if entries.sessions.contains_key(id.expose().as_str()) {
            return None;
        }
        // Looked at again: others may have come while this one was connecting.
        let shortage = match kind {
            SessionKind::Streamable(_) => {
                entries.shortage((owner, &route), MAX_STREAMABLE, SessionKind::is_streamable)
            }
            SessionKind::Sse(_) => entries.shortage((owner, &route), MAX_SSE, SessionKind::is_sse),
        };
        if let Some(shortage) = shortage {
            // A stream of HTTP+SSE is never idle, and takes no place of the others.
            let idle = entries
                .longest_idle(&shortage)
                .filter(|_| kind.is_streamable())?;
            let evicted = entries.sessions.remove(&idle)?;
            closing.spawn(async move { evicted.kind.close().await });
        }
        let session = Arc::new(StoredSession { owner, route, kind });
        entries
            .sessions
            .insert(id.expose().as_str().into(), session);
        Some(id)
    }

    /// Ends the session of a person that runs a program and has been idle for longest, or a connection of
    /// their clients without sessions; says whether there was one. Of sessions with several servers it is
    /// not known whose program they run: they come last.
    pub(super) fn give_way(&self, person: &Person, closing: &ClosingTasks) -> bool {
        let owner = Shortage::Owner(PrincipalId::Person(person.digest()));
        let mut entries = self.lock();
        let runs = |route: &Route| {
            let mut servers = route.servers().iter();
            servers.any(|server| server.upstream.runs_program_of(person))
        };
        let found = entries
            .longest_idle_of(&owner, |route| route.only().is_some() && runs(route))
            .or_else(|| entries.longest_idle_of(&owner, runs));
        if let Some(evicted) = found.and_then(|id| entries.sessions.remove(&id)) {
            closing.spawn(async move { evicted.kind.close().await });
            return true;
        }
        let owner = PrincipalId::Person(person.digest());
        let mut pools = entries.pools.iter();
        let taken = pools.find_map(|((of, route), pool)| {
            let is_meant = *of == owner && runs(route);
            is_meant.then(|| pool.take_longest_idle()).flatten()
        });
        let Some(connection) = taken else {
            return false;
        };
        closing.spawn(async move { connection.close().await });
        true
    }

    /// Finds a Streamable HTTP session; only for its own principal and route.
    pub(super) fn streamable(
        &self,
        id: &str,
        principal: &Principal,
        route: &Route,
    ) -> Option<Arc<ClientSession>> {
        match &self.find(id, principal, route)?.kind {
            SessionKind::Streamable(client) => (!client.is_over()).then(|| Arc::clone(client)),
            SessionKind::Sse(_) => None,
        }
    }

    /// Finds the stream of an HTTP+SSE session; only for its own principal and route.
    pub(super) fn sse(
        &self,
        id: &str,
        principal: &Principal,
        route: &Route,
    ) -> Option<Arc<SseStream>> {
        match &self.find(id, principal, route)?.kind {
            SessionKind::Sse(stream) => (!stream.is_over()).then(|| Arc::clone(stream)),
            SessionKind::Streamable(_) => None,
        }
    }

    /// Says whether a stream is still stored: the task that removed it saw what it had by then.
    pub(super) fn has_stream(&self, stream: &Arc<SseStream>) -> bool {
        let is_it = |it: &Arc<StoredSession>| match &it.kind {
            SessionKind::Sse(other) => Arc::ptr_eq(other, stream),
            SessionKind::Streamable(_) => false,
        };
        self.lock().sessions.values().any(is_it)
    }

    /// Forgets a session for good.
    pub(super) fn remove(&self, id: &str) {
        let mut entries = self.lock();
        entries.sessions.remove(id);
        entries.end(id);
    }

    /// Says whether a session of this id has ended here: by its client, with its entry or approval, or
    /// because it was idle. It is not taken up again.
    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.lock().ended.contains(&digest_of(id))
    }

    /// Returns the pool of a principal for a route, made if there is none.
    pub(super) fn pool(&self, principal: &Principal, route: &Route) -> Arc<ConnectionPool> {
        let key = (principal.id(), route.clone());
        Arc::clone(self.lock().pools.entry(key).or_default())
    }

    /// Closes what is over, idle, or of a principal that may not use it any more.
    pub(super) fn close_expired(
        &self,
        is_allowed: impl Fn(PrincipalId) -> bool,
        closing: &ClosingTasks,
    ) {
        for session in self.take(|session| !is_allowed(session.owner) || session.is_expired()) {
            closing.spawn(async move { session.kind.close().await });
        }
        for ((owner, _), pool) in self.pools() {
            for connection in pool.take_unused(is_allowed(owner)) {
                closing.spawn(async move { connection.close().await });
            }
        }
        // Otherwise each person who ever called would keep one. A pool that a request holds may be about
        // to get a connection; it gets no new holder under this lock.
        let is_kept = |it: &Arc<ConnectionPool>| Arc::strong_count(it) > 1 || !it.lock().is_empty();
        self.lock().pools.retain(|_, pool| is_kept(pool));
    }

    /// Ends what cannot lead to its server any more, after the calls under way.
    pub(super) fn drop_stale(&self, servers: &[Arc<ServedServer>], closing: &ClosingTasks) {
        for session in self.take(|session| session.validity(servers) == Validity::Expired) {
            closing.spawn(async move { session.kind.finish().await });
        }
        for (_, pool) in self.pools() {
            for connection in pool.take_stale(servers) {
                closing.spawn(connection.close_when_idle());
            }
        }
    }

    /// Returns the sessions that need another upstream connection.
    pub(super) fn to_migrate(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<ClientSession>> {
        let mut sessions = self.sessions();
        sessions.retain(|session| session.validity(servers) == Validity::Reconnect);
        let clients = sessions.iter().filter_map(|it| it.kind.client());
        clients.cloned().collect()
    }

    /// Keeps event streams alive.
    pub(super) fn keep_alive(&self) {
        for session in self.sessions() {
            match &session.kind {
                SessionKind::Streamable(client) => client.connection().streams.keep_alive(),
                SessionKind::Sse(stream) => stream.keep_alive(),
            }
        }
    }

    /// Ends the streams that would never end, so that requests under way can be finished. An
    /// HTTP+SSE session is its stream, and ends after its calls.
    pub(super) fn stop_streams(&self, closing: &ClosingTasks) {
        for session in self.take(|session| session.kind.is_sse()) {
            closing.spawn(async move { session.kind.finish().await });
        }
        for session in self.sessions() {
            if let SessionKind::Streamable(client) = &session.kind {
                client.connection().streams.stop_listening();
            }
        }
    }

    /// Closes everything.
    pub(super) async fn close_all(&self, closing: &ClosingTasks) {
        for session in self.take(|_| true) {
            closing.spawn(async move { session.kind.close().await });
        }
        for (_, pool) in self.pools() {
            for connection in pool.take_all().await {
                closing.spawn(async move { connection.close().await });
            }
        }
    }

    fn find(&self, id: &str, principal: &Principal, route: &Route) -> Option<Arc<StoredSession>> {
        let session = self.lock().sessions.get(id).cloned()?;
        (session.owner == principal.id() && session.route == *route).then_some(session)
    }

    /// Takes sessions out for good.
    fn take(&self, which: impl Fn(&StoredSession) -> bool) -> Vec<Arc<StoredSession>> {
        let mut entries = self.lock();
        let taken = entries.sessions.extract_if(|_, session| which(session));
        let taken: Vec<_> = taken.collect();
        for (id, _) in &taken {
            entries.end(id);
        }
        taken.into_iter().map(|(_, session)| session).collect()
    }

    fn sessions(&self) -> Vec<Arc<StoredSession>> {
        self.lock().sessions.values().cloned().collect()
    }

    fn pools(&self) -> Vec<(PoolKey, Arc<ConnectionPool>)> {
        let entries = self.lock();
        let pools = entries.pools.iter();
        pools
            .map(|(key, pool)| (key.clone(), Arc::clone(pool)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// Notes that a session has ended.
    fn end(&mut self, id: &str) {
        if self.ended.len() >= MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(digest_of(id));
    }

    /// Our own user may have all sessions of a kind, others a quarter of them. Returns whose are
    /// too many.
    fn shortage(
        &self,
        (owner, route): (PrincipalId, &Route),
        most: usize,
        is_kind: impl Fn(&SessionKind) -> bool,
    ) -> Option<Shortage> {
        let (mut all, mut of_owner, mut of_server) = (0, 0, 0);
        for session in self.sessions.values().filter(|it| is_kind(&it.kind)) {
            all += 1;
            of_owner += usize::from(session.owner == owner);
            of_server += usize::from(route.only().is_some() && session.route == *route);
        }
        let limit = |sessions: Option<u32>| {
            let limit = sessions.and_then(|limit| usize::try_from(limit).ok());
            limit.unwrap_or(usize::MAX)
        };
        let most_of_owner = limit(self.limits.client.sessions).min(most / 4);
        if owner != PrincipalId::SameUser && of_owner >= most_of_owner {
            return Some(Shortage::Owner(owner));
        }
        if of_server >= limit(self.limits.server.sessions) {
            return Some(Shortage::Server(route.clone()));
        }
        (all >= most).then_some(Shortage::All)
    }

    /// Returns the session that nothing has used for longest. One with a request under way or an
    /// open stream is not idle; an HTTP+SSE session is its stream, and never idle.
    fn longest_idle(&self, shortage: &Shortage) -> Option<Box<str>> {
        self.longest_idle_of(shortage, |_| true)
    }

    /// The same among those to certain routes.
    fn longest_idle_of(
        &self,
        shortage: &Shortage,
        is_route: impl Fn(&Route) -> bool,
    ) -> Option<Box<str>> {
        let is_meant = |session: &StoredSession| match shortage {
            Shortage::Owner(owner) => session.owner == *owner,
            Shortage::Server(route) => session.route == *route,
            Shortage::All => true,
        };
        let sessions = self
            .sessions
            .iter()
            .filter(|(_, it)| is_meant(it) && is_route(&it.route));
        let idle = sessions.filter_map(|(id, session)| match &session.kind {
            SessionKind::Streamable(client) => {
                let connection = client.connection();
                (!connection.is_used()).then(|| (id, connection.idle_time()))
            }
            SessionKind::Sse(_) => None,
        });
        let longest = idle.max_by_key(|(_, idle)| *idle);
        longest.map(|(id, _)| id.clone())
    }
}

/// A sealed id is long.
fn digest_of(id: &str) -> [u8; 32] {
    Context::new("id of a session that ended").text(id).digest()
}

/// Whose sessions are as many as they may be.
#[derive(Debug)]
pub(super) enum Shortage {
    All,
    Owner(PrincipalId),
    Server(Route),
}

impl Shortage {
    /// Refuses another session: the client can end some, or has to wait for others to.
    pub(super) fn reply(&self) -> Reply {
        let refused = match self {
            Self::All => reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n"),
            Self::Owner(_) => reply::plain(
                StatusCode::TOO_MANY_REQUESTS,
                "too many sessions of this client are in use\n",
            ),
            Self::Server(_) => reply::plain(
                StatusCode::TOO_MANY_REQUESTS,
                "too many sessions of this server are in use\n",
            ),
        };
        reply::try_later(refused)
    }
}

impl StoredSession {
    fn is_expired(&self) -> bool {
        match &self.kind {
            SessionKind::Streamable(client) => {
                let connection = client.connection();
                let limit = match connection.was_used() {
                    true => SESSION_IDLE_TIMEOUT,
                    false => SESSION_UNUSED_TIMEOUT,
                };
                client.is_over() || connection.idle_time() >= limit
            }
            // It lives as long as its stream, however little is said on it.
            SessionKind::Sse(stream) => stream.is_over(),
        }
    }

    fn validity(&self, servers: &[Arc<ServedServer>]) -> Validity {
        let client = self.kind.client();
        client.map_or(Validity::Current, |client| client.validity(servers))
    }
}

impl SessionKind {
    const fn is_streamable(&self) -> bool {
        matches!(self, Self::Streamable(_))
    }

    const fn is_sse(&self) -> bool {
        matches!(self, Self::Sse(_))
    }

    /// Returns the client session; an HTTP+SSE client has none before `initialize`.
    fn client(&self) -> Option<&Arc<ClientSession>> {
        match self {
            Self::Streamable(client) => Some(client),
            Self::Sse(stream) => stream.client.get(),
        }
    }

    async fn close(&self) {
        match self {
            Self::Streamable(client) => client.close().await,
            Self::Sse(stream) => stream.close().await,
        }
    }

    /// Closes once the calls under way have their answers.
    async fn finish(&self) {
        match self {
            Self::Streamable(client) => Arc::clone(client).finish().await,
            Self::Sse(stream) => stream.finish().await,
        }
    }
}

const MAX_STREAMABLE: usize = 4096;
const MAX_SSE: usize = 1024;
/// Twice as many as there can be sessions, in 256 KiB.
const MAX_ENDED: usize = 2 * MAX_STREAMABLE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_without_connections_is_kept_only_while_a_request_holds_it() {
        let (store, closing) = (SessionStore::default(), ClosingTasks::default());
        let (principal, route) = (Principal::SameUser, Route::All(Vec::new()));
        let held = store.pool(&principal, &route);
        store.close_expired(|_| true, &closing);
        assert!(Arc::ptr_eq(&held, &store.pool(&principal, &route)));
        drop(held);
        store.close_expired(|_| true, &closing);
        assert!(store.is_empty());
    }
}
