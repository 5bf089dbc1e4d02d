//! A client's session, which continues while the connection behind it is replaced by another.
//!
//! That happens when a person signs in or out. The new connection gets the client's own
//! `initialize`, its result is not passed on, and streams continue where they were. The account
//! stays the same, or the session is over.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Envelope, Frame};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::binding::{Binding, BoundConnection, Validity};
use super::dormant::needs_program;
use super::list_changed::ListChanged;
use super::principal::Principal;
use super::router::{Router, startable_later};
use super::routes::Route;
use super::sealed_session::SealedSession;
use super::served_servers::ServedServer;
use super::upstream_connection::{
    CloseOnDrop, Delivery, OpenedUpstream, RequestInfo, UpstreamConnection,
};
use crate::timeouts::CLIENT_INITIALIZE_TIMEOUT;
use keyway::sign_in::AccountPin;
use keyway_mcp::jsonrpc;
use keyway_mcp::splice::with_member;
use keyway_mcp::version::ClientEra;

/// One client, and its current connection.
///
/// ```text
///   started ──initialize answered──▶ Current ──server replaced, or signed out──▶ Reconnect
///                                     ▲   │                                       │ migrate
///                                     └───┼──── another connection, initialized ──┤
///                                         │                                       │ none accepted
///   entry gone, other account,            ▼                                       ▼
///   closed, or connection ended ──────▶ over ◀────────────────────────────────────┘
/// ```
#[derive(Debug)]
pub(super) struct ClientSession {
    /// Held to copy or to replace it. `close` sets `is_over` before it locks this, and a migration
    /// locks this before it reads `is_over`: one of both sees the other, so that no connection
    /// stays open behind a session that is over.
    connection: Mutex<Arc<UpstreamConnection>>,
    /// Held while the client is moved.
    /// Across awaits, so that one migration serves all requests that wait.
    /// It runs in a task of its own and is never dropped half-way. Taken before the other locks.
    migration: tokio::sync::Mutex<()>,
    owner: SessionOwner,
    /// Held to copy or to change it, never across an await.
    negotiated: Mutex<Negotiated>,
    /// `Release` and `Acquire`: set before `notifications/initialized` is passed on, under the lock
    /// of `connection`. A migration that read it before looks again when it replaces the connection.
    is_initialized: AtomicBool,
    /// The number of sign-outs when the connection was opened.
    /// `Release` and `Acquire`: stored after the connection, so a reader that sees the new count also
    /// sees the new connection; one that sees the old count with the new connection only looks once
    /// more.
    sign_out_count: AtomicU64,
    /// Only ever set. `Release` and `Acquire` suffice, because the lock of `connection` orders it with
    /// a migration: see there.
    is_over: AtomicBool,
}

/// What both sides agreed on.
#[derive(Debug, Clone)]
struct Negotiated {
    /// The client's first request; `None` if it is too long to be kept.
    initialize: Option<Frame>,
    /// The version that was agreed on, as written.
    version: Option<Box<str>>,
    list_changed: ListChanged,
}

impl Negotiated {
    /// Returns the `initialize` request as if the client had asked for the agreed version.
    fn initialize_request(&self) -> Option<Frame> {
        let initialize = self.initialize.as_ref()?;
        let asked_for = || {
            let text = str::from_utf8(initialize.bytes()).ok()?;
            let params = initialize.envelope().ok()?.params?;
            let params = with_member(params.get(), VERSION, self.version.as_deref()?)?;
            Frame::new(with_member(text, "params", &params)?).ok()
        };
        Some(asked_for().unwrap_or_else(|| initialize.clone()))
    }

    /// Says whether a result agrees on the same version as before.
    fn accepts(&self, result: &Frame) -> bool {
        let is_same = |result: InitializeResult<'_>| {
            let version = result.version.map(RawValue::get);
            self.version.is_none() || version == self.version.as_deref()
        };
        InitializeResult::read(result).is_some_and(is_same)
    }
}

/// The principal of a session, its route, and its account.
#[derive(Debug)]
pub(super) struct SessionOwner {
    principal: Principal,
    route: Route,
    account: AccountPin,
}

impl SessionOwner {
    /// The sender of a message; its account is not known yet.
    pub(super) fn of(principal: &Principal, route: &Route) -> Self {
        Self {
            principal: principal.clone(),
            route: route.clone(),
            account: AccountPin::default(),
        }
    }

    /// Opens the first connection, and sends `initialize` there. A program that has answered the
    /// same before is not started yet.
    ///
    /// A server that is down or refuses its credential is served by an aggregate of one, which
    /// answers in its place, has a tool that says what is wrong, and continues with the server when
    /// it is back: a client drops a server whose `initialize` fails, and does not come back.
    pub(super) async fn open_connection(
        &self,
        router: &Router,
        initialize: &Frame,
        asked: &RequestInfo,
    ) -> io::Result<(Arc<UpstreamConnection>, mpsc::Receiver<Delivery>)> {
        let (principal, route, account) = (&self.principal, &self.route, Some(&self.account));
        let bound = match router.connect_dormant(principal, route, initialize) {
            Some(dormant) => dormant,
            None => router.connect(principal, route, account).await,
        };
        let is_direct = bound.members.is_none();
        let open = |bound| {
            let (initialize, streams) = (initialize.clone(), Arc::default());
            UpstreamConnection::open(bound, initialize, ClientEra::Legacy, asked, streams)
        };
        let mut opened = open(bound).await?;
        if opened.has_failed && is_direct && !self.account.was_refused() {
            let failed = CloseOnDrop::new(opened.connection);
            let bound = router.connect_dynamic(principal, route, account);
            opened = open(bound).await?;
            drop(failed);
        }
        Ok((opened.connection, opened.deliveries))
    }
}

impl ClientSession {
    /// Begins with the connection on which `initialize` was sent.
    pub(super) fn start(
        connection: Arc<UpstreamConnection>,
        owner: SessionOwner,
        initialize: &Frame,
    ) -> Arc<Self> {
        let negotiated = Negotiated {
            initialize: (initialize.bytes().len() <= MAX_INITIALIZE_BYTES)
                .then(|| initialize.detached()),
            version: None,
            list_changed: ListChanged::default(),
        };
        Arc::new(Self {
            connection: Mutex::new(connection),
            migration: tokio::sync::Mutex::default(),
            owner,
            negotiated: Mutex::new(negotiated),
            is_initialized: AtomicBool::new(false),
            sign_out_count: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    /// Says what another replica needs to take it over; `None` if its first request is too long.
    pub(super) fn sealed(&self) -> Option<SealedSession> {
        let negotiated = lock(&self.negotiated);
        let initialize = negotiated.initialize.as_ref()?;
        let text = str::from_utf8(initialize.bytes()).ok()?;
        let version = negotiated.version.as_deref().map(str::to_owned);
        let account = self.owner.account.digest();
        let list_changed = negotiated.list_changed;
        Some(SealedSession::new(
            text.to_owned(),
            version,
            list_changed,
            account,
        ))
    }

    /// Takes over a session that began elsewhere: its server is greeted as its client greeted it, and
    /// has to agree on the same version.
    ///
    /// `None` if it does not, and for a program: what that remembered is lost.
    pub(super) async fn take_over(
        sealed: SealedSession,
        mut owner: SessionOwner,
        router: &Router,
    ) -> Option<Arc<Self>> {
        if startable_later(&owner.principal, &owner.route).is_some() {
            return None;
        }
        owner.account = sealed
            .account
            .map(AccountPin::expecting)
            .unwrap_or_default();
        let negotiated = Negotiated {
            initialize: Some(Frame::new(sealed.initialize).ok()?),
            version: sealed.version.map(Into::into),
            list_changed: sealed.list_changed,
        };
        let initialize = negotiated.initialize_request()?;
        let asked = RequestInfo {
            id: initialize.envelope().ok()?.id()?,
            token: None,
            takes_events: false,
        };
        let opened = owner.open_connection(router, &initialize, &asked);
        let opened = timeout(CLIENT_INITIALIZE_TIMEOUT, opened).await.ok()?;
        let (connection, mut deliveries) = opened.ok()?;
        let close_on_drop = CloseOnDrop::new(Arc::clone(&connection));
        connection.announce_only(negotiated.list_changed);
        let answer = loop {
            match timeout(CLIENT_INITIALIZE_TIMEOUT, deliveries.recv())
                .await
                .ok()??
            {
                Delivery::Interim(_) => {}
                Delivery::Response(answer, _) => break answer,
            }
        };
        if !negotiated.accepts(&answer) {
            return None;
        }
        send_initialized(&connection).await;
        let session = Self::start(connection, owner, &initialize);
        *lock(&session.negotiated) = negotiated;
        session.is_initialized.store(true, Ordering::Release);
        close_on_drop.keep();
        Some(session)
    }

    /// Notes the result of `initialize`.
    pub(super) fn initialized_with(&self, answer: &Frame) {
        let result = InitializeResult::read(answer).unwrap_or_default();
        self.remember_answer(&self.owner.route, &self.connection(), answer);
        let mut negotiated = lock(&self.negotiated);
        negotiated.list_changed = result.capabilities.map(ListChanged::by).unwrap_or_default();
        let version = result.version.map(RawValue::get);
        negotiated.version = version.filter(|it| it.starts_with('"')).map(Into::into);
    }

    /// Keeps what a program answered, for the next session of the same client.
    fn remember_answer(&self, route: &Route, connection: &UpstreamConnection, answer: &Frame) {
        let principal = &self.owner.principal;
        let initialize = lock(&self.negotiated).initialize.clone();
        if let Some(server) = startable_later(principal, route)
            && let Some(initialize) = initialize
            && connection.is_direct()
            && !connection.is_dormant()
        {
            let answers = &server.initialize_answers;
            answers.remember(principal.client(), &initialize, answer);
        }
    }

    /// Returns the current connection.
    pub(super) fn connection(&self) -> Arc<UpstreamConnection> {
        Arc::clone(&lock(&self.connection))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
            || self.owner.account.was_refused()
            || self.connection().is_over()
    }

    /// Says whether the connection still leads to the client's route.
    pub(super) fn validity(&self, servers: &[Arc<ServedServer>]) -> Validity {
        let connection = self.connection();
        let sign_out_count = self.sign_out_count.load(Ordering::Acquire);
        match connection.validity(servers) {
            // The connection would ask for a sign-in at whatever the client says next.
            Validity::Current
                if connection.is_direct()
                    && self.owner.account.sign_out_count() != sign_out_count =>
            {
                Validity::Reconnect
            }
            validity => validity,
        }
    }

    /// Returns the connection to send a message on, after the client was moved if need be; `None` at
    /// the end.
    pub(super) async fn connection_for(
        self: &Arc<Self>,
        router: &Arc<Router>,
        envelope: &Envelope<'_>,
    ) -> Option<Arc<UpstreamConnection>> {
        let current = self.connection();
        if current.is_dormant() && !needs_program(envelope) {
            let is_valid = self.validity(&router.servers()) != Validity::Expired;
            return is_valid.then_some(current);
        }
        self.reconnect_if_needed(router).await
    }

    /// Returns a connection whose server runs, after the client was moved if need be; `None` at the
    /// end.
    pub(super) async fn reconnect_if_needed(
        self: &Arc<Self>,
        router: &Arc<Router>,
    ) -> Option<Arc<UpstreamConnection>> {
        let connection = self.connection();
        match self.validity(&router.servers()) {
            Validity::Current if !connection.is_dormant() => Some(connection),
            Validity::Expired => None,
            Validity::Current | Validity::Reconnect => {
                let (session, router) = (Arc::clone(self), Arc::clone(router));
                // In a task of its own, so that it finishes even if the request is dropped.
                let migration = tokio::spawn(async move {
                    let _migration = session.migration.lock().await;
                    session.migrate(&router).await
                });
                migration.await.ok().flatten()
            }
        }
    }

    /// Moves the client if need be, unless another task does already. One that has not used its
    /// program stays where it is.
    pub(super) async fn migrate_in_background(&self, router: &Router) {
        if self.connection().is_dormant() {
            return;
        }
        if let Ok(_migration) = self.migration.try_lock() {
            Box::pin(self.migrate(router)).await;
        }
    }

    /// Notes a notification of the client, and returns the connection to send it on: `connection`,
    /// unless the client was moved meanwhile.
    pub(super) fn observe_notification(
        &self,
        envelope: &Envelope<'_>,
        connection: Arc<UpstreamConnection>,
    ) -> Arc<UpstreamConnection> {
        if envelope.method.as_deref() != Some(INITIALIZED) {
            return connection;
        }
        // Both under the lock under which a migration looks and replaces: each connection is told
        // once, either from here or by the migration.
        let current = lock(&self.connection);
        self.is_initialized.store(true, Ordering::Release);
        Arc::clone(&current)
    }

    /// Closes the connection cleanly.
    pub(super) async fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.connection().close().await;
    }

    /// The same, once the calls under way have their answers.
    pub(super) async fn finish(self: Arc<Self>) {
        self.is_over.store(true, Ordering::Release);
        self.connection().close_when_idle().await;
    }

    async fn migrate(&self, router: &Router) -> Option<Arc<UpstreamConnection>> {
        let before = self.connection();
        match self.validity(&router.servers()) {
            _ if self.is_over() => return None,
            Validity::Current if !before.is_dormant() => return Some(before),
            Validity::Expired => return None,
            Validity::Current | Validity::Reconnect => {}
        }
        let sign_out_count = self.owner.account.sign_out_count();
        let was_initialized = self.is_initialized.load(Ordering::Acquire);
        let reinitialized = self.reinitialize(router, &before, was_initialized);
        let Some(connection) = reinitialized.await else {
            self.is_over.store(true, Ordering::Release);
            return None;
        };
        before.detach();
        let is_initialized_meanwhile = {
            let mut current = lock(&self.connection);
            *current = Arc::clone(&connection);
            self.is_initialized.load(Ordering::Acquire) && !was_initialized
        };
        if is_initialized_meanwhile {
            send_initialized(&connection).await;
        }
        self.sign_out_count.store(sign_out_count, Ordering::Release);
        let was_dormant = before.is_dormant();
        router.closing.spawn(before.close_when_idle());
        if self.is_over() {
            // The session ended meanwhile, and closed only the old connection.
            connection.close().await;
            return None;
        }
        let mut list_changed = lock(&self.negotiated).list_changed;
        if was_dormant {
            // Its client has listed nothing yet.
            list_changed = ListChanged::default();
        }
        for note in list_changed.changes() {
            connection.streams.note(&note).await;
        }
        Some(connection)
    }

    /// Opens another connection in place of one, and sends the client's `initialize` there.
    async fn reinitialize(
        &self,
        router: &Router,
        before: &Arc<UpstreamConnection>,
        is_initialized: bool,
    ) -> Option<Arc<UpstreamConnection>> {
        let SessionOwner {
            principal,
            route,
            account,
        } = &self.owner;
        let route = route.by_now(&router.servers(), principal)?;
        let has_signed_out =
            account.sign_out_count() != self.sign_out_count.load(Ordering::Acquire);
        if !has_signed_out {
            let initialize_request = async {
                let bound = router.connect(principal, &route, Some(account)).await;
                let is_direct = bound.binding.is_some();
                let bound = self.bound_to_entry(bound, &route);
                let connection = self.initialize_on(bound, &route, before, is_initialized);
                let connection = connection.await;
                (connection, is_direct)
            };
            let found = timeout(CLIENT_INITIALIZE_TIMEOUT, initialize_request).await;
            if let Some(server) = route.only()
                && !matches!(found, Ok((Some(_), true)))
            {
                // It does not answer as it did: the next session starts it to find out.
                server.initialize_answers.forget();
            }
            match found {
                Ok((Some(connection), _)) => return Some(connection),
                Ok((None, false)) => return None,
                _ if account.was_refused() => return None,
                _ => {}
            }
        }
        // After a sign-out, the session must not use tokens that are about to be deleted, and the
        // server may not answer now: the aggregate of one says so, and continues once it can
        // connect.
        let bound = router.connect_dynamic(principal, &route, Some(account));
        let bound = self.bound_to_entry(bound, &route);
        self.initialize_on(bound, &route, before, is_initialized)
            .await
    }

    /// Binds a connection to the entry, which the session must not outlive.
    fn bound_to_entry(&self, mut bound: BoundConnection, route: &Route) -> BoundConnection {
        if let (None, Some(server)) = (&bound.binding, route.only()) {
            let binding = Binding::new(server, &self.owner.principal, route);
            bound.binding = Some(binding.for_dynamic());
        }
        bound
    }

    async fn initialize_on(
        &self,
        bound: BoundConnection,
        route: &Route,
        before: &Arc<UpstreamConnection>,
        is_initialized: bool,
    ) -> Option<Arc<UpstreamConnection>> {
        let negotiated = lock(&self.negotiated).clone();
        let initialize = negotiated.initialize_request()?;
        let asked = RequestInfo {
            id: initialize.envelope().ok()?.id()?,
            token: None,
            takes_events: false,
        };
        let streams = Arc::clone(&before.streams);
        let opened =
            UpstreamConnection::open(bound, initialize, ClientEra::Legacy, &asked, streams);
        let OpenedUpstream {
            connection,
            mut deliveries,
            ..
        } = opened.await.ok()?;
        let close_on_drop = CloseOnDrop::new(Arc::clone(&connection));
        connection.announce_only(negotiated.list_changed);
        let is_accepted = loop {
            match deliveries.recv().await {
                Some(Delivery::Interim(_)) => {}
                Some(Delivery::Response(answer, _)) => {
                    self.remember_answer(route, &connection, &answer);
                    break negotiated.accepts(&answer);
                }
                None => break false,
            }
        };
        if !is_accepted {
            return None;
        }
        if is_initialized {
            send_initialized(&connection).await;
        }
        close_on_drop.keep();
        Some(connection)
    }
}

async fn send_initialized(connection: &UpstreamConnection) {
    if let Ok(frame) = Frame::new(jsonrpc::notification(INITIALIZED, None)) {
        // If the upstream has ended, the next request reports it.
        drop(connection.send_notification(frame).await);
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an answer to `initialize` says about the time after it.
#[derive(Default, Deserialize)]
struct InitializeResult<'a> {
    #[serde(borrow, rename = "protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    capabilities: Option<&'a RawValue>,
}

impl<'a> InitializeResult<'a> {
    fn read(answer: &'a Frame) -> Option<Self> {
        let result = answer.envelope().ok()?.result?;
        serde_json::from_str(result.get()).ok()
    }
}

const VERSION: &str = "protocolVersion";
/// A client with a longer `initialize` has to start a new session after a change.
const MAX_INITIALIZE_BYTES: usize = 64 * 1024;
const INITIALIZED: &str = "notifications/initialized";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_connection_is_initialized_with_the_negotiated_version() {
        let initialize = r#"{"id":1,"params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
        let negotiated = |version: Option<&str>| Negotiated {
            initialize: Some(Frame::new(initialize.to_owned()).unwrap()),
            version: version.map(Into::into),
            list_changed: ListChanged::default(),
        };
        let agreed = negotiated(Some("\"2025-06-18\""));
        let expected = initialize.replace("2025-11-25", "2025-06-18");
        assert_eq!(
            agreed.initialize_request().unwrap().bytes(),
            expected.as_bytes()
        );
        let unknown = negotiated(None).initialize_request().unwrap();
        assert_eq!(unknown.bytes(), initialize.as_bytes());
        for (answer, is_met) in [
            (
                r#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#,
                true,
            ),
            (
                r#"{"id":1,"result":{"protocolVersion":"2025-03-26"}}"#,
                false,
            ),
            (r#"{"id":1,"error":{"message":"no code"}}"#, false),
        ] {
            let answer = Frame::new(answer).unwrap();
            assert_eq!(agreed.accepts(&answer), is_met, "{answer:?}");
        }
    }
}
