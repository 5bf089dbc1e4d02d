//! Puts an era adapter in front of a connection: two tasks, so that a slow side never stops the
//! other.
//!
//! An adapter only decides. What it wants sent is queued while the adapter is locked, so that each
//! side gets it in the order in which it was decided, and is sent after the lock is released.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::BoxFuture;
use keyway_transport::{
    Connection, Event, EventReceiver, EventSender, Frame, FrameError, Link, QueueReceiver,
    QueueSender, RequestId, TransportError, queue,
};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// What happens between the two sides of a connection.
pub(crate) trait EraAdapter: Send + 'static {
    /// Takes a message of the client.
    fn client_message(&mut self, message_kind: Message, frame: Frame, out: &mut Outbox);

    /// Takes a message of the server.
    fn server_message(&mut self, message_kind: Message, frame: Frame, out: &mut Outbox);

    /// Takes the end of a request that gets no answer.
    fn failed(&mut self, id: RequestId, error: TransportError, out: &mut Outbox);

    /// Takes the end of the connection.
    fn closed(&mut self, reason: Option<TransportError>, out: &mut Outbox);

    /// Takes a frame of the client; anything else is passed on unchanged.
    fn client_sent(&mut self, frame: Frame, out: &mut Outbox) {
        match Message::of(&frame) {
            Some(message_kind) => self.client_message(message_kind, frame, out),
            None => out.server(frame),
        }
    }

    /// Takes an event of the server; other events are passed on unchanged.
    fn server_sent(&mut self, event: Event, out: &mut Outbox) {
        match event {
            Event::Frame(frame) => match Message::of(&frame) {
                Some(message_kind) => self.server_message(message_kind, frame, out),
                None => out.client(Event::Frame(frame)),
            },
            Event::Failed { id, error } => self.failed(id, error, out),
            Event::Closed(reason) => self.closed(reason, out),
            other => out.client(other),
        }
    }

    /// Returns when the adapter has to act without a message.
    fn deadline(&self) -> Option<Instant>;

    /// Acts at the deadline.
    fn overdue(&mut self, out: &mut Outbox);

    /// Returns under which id the server works on a request of the client.
    fn upstream(&self, id: &RequestId) -> Option<RequestId>;
}

/// What a message is.
#[derive(Debug)]
pub(crate) enum Message {
    /// A request: its method and its id.
    Request(String, RequestId),
    /// A notification: its method.
    Note(String),
    /// An answer to this id.
    Answer(RequestId),
    /// An answer without an id.
    Nothing,
}

impl Message {
    fn of(frame: &Frame) -> Option<Self> {
        let envelope = frame.envelope().ok()?;
        let method = envelope.method.as_deref().map(str::to_owned);
        Some(match (method, envelope.id()) {
            (Some(method), Some(id)) => Self::Request(method, id),
            (Some(method), None) => Self::Note(method),
            (None, Some(id)) => Self::Answer(id),
            (None, None) => Self::Nothing,
        })
    }
}

/// What an [`EraAdapter`] wants sent.
#[derive(Debug)]
pub(crate) struct Outbox {
    to_client: VecDeque<Event>,
    to_server: VecDeque<Step>,
    /// How many bytes wait for each side.
    client_bytes: usize,
    server_bytes: usize,
    now: Instant,
}

#[derive(Debug)]
enum Step {
    Send(Frame),
    Abandon(RequestId),
}

impl Outbox {
    /// Returns the time at which the adapter was called.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Sends something to the client.
    pub(crate) fn client(&mut self, event: Event) {
        self.client_bytes = self.client_bytes.saturating_add(event_bytes(&event));
        self.to_client.push_back(event);
    }

    /// Sends a message to the server.
    pub(crate) fn server(&mut self, frame: Frame) {
        self.server_bytes = self.server_bytes.saturating_add(frame.bytes().len());
        self.to_server.push_back(Step::Send(frame));
    }

    /// Sends a small message of ours to the server, without waiting for the outcome.
    pub(crate) fn note(&mut self, frame: Result<Frame, FrameError>) {
        if let Ok(frame) = frame {
            self.server(frame);
        }
    }

    /// Stops waiting for an answer of the server.
    pub(crate) fn abandon(&mut self, id: &RequestId) {
        self.to_server.push_back(Step::Abandon(id.clone()));
    }

    fn next_for_client(&mut self) -> Option<Event> {
        let event = self.to_client.pop_front()?;
        self.client_bytes = self.client_bytes.saturating_sub(event_bytes(&event));
        Some(event)
    }

    fn next_for_server(&mut self) -> Option<Step> {
        let step = self.to_server.pop_front()?;
        self.server_bytes = self.server_bytes.saturating_sub(step.bytes());
        Some(step)
    }

    /// Takes back what was wanted last, if the server does not read what it asks for.
    fn retract(&mut self) -> Option<Step> {
        let is_too_much = self.to_server.len() > MAX_QUEUED
            || (self.server_bytes > MAX_QUEUED_BYTES && self.to_server.len() > 1);
        let step = is_too_much.then(|| self.to_server.pop_back()).flatten()?;
        self.server_bytes = self.server_bytes.saturating_sub(step.bytes());
        Some(step)
    }

    /// Says whether the client may cause more, with what it has to read.
    fn has_capacity(&self) -> bool {
        self.to_client.len() < QUEUE && self.client_bytes <= MAX_UNREAD
    }
}

impl Step {
    fn bytes(&self) -> usize {
        match self {
            Self::Send(frame) => frame.bytes().len(),
            Self::Abandon(_) => 0,
        }
    }
}

fn event_bytes(event: &Event) -> usize {
    match event {
        Event::Frame(frame) => frame.bytes().len(),
        _ => 0,
    }
}

/// Puts an adapter in front of a connection.
pub(crate) fn attach(connection: Connection, adapter: impl EraAdapter) -> Connection {
    let Connection {
        link: server,
        events: from_server,
        watch,
        ..
    } = connection;
    let (client, events) = queue(QUEUE);
    let (to_server, from_client) = queue(QUEUE);
    let running = Arc::new(Running {
        state: Mutex::new(AdapterState {
            adapter,
            out: Outbox {
                to_client: VecDeque::new(),
                to_server: VecDeque::new(),
                client_bytes: 0,
                server_bytes: 0,
                now: Instant::now(),
            },
        }),
        for_client: Notify::new(),
        for_server: Notify::new(),
    });
    let upwards = tokio::spawn(upwards(
        Arc::clone(&running),
        from_client,
        Arc::clone(&server),
    ));
    drop(tokio::spawn(downwards(
        Arc::clone(&running),
        from_server,
        client,
    )));
    let link = AdapterLink {
        running,
        to_server,
        server,
        upwards: upwards.abort_handle(),
    };
    let mut adapted = Connection::new(Arc::new(link), events);
    adapted.watch = watch;
    adapted
}

/// An adapter that runs.
struct Running<F> {
    /// Held while the adapter decides, never across an await. What it wants sent is queued under
    /// it, so that each side gets its messages in the order of the decisions.
    state: Mutex<AdapterState<F>>,
    /// There is something for the client, or another deadline.
    for_client: Notify,
    /// There is something for the server, or space for more from the client.
    for_server: Notify,
}

struct AdapterState<F> {
    adapter: F,
    out: Outbox,
}

impl<F: EraAdapter> Running<F> {
    /// Runs a step of the adapter, and wakes the task that sends the result.
    fn decide(&self, act: impl FnOnce(&mut F, &mut Outbox)) {
        let mut state = self.lock();
        let AdapterState { adapter, out } = &mut *state;
        let deadline = adapter.deadline();
        out.now = Instant::now();
        act(adapter, out);
        while let Some(step) = out.retract() {
            if let Step::Send(frame) = step
                && let Some(id) = request_id(&frame)
            {
                let what = "it does not read what it is sent";
                let error = TransportError::Protocol { what };
                adapter.server_sent(Event::Failed { id, error }, out);
            }
        }
        if !out.to_client.is_empty() || adapter.deadline() != deadline {
            self.for_client.notify_one();
        }
        if !out.to_server.is_empty() {
            self.for_server.notify_one();
        }
    }

    fn next_for_client(&self) -> Option<Event> {
        let mut state = self.lock();
        let was_full = !state.out.has_capacity();
        let event = state.out.next_for_client();
        if was_full && state.out.has_capacity() {
            self.for_server.notify_one();
        }
        event
    }

    fn next_for_server(&self) -> Option<Step> {
        self.lock().out.next_for_server()
    }

    fn has_capacity(&self) -> bool {
        self.lock().out.has_capacity()
    }

    fn lock(&self) -> MutexGuard<'_, AdapterState<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn upwards<F: EraAdapter>(
    running: Arc<Running<F>>,
    mut from_client: QueueReceiver<Frame>,
    server: Arc<dyn Link>,
) {
    loop {
        while let Some(step) = running.next_for_server() {
            let frame = match step {
                Step::Send(frame) => frame,
                Step::Abandon(id) => {
                    server.abandon(&id);
                    continue;
                }
            };
            let id = request_id(&frame);
            if let (Err(error), Some(id)) = (server.send(frame).await, id) {
                running
                    .decide(|adapter, out| adapter.server_sent(Event::Failed { id, error }, out));
            }
        }
        // Not biased: `recv` is cancel safe, and `Notify` keeps a wake-up that comes between two
        // rounds. While the client has too much to read, nothing more is taken from it.
        tokio::select! {
            frame = from_client.recv(), if running.has_capacity() => match frame {
                Some(frame) => running.decide(|adapter, out| adapter.client_sent(frame, out)),
                None => return,
            },
            () = running.for_server.notified() => {}
        }
    }
}

async fn downwards<F: EraAdapter>(
    running: Arc<Running<F>>,
    mut from_server: EventReceiver,
    client: EventSender,
) {
    loop {
        while let Some(event) = running.next_for_client() {
            if !client.deliver(event).await {
                return;
            }
        }
        let deadline = running.lock().adapter.deadline();
        // Not biased: `recv` is cancel safe, `Notify` keeps a wake-up, and the deadline is read
        // again in every round. If the client is gone, what the server sends has no reader.
        tokio::select! {
            event = from_server.recv() => match event {
                Some(event) => running.decide(|adapter, out| adapter.server_sent(event, out)),
                None => return,
            },
            () = running.for_client.notified() => {}
            () = until(deadline) => running.decide(|adapter, out| adapter.overdue(out)),
            () = client.closed() => return,
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn request_id(frame: &Frame) -> Option<RequestId> {
    let envelope = frame.envelope().ok()?;
    envelope.id().filter(|_| envelope.method.is_some())
}

struct AdapterLink<F> {
    running: Arc<Running<F>>,
    to_server: QueueSender<Frame>,
    server: Arc<dyn Link>,
    upwards: AbortHandle,
}

impl<F> Drop for AdapterLink<F> {
    fn drop(&mut self) {
        // It holds the server's link, which ends the connection when it is dropped.
        self.upwards.abort();
    }
}

impl<F> fmt::Debug for AdapterLink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdapterLink").field(&self.server).finish()
    }
}

impl<F: EraAdapter> Link for AdapterLink<F> {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let bytes = frame.bytes().len();
            match self.to_server.send_sized(frame, bytes).await.is_ok() {
                true => Ok(()),
                false => Err(TransportError::Closed),
            }
        })
    }

    fn abandon(&self, id: &RequestId) {
        if let Some(id) = self.running.lock().adapter.upstream(id) {
            self.server.abandon(&id);
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.server.close()
    }
}

const QUEUE: usize = 256;

/// How much may wait for a server that does not read.
const MAX_QUEUED: usize = 1024;
const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;
/// How many bytes may wait for the client before nothing more is taken from it.
const MAX_UNREAD: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
