//! One connection to a server, shared by the HTTP requests of a client: which request waits for
//! which answer, and where everything else that the server sends goes.

mod abandoned_requests;
mod early_events;
mod pending_requests;
mod related_request;

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keyway_auth::{ServerEvent, ServerObserver};
use keyway_code::State;
use keyway_transport::{
    Connection, Envelope, Event, EventReceiver, Frame, FrameError, Link, RequestId, TransportError,
};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use self::abandoned_requests::AbandonedRequests;
use self::early_events::EarlyEvents;
use self::pending_requests::{PendingRequests, RegisterError};
use self::related_request::RelatedRequest;
pub(super) use self::related_request::progress_token;
use super::binding::{Binding, BoundConnection, Validity};
use super::event_streams::{EventStreams, Priming, deliver};
use super::limits::Permits;
use super::list_changed::ListChanged;
use super::served_servers::ServedServer;
use crate::timeouts::{CLOSE_GRACE_TIMEOUT, CLOSE_POLL};
use keyway_dashboard::activity::RequestRecorder;
use keyway_mcp::aggregate::{AggregateMembers, RequestTarget};
use keyway_mcp::backpressure::{BUDGET_EXHAUSTED, ByteBudget};
use keyway_mcp::bridge::listed_tools::ListedTools;
use keyway_mcp::bridge::output::failure;
use keyway_mcp::bridge::traffic_observer::TrafficObserver as _;
use keyway_mcp::jsonrpc::{self, INTERNAL_ERROR, LOCAL_ERROR};
use keyway_mcp::negotiation::{FirstAnswer, FirstRequest, Negotiated, Outcome, negotiate};
use keyway_mcp::timeouts::DISCOVERY_TIMEOUT;
use keyway_mcp::version::ClientEra;

/// A connection, and the requests that use it.
///
/// ```text
///   opening ──first request sent──▶ read by `pump` ──detach──▶ detached: only requests
///                                       │                      under way get their answers
///            close, or the server ends  │                        │ idle, or the grace time
///                                       ▼                        ▼ is over
///                                     over: pending requests fail, `register` refuses
/// ```
///
/// `pump` keeps it alive: it ends by `close` or by the server, not by being dropped. Until it is
/// kept by a session or a pool, [`CloseOnDrop`] closes it.
#[derive(Debug)]
pub(super) struct UpstreamConnection {
    link: Arc<dyn Link>,
    binding: Option<Binding>,
    members: Option<AggregateMembers>,
    is_dormant: bool,
    budget: ByteBudget,
    /// Never held across an await. A request that is removed under it belongs to the remover, so
    /// that an answer, a failure and a client that goes away settle it once.
    state: Mutex<PendingRequests>,
    /// For clients that keep a session; others have none.
    pub(super) streams: Arc<EventStreams>,
    /// Whether the client and its streams have moved to another connection.
    /// Only ever set; `Release` and `Acquire`, because the streams are handed over before it is
    /// set. A message that is routed at the same moment may still reach the streams, which are the
    /// client's either way.
    is_detached: AtomicBool,
    /// Remembers the tools that the server lists, where that is wanted.
    listed_tools: Option<ListedTools>,
    /// What the client was told to expect, if that was on an earlier connection.
    list_changed: OnceLock<ListChanged>,
}

/// What a waiting request gets.
#[derive(Debug)]
pub(super) enum Delivery {
    /// Something beside the answer.
    Interim(Frame),
    /// The answer, with its error code, if it is an error.
    Response(Frame, Option<i64>),
}

/// A request on its way in.
#[derive(Debug)]
pub(super) struct RequestInfo {
    pub(super) id: RequestId,
    /// The token under which its progress is told, as written.
    pub(super) token: Option<Box<str>>,
    pub(super) takes_events: bool,
}

/// A connection on which the first request was sent.
#[derive(Debug)]
pub(super) struct OpenedUpstream {
    pub(super) connection: Arc<UpstreamConnection>,
    /// On which the answer comes.
    pub(super) deliveries: mpsc::Receiver<Delivery>,
    /// The server could not be asked: it is down, or refuses the credential. The answer says so.
    pub(super) has_failed: bool,
}

/// A connection without an owner yet; dropping it closes the connection unless it was kept.
#[derive(Debug)]
pub(super) struct CloseOnDrop(Option<Arc<UpstreamConnection>>);

impl CloseOnDrop {
    pub(super) const fn new(connection: Arc<UpstreamConnection>) -> Self {
        Self(Some(connection))
    }

    /// Leaves the connection open; another value owns it now.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let runtime = Handle::try_current();
        if let (Some(connection), Ok(runtime)) = (self.0.take(), runtime) {
            // Its client may listen on another connection by now.
            connection.detach();
            drop(runtime.spawn(async move { connection.close().await }));
        }
    }
}

impl UpstreamConnection {
    /// Sends the first request of a client, and continues in the era that the server speaks.
    pub(super) async fn open(
        bound: BoundConnection,
        frame: Frame,
        era: ClientEra,
        asked: &RequestInfo,
        streams: Arc<EventStreams>,
    ) -> io::Result<OpenedUpstream> {
        let mut early = EarlyEvents::default();
        let first_frame = frame.clone();
        let first = FirstRequest::new(frame, asked.id.clone(), era);
        let never = std::future::pending::<io::Result<Infallible>>();
        let negotiated = negotiate(bound.connection, first, &mut early, never).await?;
        let Outcome::Done(Negotiated {
            connection, answer, ..
        }) = negotiated;
        let answer = match answer {
            FirstAnswer::Given(answer) => Some(answer),
            FirstAnswer::Pending => None,
            // An HTTP client is answered now; what the server says later is dropped.
            FirstAnswer::Silent => Some(Event::Failed {
                id: asked.id.clone(),
                error: TransportError::Timeout {
                    seconds: DISCOVERY_TIMEOUT.as_secs(),
                },
            }),
        };
        let has_failed = matches!(answer, Some(Event::Failed { .. }));
        let Connection {
            link,
            events,
            watch,
            ..
        } = connection;
        let connection = Arc::new(Self {
            link,
            binding: bound.binding,
            members: bound.members,
            is_dormant: bound.is_dormant,
            budget: ByteBudget::default(),
            state: Mutex::new(PendingRequests::new()),
            streams,
            is_detached: AtomicBool::new(false),
            listed_tools: bound.tool_memory.map(ListedTools::new),
            list_changed: OnceLock::new(),
        });
        connection.observe_request(&first_frame);
        let deliveries = connection.lock().wait(asked);
        for event in early.0.into_iter().chain(answer) {
            connection.take(event).await;
        }
        drop(tokio::spawn(Arc::clone(&connection).pump(events, watch)));
        Ok(OpenedUpstream {
            connection,
            deliveries,
            has_failed,
        })
    }

    /// Waits for an answer.
    pub(super) fn register(
        &self,
        asked: &RequestInfo,
    ) -> Result<mpsc::Receiver<Delivery>, RegisterError> {
        self.lock().register(asked)
    }

    /// Sends a request that was [registered](Self::register).
    pub(super) async fn send_request(&self, frame: Frame, id: &RequestId) {
        self.observe_request(&frame);
        if let Err(error) = self.link.send(frame).await {
            let id = id.clone();
            self.take(Event::Failed { id, error }).await;
        }
    }

    /// Sends what expects no answer.
    pub(super) async fn send_notification(&self, frame: Frame) -> Result<(), TransportError> {
        self.lock().used_at = Instant::now();
        self.link.send(frame).await
    }

    /// Stops waiting; says whether the answer had not come yet. Then the request keeps its places for as
    /// long as the server may work on it, and so long at most.
    pub(super) fn unregister(
        &self,
        id: &RequestId,
        permits: Option<Arc<Permits>>,
        at_most: Duration,
    ) -> bool {
        let mut state = self.lock();
        let was_pending = state.pending.remove(id).is_some();
        let permits = permits.filter(|permits| was_pending && permits.holds_places());
        if let (Some(permits), Ok(_)) = (permits, Handle::try_current()) {
            state.abandoned.add(id, permits, at_most);
        }
        was_pending
    }

    /// Tells the server that an answer is not wanted any more.
    pub(super) async fn cancel(&self, id: &RequestId) {
        if let Ok(frame) = Frame::new(jsonrpc::cancelled(id)) {
            let _unsent = self.link.send(frame).await;
        }
    }

    /// Opens the stream for what belongs to no request; one that was open ends.
    pub(super) fn listen(&self, priming: Priming) -> mpsc::Receiver<Bytes> {
        self.lock().used_at = Instant::now();
        self.streams.listen(priming)
    }

    /// Takes up a stream after an event; `None` if that is not known any more.
    pub(super) fn resume(&self, last: &str) -> Option<mpsc::Receiver<Bytes>> {
        self.lock().used_at = Instant::now();
        self.streams.resume(last)
    }

    /// Returns how long it has been idle; next to nothing while it is in use.
    pub(super) fn idle_time(&self) -> Duration {
        let is_used = self.is_used();
        let mut state = self.lock();
        if is_used {
            state.used_at = Instant::now();
        }
        state.used_at.elapsed()
    }

    /// Says whether the client has sent anything but the first request and notifications.
    pub(super) fn was_used(&self) -> bool {
        self.is_used() || self.lock().was_used()
    }

    /// Says whether a request waits for an answer or a stream has a reader.
    pub(super) fn is_used(&self) -> bool {
        let is_read = !self.is_detached() && self.streams.has_reader();
        is_read || !self.lock().pending.is_empty()
    }

    /// Returns plugin and server of what a request to all servers is about, as far as that is known.
    pub(super) fn server_of(&self, target: &RequestTarget) -> Option<(String, String)> {
        self.members.as_ref()?.server_of(target)
    }

    /// Notes how a request ended, and where it went.
    pub(super) fn note(&self, recorder: &RequestRecorder, answer: &Frame, code: Option<i64>) {
        if let Some(members) = &self.members {
            recorder.resolve_server(members);
        }
        recorder.answered(answer, code);
    }

    /// Says whether it still leads to its client's route.
    pub(super) fn validity(&self, servers: &[Arc<ServedServer>]) -> Validity {
        self.binding
            .as_ref()
            .map_or(Validity::Current, |binding| binding.validity(servers))
    }

    /// Says whether the connection is that of the server itself.
    pub(super) const fn is_direct(&self) -> bool {
        self.members.is_none()
    }

    /// Says whether its server does not run yet.
    pub(super) const fn is_dormant(&self) -> bool {
        self.is_dormant
    }

    /// Moves the client to another connection; only pending calls are still answered here.
    pub(super) fn detach(&self) {
        self.is_detached.store(true, Ordering::Release);
    }

    /// Keeps changes from the client that it was not told to expect.
    pub(super) fn announce_only(&self, list_changed: ListChanged) {
        let _first = self.list_changed.set(list_changed);
    }

    /// Ends the stream that would never end, if it is still the client's here.
    pub(super) fn stop_listening(&self) {
        if !self.is_detached() {
            self.streams.stop_listening();
        }
    }

    fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::Acquire)
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Closes the connection once the calls under way have their answers, or after
    /// [`CLOSE_GRACE_TIMEOUT`]. No client can find it any more, so that no new call comes.
    pub(super) async fn close_when_idle(self: Arc<Self>) {
        self.stop_listening();
        let deadline = Instant::now() + CLOSE_GRACE_TIMEOUT;
        while !self.is_over() && self.is_used() && Instant::now() < deadline {
            sleep(CLOSE_POLL).await;
        }
        self.close().await;
    }

    /// Closes the connection; requests under way get an error.
    pub(super) async fn close(&self) {
        self.end(&TransportError::Closed).await;
        self.link.close().await;
    }

    async fn pump(self: Arc<Self>, mut events: EventReceiver, watch: ServerObserver) {
        let mut why = TransportError::Closed;
        while let Some(event) = events.recv().await {
            match event {
                Event::Closed(reason) => {
                    if let Some(error) = &reason {
                        let code = error.code();
                        watch.emit(ServerEvent::NotConnected { code });
                    }
                    why = reason.unwrap_or(TransportError::Closed);
                    break;
                }
                // Boxed, as is the end: this task lives as long as its session.
                event => Box::pin(self.take(event)).await,
            }
        }
        Box::pin(self.end(&why)).await;
    }

    /// Fails all waiting requests, and accepts no more.
    async fn end(&self, why: &TransportError) {
        let pending = {
            let mut state = self.lock();
            state.is_over = true;
            state.abandoned = AbandonedRequests::default();
            std::mem::take(&mut state.pending)
        };
        for (id, pending) in pending {
            if let Ok(frame) = self.failed(&id, why) {
                deliver(
                    &pending.sender,
                    Delivery::Response(frame, Some(LOCAL_ERROR)),
                )
                .await;
            }
        }
        self.stop_listening();
    }

    fn failed(&self, id: &RequestId, error: &TransportError) -> Result<Frame, FrameError> {
        let server = self.binding.as_ref().and_then(Binding::declaration_site);
        Frame::new(failure(id, error, server.as_ref()))
    }

    fn observe_request(&self, frame: &Frame) {
        if let Some(listed_tools) = &self.listed_tools {
            listed_tools.client_sent(frame);
        }
    }

    /// Takes an event of the server to where it belongs.
    async fn take(&self, event: Event) {
        if let Some(listed_tools) = &self.listed_tools {
            listed_tools.client_received(&event);
        }
        match event {
            Event::Frame(frame) => match self.budget.reserve(frame).await {
                Ok(frame) => self.route(frame).await,
                Err(frame) => self.reject_oversized(&frame).await,
            },
            Event::Failed { id, error } => {
                let pending = self.lock().take(&id);
                if let (Some(pending), Ok(frame)) = (pending, self.failed(&id, &error)) {
                    deliver(
                        &pending.sender,
                        Delivery::Response(frame, Some(LOCAL_ERROR)),
                    )
                    .await;
                }
                let binding = self.binding.as_ref();
                if error.state().state == State::NeedsAuth
                    && binding.is_some_and(Binding::ends_without_sign_in)
                {
                    // The next request gets a connection that says where to sign in.
                    self.link.close().await;
                }
            }
            _ => {}
        }
    }

    /// Answers with an error in place of a message beyond the client's byte budget.
    async fn reject_oversized(&self, frame: &Frame) {
        let id = frame.envelope().ok().and_then(|envelope| {
            let id = envelope.id();
            id.filter(|_| envelope.method.is_none())
        });
        let pending = id.as_ref().and_then(|id| self.lock().take(id)).zip(id);
        let Some((pending, id)) = pending else {
            return;
        };
        let error = jsonrpc::error_object(INTERNAL_ERROR, BUDGET_EXHAUSTED);
        let text = jsonrpc::error(Some(&id), &error);
        if let Ok(frame) = Frame::new(text) {
            deliver(
                &pending.sender,
                Delivery::Response(frame, Some(INTERNAL_ERROR)),
            )
            .await;
        }
    }

    async fn route(&self, frame: Frame) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        if envelope.method.is_none() {
            let code = code_of(&envelope);
            let pending = envelope.id().and_then(|id| self.lock().take(&id));
            if let Some(pending) = pending {
                deliver(&pending.sender, Delivery::Response(frame, code)).await;
            }
            return;
        }
        let related = RelatedRequest::of(&envelope);
        let for_request = self.lock().find(&related);
        match for_request {
            Some(out) => deliver(&out, Delivery::Interim(frame)).await,
            None if self.is_detached() => {}
            None if self.is_unexpected(&envelope) => {}
            None => self.streams.note(&frame).await,
        }
    }

    fn is_unexpected(&self, envelope: &Envelope<'_>) -> bool {
        let method = envelope.method.as_deref().unwrap_or_default();
        self.list_changed
            .get()
            .is_some_and(|list_changed| list_changed.suppresses(method))
    }

    fn lock(&self) -> MutexGuard<'_, PendingRequests> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn code_of(envelope: &Envelope<'_>) -> Option<i64> {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    let error: Code = serde_json::from_str(envelope.error?.get()).ok()?;
    Some(error.code)
}
