//! A connection that a policy stands in front of: calls are let through, asked about or refused,
//! and lists show what is left.
//!
//! It sits next to the server, behind the translation of protocol versions and behind the names of
//! an aggregate, so that it sees the server's own names, whatever the client speaks and by whichever
//! route it came. Everything but calls and lists of tools passes as it is.

mod arguments;
mod calls;
mod listing;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_mcp::aggregate::{Connector, Opened, SignInPort};
use keyway_mcp::declaration_site::DeclarationSite;
use keyway_mcp::explain::Explainer;
use keyway_mcp::jsonrpc::{self, INVALID_REQUEST};
use keyway_mcp::states::ServerProblem;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_secret::random;
use keyway_transport::{
    Connection, Envelope, Event, EventReceiver, EventSender, Frame, Link, RequestId,
    TransportError, queue,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use self::calls::{Parked, asks_form};
use self::listing::CurrentTools;
use crate::Access;

/// Puts the policy of a client in front of a connection on which nothing was sent yet.
///
/// Must be called inside a runtime.
pub fn guarded(connection: Connection, access: Access) -> Connection {
    let Connection {
        link: server,
        events: from_server,
        watch,
        ..
    } = connection;
    let (client, events) = queue(QUEUE);
    let guard = Arc::new(Guard {
        server,
        client,
        access: Arc::new(access),
        own_ids: random::token()
            .ok()
            .map(|it| format!("keyway-{}-", it.expose())),
        state: Mutex::default(),
        listing: tokio::sync::Mutex::new(CurrentTools::default()),
    });
    let pump = tokio::spawn(Arc::clone(&guard).pump(from_server));
    let link = GuardLink {
        guard,
        pump: pump.abort_handle(),
    };
    let mut guarded = Connection::new(Arc::new(link), events);
    guarded.watch = watch;
    guarded
}

/// Reaches a server with a policy in front of it.
#[derive(Debug)]
pub struct GuardedConnector {
    inner: Arc<dyn Connector>,
    /// Makes a policy for each connection.
    access: (Arc<crate::Policies>, Option<String>, (String, String)),
}

impl GuardedConnector {
    /// Puts the policies for a client, by the name of its token, in front of a server.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Connector>,
        policies: &Arc<crate::Policies>,
        client: Option<&str>,
        server: (String, String),
    ) -> Self {
        Self {
            inner,
            access: (Arc::clone(policies), client.map(str::to_owned), server),
        }
    }

    fn access(&self) -> Option<Access> {
        let (policies, client, (plugin, server)) = &self.access;
        policies.access(client.as_deref(), (plugin, server))
    }

    /// Says whether it leads to this connector.
    #[must_use]
    pub fn is_for(&self, inner: &Arc<dyn Connector>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.inner), Arc::as_ptr(inner))
    }
}

/// What the server listed last, by the rules as they are now.
impl ToolMemory for GuardedConnector {
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        Box::pin(async move {
            let mut tools = self.inner.tool_memory()?.recall().await?;
            if let Some(access) = self.access() {
                tools.retain(|tool| access.shows(tool));
            }
            Some(tools)
        })
    }

    fn remember(&self, tools: &[Box<RawValue>]) {
        // What came through the guard is what one client may see, and the memory is for all.
        if self.access().is_none()
            && let Some(memory) = self.inner.tool_memory()
        {
            memory.remember(tools);
        }
    }
}

impl Connector for GuardedConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async move {
            let mut opened = self.inner.connect().await?;
            if let Some(access) = self.access() {
                opened.connection = guarded(opened.connection, access);
            }
            Ok(opened)
        })
    }

    fn connect_timeout(&self) -> Duration {
        self.inner.connect_timeout()
    }

    fn find_sign_in(&self) -> BoxFuture<'_, ()> {
        self.inner.find_sign_in()
    }

    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        self.inner.sign_in_port()
    }

    fn explainer(&self) -> Option<Explainer> {
        self.inner.explainer()
    }

    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        self.inner.tool_memory().map(|_| self as _)
    }

    fn declaration_site(&self) -> Option<DeclarationSite> {
        self.inner.declaration_site()
    }
}

/// What stands between a client and a server.
struct Guard {
    server: Arc<dyn Link>,
    client: EventSender,
    access: Arc<Access>,
    /// What ids of our own requests begin with, which neither side can guess; `None` if the
    /// operating system gave no random bytes, and then nothing is asked.
    own_ids: Option<String>,
    /// Held for one message, never across an await.
    state: Mutex<GuardState>,
    /// Held while the tools are listed, so that calls that come together wait for one list. Taken
    /// before `state`.
    listing: tokio::sync::Mutex<CurrentTools>,
}

#[derive(Default)]
struct GuardState {
    /// The client's lists that are not answered yet.
    lists: HashSet<RequestId>,
    /// Requests that wait for a decision. The task that removes one owns it: the decision, which passes
    /// it on or refuses it, or the client, which has cancelled it.
    held: HashMap<RequestId, AbortHandle>,
    /// Our own requests, to either side.
    own: HashMap<RequestId, oneshot::Sender<Frame>>,
    /// Calls that the client repeats with the answer of its person (since 2026-07-28).
    parked: HashMap<String, Parked>,
    /// How often the server said that its tools have changed.
    list_changes: u64,
    /// Whether the client said in `initialize` that it asks people by forms.
    asks_form: bool,
    last_id: u64,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// The client's side of a guard. Dropping it ends what waits, and the connection with it.
#[derive(Debug)]
struct GuardLink {
    guard: Arc<Guard>,
    pump: AbortHandle,
}

impl Drop for GuardLink {
    fn drop(&mut self) {
        self.pump.abort();
        self.guard.end_held();
    }
}

impl Link for GuardLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move { self.guard.client_sent(frame).await })
    }

    fn abandon(&self, id: &RequestId) {
        if !self.guard.cancel(id) {
            self.guard.server.abandon(id);
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.guard.end_held();
        self.guard.server.close()
    }

    fn end_session(&self) -> BoxFuture<'_, ()> {
        self.guard.end_held();
        self.guard.server.end_session()
    }

    fn reopen_lost_streams(&self) {
        self.guard.server.reopen_lost_streams();
    }
}

impl Guard {
    /// Takes a message of the client.
    async fn client_sent(self: &Arc<Self>, frame: Frame) -> Result<(), TransportError> {
        let Ok(envelope) = frame.envelope() else {
            // A lenient server could read a call in it.
            let error = jsonrpc::error_object(INVALID_REQUEST, "not one JSON-RPC message");
            self.to_client(jsonrpc::error(None, &error)).await;
            return Ok(());
        };
        match (envelope.method.as_deref(), envelope.id()) {
            (None, Some(id)) => {
                let waiting = self.lock().own.remove(&id);
                match waiting {
                    Some(waiting) => drop(waiting.send(frame)),
                    None => return self.server.send(frame).await,
                }
            }
            // It would be carried out without an answer.
            (Some("tools/call"), None) => {}
            (Some("notifications/cancelled"), None) if self.is_cancelled_here(&envelope) => {}
            (Some(method), Some(id)) if self.is_known(&id) => {
                let what = format!("`{method}` has the id of a request that is under way");
                let error = jsonrpc::error_object(INVALID_REQUEST, &what);
                self.to_client(jsonrpc::error(Some(&id), &error)).await;
            }
            (Some("tools/call"), Some(id)) => return self.call(id, frame.clone()).await,
            (Some("tools/list"), Some(id)) => return self.list(id, frame.clone()).await,
            (Some("initialize"), Some(_)) => {
                self.lock().asks_form = declares_form(&envelope);
                return self.server.send(frame).await;
            }
            _ => return self.server.send(frame).await,
        }
        Ok(())
    }

    /// Passes a list of the client on; before the first of all, the tools are remembered.
    async fn list(self: &Arc<Self>, id: RequestId, frame: Frame) -> Result<(), TransportError> {
        if self.lock().lists.len() >= MOST_LISTS {
            let error = jsonrpc::error_object(INVALID_REQUEST, "too many lists are under way");
            self.to_client(jsonrpc::error(Some(&id), &error)).await;
            return Ok(());
        }
        if !self.access.is_first_sight() {
            self.lock().lists.insert(id.clone());
            let sent = self.server.send(frame).await;
            if sent.is_err() {
                self.lock().lists.remove(&id);
            }
            return sent;
        }
        let guard = Arc::clone(self);
        self.hold(id.clone(), async move {
            let meta = frame.envelope().ok().and_then(|it| listing::meta(&it));
            let _failed = guard.tools(meta.as_deref()).await;
            if guard.release(&id) {
                guard.lock().lists.insert(id.clone());
                guard.pass_on(id, frame).await;
            }
        });
        Ok(())
    }

    /// Works on a request in a task of its own, until it is released or cancelled.
    fn hold(&self, id: RequestId, work: impl Future<Output = ()> + Send + 'static) {
        // Under the lock, so that the work finds the request held.
        let mut state = self.lock();
        let task = tokio::spawn(work);
        state.held.insert(id, task.abort_handle());
    }

    /// Takes a request out of those that wait; `false` if the client has cancelled it.
    fn release(&self, id: &RequestId) -> bool {
        self.lock().held.remove(id).is_some()
    }

    /// Gives a request up that waits; `false` if it does not wait here.
    fn cancel(&self, id: &RequestId) -> bool {
        let held = self.lock().held.remove(id);
        held.map(|task| task.abort()).is_some()
    }

    fn is_cancelled_here(&self, envelope: &Envelope<'_>) -> bool {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            id: &'a RawValue,
        }
        let params = envelope.params.map_or("", |it| it.get());
        let Ok(Cancelled { id }) = serde_json::from_str(params) else {
            return false;
        };
        self.of_json(id.get()).is_some_and(|id| self.cancel(&id))
    }

    fn of_json(&self, json: &str) -> Option<RequestId> {
        let frame = Frame::new(format!(r#"{{"id":{json}}}"#)).ok()?;
        frame.envelope().ok()?.id()
    }

    fn is_known(&self, id: &RequestId) -> bool {
        let state = self.lock();
        state.lists.contains(id) || state.held.contains_key(id)
    }

    /// Sends a request of the client to the server; its failure is the answer.
    async fn pass_on(&self, id: RequestId, frame: Frame) {
        if let Err(error) = self.server.send(frame).await {
            self.client.deliver(Event::Failed { id, error }).await;
        }
    }

    async fn to_client(&self, text: String) {
        if let Ok(frame) = Frame::new(text) {
            self.client.deliver(Event::Frame(frame)).await;
        }
    }

    /// Makes an id for a request of our own, and a place for its answer.
    fn own_request(&self) -> Option<(RequestId, OwnRequest<'_>)> {
        let prefix = self.own_ids.as_deref()?;
        let mut state = self.lock();
        state.last_id = state.last_id.wrapping_add(1);
        let id = self.of_json(&format!("\"{prefix}{}\"", state.last_id))?;
        let (sender, answer) = oneshot::channel();
        state.own.insert(id.clone(), sender);
        drop(state);
        let own = OwnRequest {
            guard: self,
            id: id.clone(),
            answer,
        };
        Some((id, own))
    }

    /// Takes what the server sends, and tells the client of changed rules.
    ///
    /// Dropped between two messages, or while the client does not read; then the client is gone.
    async fn pump(self: Arc<Self>, mut from_server: EventReceiver) {
        let mut rules = self.access.policies.rule_changes();
        loop {
            // Not biased: receiving and waiting for changes are cancel safe.
            let event = tokio::select! {
                event = from_server.recv() => event,
                Ok(()) = rules.changed() => {
                    // The client must not go by a list that is not true any more.
                    let note = jsonrpc::notification(LIST_CHANGED, None);
                    self.to_client(note).await;
                    continue;
                }
            };
            let event = event.unwrap_or(Event::Closed(None));
            let is_over = matches!(event, Event::Closed(_));
            self.server_sent(event).await;
            if is_over {
                self.end_held();
                self.lock().own.clear();
                return;
            }
        }
    }

    async fn server_sent(&self, event: Event) {
        let frame = match event {
            Event::Frame(frame) => frame,
            Event::Failed { id, error } => {
                let own = self.lock().own.remove(&id);
                if own.is_none() {
                    self.lock().lists.remove(&id);
                    self.client.deliver(Event::Failed { id, error }).await;
                }
                return;
            }
            other => {
                self.client.deliver(other).await;
                return;
            }
        };
        frame.read_ahead().await;
        let Ok(envelope) = frame.envelope() else {
            // A lenient client could read a list in it.
            return;
        };
        let passed = match (envelope.method.as_deref(), envelope.id()) {
            (None, Some(id)) => {
                let waiting = self.lock().own.remove(&id);
                if let Some(waiting) = waiting {
                    drop(waiting.send(frame));
                    return;
                }
                let is_list = self.lock().lists.remove(&id);
                let access = Arc::clone(&self.access);
                match is_list {
                    true => {
                        frame
                            .read_with(move |frame| listing::filtered(frame, &id, &access))
                            .await
                    }
                    false => frame,
                }
            }
            (Some(LIST_CHANGED), _) => {
                let mut state = self.lock();
                state.list_changes = state.list_changes.wrapping_add(1);
                drop(state);
                frame
            }
            _ => frame,
        };
        self.client.deliver(Event::Frame(passed)).await;
    }

    fn end_held(&self) {
        let held = std::mem::take(&mut self.lock().held);
        held.into_values().for_each(|task| task.abort());
    }

    fn lock(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of our own, to either side; forgotten when it is dropped.
struct OwnRequest<'a> {
    guard: &'a Guard,
    id: RequestId,
    answer: oneshot::Receiver<Frame>,
}

impl Drop for OwnRequest<'_> {
    fn drop(&mut self) {
        self.guard.lock().own.remove(&self.id);
    }
}

/// Says whether a client says in `initialize` that it asks people by forms.
fn declares_form(envelope: &Envelope<'_>) -> bool {
    let params = envelope.params.map_or("", |it| it.get());
    let params: Value = serde_json::from_str(params).unwrap_or_default();
    params.get("capabilities").is_some_and(asks_form)
}

const QUEUE: usize = 64;
/// A list that was cancelled may never be answered.
const MOST_LISTS: usize = 1024;
const LIST_CHANGED: &str = "notifications/tools/list_changed";
