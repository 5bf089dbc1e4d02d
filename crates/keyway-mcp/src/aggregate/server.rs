//! One server behind the aggregate: opened when first needed, and again after it went away.

mod connecting;
mod forward;
mod handler;
mod listing;
mod signing_in;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::TransportError;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use self::connecting::MAX_TRIES;
pub(super) use self::listing::Items;
pub(super) use self::signing_in::SignInOutcome;
use super::client::{Asker, Client};
use super::list_kind::ListKind;
use super::sign_in::{SignInPort, SignInProgress};
use super::{AggregateSettings, Connector, Member};
use crate::declaration_site::DeclarationSite;
use crate::session::{Session, SessionError};
use crate::states::{ServerProblem, ServerState, State};
use crate::timeouts::{NO_TIMEOUT, RETRY_DELAY, STABLE_CONNECTION};
use crate::tool_memory::ToolMemory;

/// One member of the aggregate.
///
/// ```text
/// Pending ──session()──▶ Connecting ──▶ Connected ──connection lost──▶ Failed
///    ▲                     │   ▲                                         │
///    │                     │   └──────────── next use, or a list ────────┤
///    │                     ▼                 after `quiet_until`         │
///    └──clear_failure── Failed ◀─────────────────────────────────────────┘
///                          │ it wants a sign-in
///                          ▼
///                      NeedsAuth ──signed in, here or elsewhere──▶ Connecting
///
/// Failed, and waiting may help ──RETRY_DELAY, doubled each time──▶ Connecting
///
/// any state ──close()──▶ over: nothing is opened any more
/// ```
pub(super) struct Server {
    pub(super) name: String,
    /// Its plugin and its own name, if that is told.
    pub(super) server_id: Option<(String, String)>,
    pub(super) client: Arc<Client>,
    pub(super) settings: Arc<AggregateSettings>,
    pub(super) timeout: Duration,
    connector: Arc<dyn Connector>,
    /// Never held across an await, nor while the observer or the client is told: both may ask for
    /// this server's state, which takes it.
    inner: Mutex<Inner>,
}

/// What changes over a server's life.
#[derive(Default)]
pub(super) struct Inner {
    session: Option<Arc<Session>>,
    attempt: Option<Attempt>,
    problem: Option<ServerProblem>,
    /// Lists do not try again before this.
    quiet_until: Option<Instant>,
    /// The client was given a page to open, and waits to be told that its person is done there.
    has_elicited: bool,
    /// How often it was connected to without lasting.
    tries: u32,
    /// Connects again although nothing is asked for, so that the client learns that it is back.
    retry: Option<AbortHandle>,
    /// How often in a row that was begun.
    retries: u32,
    connected_at: Option<Instant>,
    /// The client has gone away: nothing is opened any more.
    is_over: bool,
    pub(super) lists: HashMap<ListKind, Items>,
    /// What the client saw of this server in its last list of a kind.
    pub(super) shown: HashMap<ListKind, ServerState>,
    pub(super) subscriptions: BTreeSet<String>,
    pub(super) listener: Option<AbortHandle>,
    /// The sign-in under way.
    pub(super) sign_in: Option<SignInProgress>,
    /// Waits for a sign-in by another way.
    pub(super) watcher: Option<AbortHandle>,
}

/// A session, or why there is none.
pub(super) type Outcome = Result<Arc<Session>, ServerProblem>;

/// One attempt to connect, shared by all waiting requests.
struct Attempt {
    outcome: watch::Receiver<Option<Outcome>>,
    task: AbortHandle,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Server");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

impl Asker for Server {
    fn name(&self) -> &str {
        &self.name
    }

    fn tell(&self, method: &'static str, params: String) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.notify(method, Some(&params)).await })
    }
}

impl Server {
    pub(super) fn new(
        member: Member,
        client: Arc<Client>,
        settings: Arc<AggregateSettings>,
    ) -> Self {
        Self {
            name: member.name,
            server_id: member.server_id,
            client,
            settings,
            timeout: member.timeout.unwrap_or(NO_TIMEOUT),
            connector: member.connector,
            inner: Mutex::default(),
        }
    }

    /// Says whether it is what a member describes.
    pub(super) fn is_for(&self, member: &Member) -> bool {
        let (own, other) = (Arc::as_ptr(&self.connector), Arc::as_ptr(&member.connector));
        self.name == member.name && std::ptr::addr_eq(own, other)
    }

    /// Returns the session, connecting if there is none. Requests that wait at the same time share
    /// one attempt, and dropping one of them does not end it.
    pub(super) async fn session(self: &Arc<Self>) -> Outcome {
        let mut outcome = {
            let mut inner = self.lock();
            if let Some(session) = inner.live() {
                return Ok(session);
            }
            if inner.is_over {
                return Err(ServerProblem::from(&TransportError::Closed));
            }
            let attempt = inner.attempt.get_or_insert_with(|| self.start());
            attempt.outcome.clone()
        };
        let settled = outcome.wait_for(Option::is_some).await;
        let outcome = settled.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(ServerProblem::from(&TransportError::Closed)))
    }

    /// Finds out whether there is a way in.
    pub(super) async fn find_sign_in(&self) {
        self.connector.find_sign_in().await;
    }

    /// Returns the way in, if a person signs in to this server.
    pub(super) fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        self.connector.sign_in_port()
    }

    /// Returns what remembers its tools.
    pub(super) fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        self.connector.tool_memory()
    }

    /// Words a hint for this server.
    pub(super) fn hint(&self, hint: &str) -> String {
        let known = self.connector.declaration_site();
        let known = known.unwrap_or_else(|| DeclarationSite::named(self.name.clone()));
        known.word(hint)
    }

    /// Forgets the last failure, so that the next use connects again.
    pub(super) fn clear_failure(&self) {
        let mut inner = self.lock();
        inner.quiet_until = None;
        if inner.session.is_none() {
            inner.problem = None;
        }
    }

    /// Returns the session if there is one.
    pub(super) fn live(&self) -> Option<Arc<Session>> {
        self.lock().live()
    }

    /// Returns the last failure, unless there is none or a list should connect again.
    pub(super) fn lasting_problem(&self) -> Option<ServerProblem> {
        let inner = self.lock();
        let is_quiet = inner
            .quiet_until
            .is_some_and(|until| Instant::now() < until);
        inner.problem.clone().filter(|_| is_quiet)
    }

    /// Returns what the server is doing.
    pub(super) fn state(&self) -> ServerState {
        let inner = self.lock();
        match (&inner.problem, inner.live()) {
            (Some(problem), _) => problem.state,
            (None, Some(_)) => ServerState::CONNECTED,
            (None, None) if inner.attempt.is_some() => ServerState::CONNECTING,
            (None, None) => ServerState::without_reason(State::Pending),
        }
    }

    /// Takes notice of how a request went: a session may stay open while its server refuses all.
    pub(super) fn record_result(&self, error: Option<&SessionError>) {
        let problem = match error {
            Some(SessionError::Transport(error)) if tells_of_server(error) => {
                Some(self.explained(error))
            }
            None => None,
            Some(_) => return,
        };
        {
            let mut inner = self.lock();
            if inner.live().is_none() || inner.problem == problem {
                return;
            }
            inner.problem.clone_from(&problem);
        }
        let state = problem.as_ref().map(|problem| problem.state);
        self.changed(state.unwrap_or(ServerState::CONNECTED), problem.as_ref());
    }

    /// Returns why a request failed; that of an ended connection is known only here.
    pub(super) fn problem_of(&self, error: &SessionError) -> ServerProblem {
        let known = match error {
            SessionError::Transport(TransportError::Closed) => self.lock().problem.clone(),
            _ => None,
        };
        known.unwrap_or_else(|| self.explained_session(error))
    }

    /// Returns what an error means, in the words that every other surface has for it.
    fn explained(&self, error: &TransportError) -> ServerProblem {
        let plain = ServerProblem::from(error);
        match self.connector.explainer() {
            Some(explainer) => {
                let explained = explainer(error);
                ServerProblem {
                    state: explained.state,
                    code: explained.code,
                    message: explained.message,
                    hint: explained.hint,
                    source: explained.source.map(Box::new),
                    ..plain
                }
            }
            None => plain,
        }
    }

    fn explained_session(&self, error: &SessionError) -> ServerProblem {
        match error {
            SessionError::Transport(error) => self.explained(error),
            other => ServerProblem::from(other),
        }
    }

    /// Takes notice that the connection has ended; the next use makes a new one.
    pub(super) fn connection_lost(&self, reason: &TransportError) {
        let problem = self.explained(reason);
        {
            let mut inner = self.lock();
            if !inner.session.as_ref().is_some_and(|s| s.is_closed()) {
                return;
            }
            inner.session = None;
            if inner
                .connected_at
                .is_some_and(|at| at.elapsed() >= STABLE_CONNECTION)
            {
                inner.tries = 0;
            }
            inner.quiet_until = (inner.tries >= MAX_TRIES).then(|| Instant::now() + RETRY_DELAY);
            inner.problem = Some(problem.clone());
            inner.stop_listening();
        }
        self.changed(problem.state, Some(&problem));
    }

    /// Ends the connection and all attempts at one.
    pub(super) async fn close(&self) {
        if let Some(session) = self.end() {
            session.close().await;
        }
    }

    /// Ends all tasks and attempts, for good; the session that is returned ends when it is dropped.
    pub(super) fn end(&self) -> Option<Arc<Session>> {
        let mut inner = self.lock();
        inner.is_over = true;
        inner.stop_listening();
        if let Some(watcher) = inner.watcher.take() {
            watcher.abort();
        }
        if let Some(retry) = inner.retry.take() {
            retry.abort();
        }
        if let Some(attempt) = inner.attempt.take() {
            attempt.task.abort();
        }
        inner.session.take()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    fn live(&self) -> Option<Arc<Session>> {
        let session = self.session.as_ref();
        session.filter(|session| !session.is_closed()).cloned()
    }

    pub(super) fn stop_listening(&mut self) {
        if let Some(task) = self.listener.take() {
            task.abort();
        }
    }
}

/// Says whether an error would meet any other request as well.
const fn tells_of_server(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::Refused { status: 401, .. }
            | TransportError::Auth(_)
            | TransportError::Unreachable { .. }
    )
}
