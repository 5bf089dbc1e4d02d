//! The local gateway: Streamable HTTP in both protocol eras, in front of the servers of plugins.
//!
//! Closed by default. A request has to name this machine or the public address, come from no foreign
//! page, and show a gateway token that opens the server it asks for, or a person's access token; then
//! one client is one connection to a server, as on pipes, and bytes pass through. Neither token is
//! sent to servers.

mod admission;
mod batch;
mod binding;
mod client_message;
mod client_session;
mod closing_tasks;
mod connection_pool;
mod consent;
mod dormant;
mod dynamic_connections;
mod event_streams;
mod exchange;
mod families;
mod guard;
mod http_sse;
mod legacy;
mod limits;
mod list_changed;
mod look_requests;
mod message_shares;
mod metrics;
mod modern;
mod open_files;
mod operating;
mod person_page;
mod principal;
mod readiness;
mod reply;
mod room_maker;
mod router;
mod routes;
mod sealed_session;
mod served_servers;
mod session_store;
mod shared_client;
mod sse_stream;
mod upstream_connection;

use std::collections::HashMap;
use std::sync::Arc;

use http::{Method, StatusCode};
use keyway::settings::LimitSettings;
use keyway::store::OneTimeStore;
use keyway_auth::BoxFuture;
use keyway_transport::{Connection, Envelope, Inbound, Peer, Reply, Service};
use tokio::time::{Instant, interval};

pub use keyway_transport::{ListenError, Listener, serve};

use self::client_message::{ClientMessage, bounded, tool_name};
use self::consent::Consents;
pub(crate) use self::families::Family;
use self::guard::Door;
use self::limits::Limits;
use self::look_requests::{AwaitedLooks, LookRequests};
use self::message_shares::MessageShares;
use self::metrics::Metrics;
pub use self::open_files::expect_many_connections;
use self::operating::Operating;
pub(crate) use self::person_page::OWN_PAGE;
pub use self::person_page::{PersonEntry, PersonNeed, PersonVariable, SetBy};
use self::principal::{PersonPrincipal, Principal, PrincipalId, TokenTable, bearer};
use self::readiness::Readiness;
use self::reply::{SESSION_ID, VERSION};
pub(crate) use self::room_maker::RoomMaker;
use self::router::Router;
use self::routes::{NoRoute, Route};
pub use self::sealed_session::SessionKey;
pub use self::served_servers::{ServedServer, Upstream};
use self::session_store::SessionStore;
pub(crate) use self::shared_client::SharedClient;
use crate::control::Control;
use crate::people::People;
use crate::timeouts::MAINTENANCE_INTERVAL;
use keyway_dashboard::Dashboard;
use keyway_dashboard::activity::{self, Activity, Outcome, RequestRecorder};
use keyway_dashboard::trace_parent::TraceParent;
use keyway_mcp::aggregate::RequestTarget;
use keyway_mcp::jsonrpc::{self, INVALID_REQUEST, PARSE_ERROR};
use keyway_mcp::session::ClientInfo;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_mcp::version::{ClientEra, MODERN};
use keyway_people::TokenError;
use keyway_policy::{Policies, TokenReader, TokenUses};

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    router: Arc<Router>,
    tokens: TokenTable,
    sessions: Arc<SessionStore>,
    metrics: Metrics,
    activity: Arc<Activity>,
    dashboard: Option<Arc<Dashboard>>,
    control: Option<Arc<Control>>,
    readiness: Readiness,
    operating: Operating,
    people: Option<Arc<People>>,
    consents: Option<Arc<Consents>>,
    looks: LookRequests,
    limits: Limits,
    shares: MessageShares,
    /// Seals session ids; without it no session outlives this process.
    session_key: Option<SessionKey>,
}

impl Gateway {
    /// Puts servers behind a gateway that accepts the gateway tokens of `tokens`.
    #[must_use]
    pub fn new(servers: Vec<ServedServer>, tokens: TokenReader, info: ClientInfo) -> Self {
        Self {
            router: Arc::new(Router::new(servers, info)),
            tokens: TokenTable::new(tokens),
            sessions: Arc::default(),
            metrics: Metrics::default(),
            activity: Arc::default(),
            dashboard: None,
            control: None,
            readiness: Readiness::default(),
            operating: Operating::default(),
            people: None,
            consents: None,
            looks: LookRequests::default(),
            limits: Limits::default(),
            shares: MessageShares::default(),
            session_key: None,
        }
    }

    /// Asks whether the store of the sign-ins can be reached, at each look at `/readyz`; it must not
    /// wait.
    #[must_use]
    pub fn with_store_check(mut self, check: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.readiness.store = Some(Box::new(check));
        self
    }

    /// Records what clients ask here.
    #[must_use]
    pub fn recording(mut self, activity: Arc<Activity>) -> Self {
        self.activity = activity;
        self
    }

    /// Notes when tokens are used, and stores that from time to time.
    #[must_use]
    pub fn with_token_uses(mut self, uses: Arc<TokenUses>) -> Self {
        self.tokens.uses = uses;
        self
    }

    /// Limits which tools clients may see and call.
    #[must_use]
    pub fn with_policies(self, policies: Arc<Policies>) -> Self {
        self.router.set_policies(policies);
        self
    }

    /// Lets a person in as well.
    #[must_use]
    pub fn with_dashboard(mut self, dashboard: Arc<Dashboard>) -> Self {
        self.dashboard = Some(dashboard);
        self
    }

    /// Lets people in who have an access token, at the public address as well.
    #[must_use]
    pub fn with_people(mut self, people: Arc<People>) -> Self {
        self.people = Some(people);
        self
    }

    /// Seals session ids with a key that all replicas share, so that each can take over sessions that
    /// began at another or before a restart.
    #[must_use]
    pub fn with_session_key(mut self, key: Option<SessionKey>) -> Self {
        self.session_key = key;
        self
    }

    /// Limits how much clients may ask.
    #[must_use]
    pub fn with_limits(mut self, settings: LimitSettings) -> Self {
        self.limits = Limits::new(settings);
        self.sessions.limit(settings);
        self
    }

    /// Lets people in who have an access token, and sign in to servers in their browsers at the public
    /// address. What lies between two steps of that is in `store`, which all replicas share.
    #[must_use]
    pub fn with_people_and_consent(
        mut self,
        people: Arc<People>,
        store: Arc<dyn OneTimeStore>,
    ) -> Self {
        let consents = Arc::new(Consents::new(Arc::clone(&people), store));
        self.router.set_consents(Arc::clone(&consents));
        self.consents = Some(consents);
        self.with_people(people)
    }

    /// Lets people set variables and approve where these lead, on a page of their own.
    #[must_use]
    pub fn with_own_pages(self) -> Self {
        if let Some(consents) = &self.consents {
            consents.show_own_pages();
        }
        self
    }

    /// Answers hosts of the same user on the private socket as well.
    #[must_use]
    pub fn with_control(mut self, control: Arc<Control>) -> Self {
        self.control = Some(control);
        self
    }

    /// Returns the servers as they are now.
    #[must_use]
    pub fn servers(&self) -> Arc<[Arc<ServedServer>]> {
        self.router.servers()
    }

    /// Returns the requests for a look at the files, to be answered after [`replace`](Self::replace).
    pub(crate) fn awaited_looks(&self) -> AwaitedLooks {
        self.looks.follow()
    }

    /// Replaces the servers.
    ///
    /// One that is [the same](ServedServer::is_same_as) as before keeps its connections. Those to
    /// all others close when their pending calls are answered, or after some seconds. Sessions
    /// continue over new connections where the entry is still the same, and end elsewhere.
    ///
    /// Must be called inside a runtime.
    pub fn replace(&self, servers: Vec<ServedServer>) {
        self.router.change(|current| {
            let named = current.iter().map(|old| ((&*old.plugin, &*old.name), old));
            let named: HashMap<_, _> = named.collect();
            let kept = servers.into_iter().map(|new| {
                let same = named.get(&(&*new.plugin, &*new.name)).copied().cloned();
                let same = same.filter(|old| old.is_same_as(&new));
                same.unwrap_or_else(|| Arc::new(new))
            });
            kept.collect()
        });
        self.drop_stale();
        self.router.adapt();
    }

    /// Ends the connections to one server, so that the next request to it reconnects; sessions
    /// continue.
    ///
    /// Must be called inside a runtime.
    pub fn reconnect(&self, plugin: &str, name: &str) {
        self.router.change(|current| {
            let reset = current.iter().map(|server| {
                if server.plugin == plugin && server.name == name {
                    Arc::new(server.reset())
                } else {
                    Arc::clone(server)
                }
            });
            reset.collect()
        });
        self.drop_stale();
    }

    /// Puts the rules for a server in front of the connections to it after they were changed.
    ///
    /// Must be called inside a runtime.
    pub fn apply_policies(&self, plugin: &str, name: &str) {
        self.reconnect(plugin, name);
        self.router.adapt();
    }

    /// Takes over the rules that another process has set.
    ///
    /// Cancel safety: the rules may be taken over without being applied to open connections.
    pub(crate) async fn refresh_policies(&self) {
        let Some(policies) = self.router.policies().cloned() else {
            return;
        };
        let refreshed = tokio::task::spawn_blocking(move || policies.refresh()).await;
        // A vault that cannot be read leaves the rules as they are.
        for (plugin, server) in refreshed.ok().and_then(Result::ok).unwrap_or_default() {
            self.apply_policies(&plugin, &server);
        }
    }

    /// Puts the policy for processes of the same user in front of a connection that one shares.
    pub(crate) fn guard_shared(
        &self,
        server: &ServedServer,
        connection: Connection,
    ) -> (Connection, Option<Arc<dyn ToolMemory>>) {
        self.router.guard(&Principal::SameUser, server, connection)
    }

    /// Returns what stands in for a server that a process of the same user shares and that does not
    /// answer: an aggregate of one, as for clients over HTTP.
    pub(crate) fn fallback_shared(&self, server: &Arc<ServedServer>) -> Connection {
        let route = Route::One(Arc::clone(server));
        let bound = self
            .router
            .connect_dynamic(&Principal::SameUser, &route, None);
        bound.connection
    }

    /// Ends what cannot lead to its server any more, and migrates the sessions that can.
    fn drop_stale(&self) {
        let (servers, closing) = (self.servers(), &self.router.closing);
        self.sessions.drop_stale(&servers, closing);
        for session in self.sessions.to_migrate(&servers) {
            let router = Arc::clone(&self.router);
            closing.spawn(async move { session.migrate_in_background(&router).await });
        }
    }

    /// Keeps streams alive, and closes what is idle, stale or not allowed any more; never returns.
    ///
    /// Cancel safety: dropping the future stops it between two rounds, or while the tokens are
    /// read; closings and migrations that it started continue.
    pub async fn run_maintenance(&self) {
        let mut tick = interval(MAINTENANCE_INTERVAL);
        let mut ticks = 0_u64;
        loop {
            tick.tick().await;
            ticks += 1;
            if !self.sessions.is_empty() {
                self.tokens.refresh().await;
            }
            self.tokens.uses.store_if_due().await;
            // Also what was connecting while the servers changed, and could not be looked at then.
            self.drop_stale();
            if let Some(people) = &self.people {
                people.forget_gone();
            }
            self.sessions
                .close_expired(|id| self.may_stay(id), &self.router.closing);
            if ticks.is_multiple_of(TICKS_PER_KEEP_ALIVE) {
                self.sessions.keep_alive();
            }
        }
    }

    /// Has `/readyz` say from now on that this gateway ends, and ends each connection with its next
    /// answer, so that the next request goes elsewhere.
    pub fn drain(&self) {
        self.readiness.drain();
    }

    /// Ends the streams that would never end, so that everything else can be finished.
    pub fn stop_streams(&self) {
        self.drain();
        self.sessions.stop_streams(&self.router.closing);
        if let Some(dashboard) = &self.dashboard {
            dashboard.stop_streams();
        }
        if let Some(control) = &self.control {
            control.stop_streams();
        }
    }

    /// Closes all connections, and waits until every server has gone.
    ///
    /// Cancel safety: what was taken out so far is closed in tasks of their own; the rest stays
    /// open, and calling it again closes that as well.
    pub async fn close(&self) {
        let closing = &self.router.closing;
        self.sessions.close_all(closing).await;
        closing.wait().await;
        let uses = Arc::clone(&self.tokens.uses);
        // It only says when a token was used; nothing depends on it.
        let _unstored = tokio::task::spawn_blocking(move || uses.store()).await;
    }

    /// Says whether a principal that has sessions may still use them.
    fn may_stay(&self, id: PrincipalId) -> bool {
        match id {
            PrincipalId::SameUser => true,
            PrincipalId::Token(hash) => self.tokens.has(hash),
            PrincipalId::Person(digest) => {
                let people = self.people.as_ref();
                people.is_some_and(|people| people.may_stay(digest))
            }
        }
    }

    /// Finds out who sends a request, or answers it.
    async fn principal(&self, request: &Inbound) -> Result<Principal, Reply> {
        if request.peer == Peer::SameUser {
            return Ok(Principal::SameUser);
        }
        let token = bearer(&request.headers);
        let Some(people) = &self.people else {
            let principal = match token {
                Some(token) => self.tokens.principal(token).await,
                None => None,
            };
            return principal.ok_or_else(reply::token_missing);
        };
        match token {
            None => Err(people.refuse(None)),
            Some(token) if People::is_candidate(token) => match people.verify(token).await {
                Ok(found) => {
                    let person = PersonPrincipal::new(found.person, found.is_admin);
                    Ok(Principal::Person(Arc::new(person)))
                }
                Err(error) => Err(people.refuse(Some(&error))),
            },
            Some(token) => {
                let principal = self.tokens.principal(token).await;
                principal.ok_or_else(|| people.refuse(Some(&TokenError::NotThreeParts)))
            }
        }
    }

    fn session_count(&self) -> usize {
        self.sessions.count()
    }

    async fn handle(&self, request: Inbound) -> Reply {
        let public = self.people.as_ref().map(|people| people.origin());
        let Some(door) = guard::door(request.peer, (&request.uri, &request.headers), public) else {
            return reply::forbidden();
        };
        let path = request.uri.path();
        if path == "/healthz" {
            return reply::plain(StatusCode::OK, "ok\n");
        }
        if path == "/readyz" {
            return self.readiness.reply();
        }
        if let Some(people) = &self.people
            && request.method == Method::GET
            && let Some(document) = people.metadata(path)
        {
            return document;
        }
        if let Some(consents) = &self.consents
            && Consents::is_own(path)
        {
            return consents.answer(request, &self.servers()).await;
        }
        let is_local = door == Door::Local;
        let dashboard = self.dashboard_at(door, request.peer);
        if let Some(dashboard) = dashboard.filter(|_| Dashboard::is_own(path)) {
            // What a person reads in order to approve it is what is there now; a page that is open
            // follows regular looks.
            if request.method == Method::GET {
                self.looks.look().await;
            }
            return dashboard.answer(request).await;
        }
        let control = self.control.as_ref().filter(|_| is_local);
        if let Some(control) = control.filter(|_| Control::is_own(path)) {
            return control.answer(request).await;
        }
        if path == "/metrics" && self.has_metrics_at(door, request.peer) {
            return self.answer_metrics(&request).await;
        }
        let principal = match self.principal(&request).await {
            Ok(principal) => principal,
            Err(refusal) => return refusal,
        };
        let mut found = self.find(path, &principal);
        if found.is_err() {
            self.looks.look().await;
            found = self.find(path, &principal);
        }
        let route = match found {
            Ok(Found::Streamable(route)) => route,
            Ok(Found::Sse(route)) => {
                return Box::pin(self.sse(request, principal, route)).await;
            }
            Err(NoRoute::Forbidden) => return reply::token_too_narrow(),
            Err(NoRoute::Unknown) => return reply::plain(StatusCode::NOT_FOUND, "not found\n"),
        };
        match request.method {
            Method::POST => {
                match ClientMessage::read(request, (principal, route), &self.shares).await {
                    Ok(message) => self.post(message).await,
                    Err(refusal) => refusal,
                }
            }
            Method::GET => self.listen(&principal, &route, &request.headers).await,
            Method::DELETE => self.end(&principal, &route, &request.headers).await,
            _ => reply::wrong_method(),
        }
    }

    fn find(&self, path: &str, principal: &Principal) -> Result<Found, NoRoute> {
        let nowhere = match routes::find(path, &self.servers(), principal) {
            Ok(route) => return Ok(Found::Streamable(route)),
            Err(nowhere) => nowhere,
        };
        let route = self.sse_route(path, principal);
        route.map(Found::Sse).ok_or(nowhere)
    }

    async fn post(&self, message: ClientMessage) -> Reply {
        match message.frame.bytes().first() {
            Some(b'[') => Box::pin(self.batch(message)).await,
            _ => self.post_one(message).await,
        }
    }

    async fn post_one(&self, mut message: ClientMessage) -> Reply {
        let Ok(envelope) = message.frame.envelope() else {
            let error = jsonrpc::error_object(PARSE_ERROR, "not a JSON-RPC message");
            return reply::error(StatusCode::BAD_REQUEST, None, &error);
        };
        if admission::lacks_id(&envelope) {
            let error = jsonrpc::error_object(INVALID_REQUEST, admission::LACKS_ID);
            return reply::error(StatusCode::BAD_REQUEST, None, &error);
        }
        message.permits = match self.admit(&message, &envelope) {
            Ok(permits) => Some(permits),
            Err(refused) => return refused.reply(envelope.id().as_ref()),
        };
        message.recorder = self.begin(&message, &envelope);
        let sent = message.headers.get(VERSION);
        let is_modern = sent.is_some_and(|version| version == MODERN)
            || !message.headers.contains_key(SESSION_ID)
                && ClientEra::of(&envelope) == Some(ClientEra::Modern);
        let reply = if is_modern {
            self.modern(&message, &envelope).await
        } else {
            self.legacy(&message, &envelope).await
        };
        if let Some(recorder) = &message.recorder
            && !reply.status().is_success()
        {
            recorder.end(Outcome::Status(reply.status().as_u16()));
        }
        reply
    }

    /// Records a request; notifications and answers are not recorded.
    fn begin(
        &self,
        message: &ClientMessage,
        envelope: &Envelope<'_>,
    ) -> Option<Arc<RequestRecorder>> {
        let method = envelope
            .method
            .as_deref()
            .filter(|_| envelope.id().is_some())?;
        let served = message.route.only();
        let mut summary = activity::RequestSummary::new(message.principal.name(), bounded(method));
        let person = message.principal.person();
        summary.person = person.map(|it| format!("{} {}", it.issuer(), it.subject()));
        summary.server = served.map(|served| (served.plugin.clone(), served.name.clone()));
        summary.tool = (method == "tools/call")
            .then(|| tool_name(envelope))
            .flatten();
        summary.parent = TraceParent::read(&message.headers);
        let recorder = self.activity.begin(summary);
        let target = || RequestTarget::of(method, envelope.params?.get());
        let target = served.is_none().then(target).flatten();
        let recorder = recorder.with_target(target);
        Some(Arc::new(recorder.with_request(&message.frame)))
    }
}

/// What a path leads to, by the transport that it is for.
enum Found {
    Streamable(Route),
    Sse(Route),
}

impl Service for Gateway {
    fn answer(self: Arc<Self>, request: Inbound) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let begun = Instant::now();
            let reply = self.handle(request).await;
            self.metrics.http.count(reply.status(), begun.elapsed());
            self.readiness.while_draining(reply)
        })
    }
}

/// A comment on every event stream every 15 seconds.
const TICKS_PER_KEEP_ALIVE: u64 = 15;

#[cfg(test)]
mod tests;
