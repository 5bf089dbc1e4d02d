//! One connection to a server, shared by the HTTP requests of a client: who waits for which answer,
//! and where everything else that the server says goes.

mod place;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keyway_transport::{Connection, Envelope, Event, Frame, Link, RequestId, TransportError};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use self::place::Place;
pub(super) use self::place::progress_token;
use super::reply;
use crate::bridge::output::failure;
use crate::bridge::settling::{Aside, settle};
use crate::eras::Spoken;

/// A connection and who uses it.
#[derive(Debug)]
pub(super) struct Room {
    link: Arc<dyn Link>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    waiting: HashMap<RequestId, Waiting>,
    begun: u64,
    /// The stream for what belongs to no request.
    listener: Option<mpsc::Sender<Bytes>>,
    /// What came while nobody listened.
    backlog: VecDeque<Frame>,
    used_at: Instant,
    is_over: bool,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Waiting {
    out: mpsc::Sender<Item>,
    token: Option<Box<str>>,
    /// Whether more than the answer can be sent to whoever waits.
    takes_events: bool,
    order: u64,
}

/// What somebody who waits is given.
#[derive(Debug)]
pub(super) enum Item {
    /// Something beside the answer.
    Note(Frame),
    /// The answer, with its error code, if it is an error.
    Answer(Frame, Option<i64>),
}

/// A request on its way in.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: RequestId,
    /// The token under which its progress is told, as written.
    pub(super) token: Option<Box<str>>,
    pub(super) takes_events: bool,
}

impl Room {
    /// Sends the first request of a client, and goes on in the era that the server speaks.
    pub(super) async fn open(
        connection: Connection,
        frame: Frame,
        spoken: Spoken,
        asked: &Asked,
    ) -> io::Result<(Arc<Self>, mpsc::Receiver<Item>)> {
        let mut early = Early::default();
        let first = (frame, asked.id.clone(), spoken);
        let settled = settle(connection, first, &mut early).await?;
        let Connection { link, events, .. } = settled.connection;
        let room = Arc::new(Self {
            link,
            state: Mutex::new(State {
                waiting: HashMap::new(),
                begun: 0,
                listener: None,
                backlog: VecDeque::new(),
                used_at: Instant::now(),
                is_over: false,
            }),
        });
        let (out, items) = mpsc::channel(QUEUE);
        room.lock().wait(asked, out);
        for event in early.0.into_iter().chain(settled.answer) {
            room.take(event).await;
        }
        drop(tokio::spawn(Arc::clone(&room).pump(events)));
        Ok((room, items))
    }

    /// Waits for an answer; `None` if somebody waits under the same id or token already, or the
    /// connection has ended.
    pub(super) fn enter(&self, asked: &Asked) -> Option<mpsc::Receiver<Item>> {
        let mut state = self.lock();
        let is_same = |other: &Waiting| asked.token.is_some() && other.token == asked.token;
        let is_taken = state.waiting.contains_key(&asked.id) || state.waiting.values().any(is_same);
        if state.is_over || is_taken {
            return None;
        }
        let (out, items) = mpsc::channel(QUEUE);
        state.wait(asked, out);
        Some(items)
    }

    /// Sends a request that was [entered](Self::enter).
    pub(super) async fn ask(&self, frame: Frame, id: &RequestId) {
        if let Err(error) = self.link.send(frame).await {
            let id = id.clone();
            self.take(Event::Failed { id, error }).await;
        }
    }

    /// Sends what expects no answer.
    pub(super) async fn tell(&self, frame: Frame) -> Result<(), TransportError> {
        self.lock().used_at = Instant::now();
        self.link.send(frame).await
    }

    /// Stops waiting; says whether the answer had not come yet.
    pub(super) fn leave(&self, id: &RequestId) -> bool {
        self.lock().waiting.remove(id).is_some()
    }

    /// Tells the server that an answer is not wanted any more.
    pub(super) async fn cancel(&self, id: &RequestId) {
        let id = id.as_json();
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        if let Ok(frame) = Frame::new(text) {
            let _unsent = self.link.send(frame).await;
        }
    }

    /// Opens the stream for what belongs to no request; one that was open ends.
    pub(super) fn listen(&self) -> mpsc::Receiver<Bytes> {
        let (out, pieces) = mpsc::channel(QUEUE + BACKLOG);
        // A client waits for the first byte before it goes on.
        drop(out.try_send(reply::STILL_HERE));
        let mut state = self.lock();
        for frame in state.backlog.drain(..) {
            drop(out.try_send(reply::event(&frame)));
        }
        state.used_at = Instant::now();
        state.listener = Some(out);
        pieces
    }

    /// Keeps the stream alive, and notices that its reader is gone.
    pub(super) fn tend(&self) {
        let mut state = self.lock();
        let Some(listener) = &state.listener else {
            return;
        };
        if listener.is_closed() {
            state.listener = None;
            state.used_at = Instant::now();
        } else {
            drop(listener.try_send(reply::STILL_HERE));
        }
    }

    /// Returns for how long nobody has used it; nothing while somebody does.
    pub(super) fn idle_time(&self) -> Duration {
        let state = self.lock();
        let is_used = !state.waiting.is_empty() || state.listener.is_some();
        if is_used {
            Duration::ZERO
        } else {
            state.used_at.elapsed()
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Ends the stream for what belongs to no request.
    pub(super) fn stop_listening(&self) {
        self.lock().listener = None;
    }

    /// Ends the connection in good order.
    pub(super) async fn close(&self) {
        self.end(&TransportError::Closed).await;
        self.link.close().await;
    }

    async fn pump(self: Arc<Self>, mut events: mpsc::Receiver<Event>) {
        let mut why = TransportError::Closed;
        while let Some(event) = events.recv().await {
            match event {
                Event::Closed(reason) => {
                    why = reason.unwrap_or(TransportError::Closed);
                    break;
                }
                event => self.take(event).await,
            }
        }
        self.end(&why).await;
    }

    /// Fails whoever waits, and lets nobody in any more.
    async fn end(&self, why: &TransportError) {
        let waiting = {
            let mut state = self.lock();
            state.is_over = true;
            state.listener = None;
            std::mem::take(&mut state.waiting)
        };
        for (id, waiting) in waiting {
            if let Ok(frame) = Frame::new(failure(&id, why)) {
                give(&waiting.out, Item::Answer(frame, None)).await;
            }
        }
    }

    /// Takes an event of the server to where it belongs.
    async fn take(&self, event: Event) {
        match event {
            Event::Frame(frame) => self.sort(frame).await,
            Event::Failed { id, error } => {
                let waiting = self.lock().waiting.remove(&id);
                if let (Some(waiting), Ok(frame)) = (waiting, Frame::new(failure(&id, &error))) {
                    give(&waiting.out, Item::Answer(frame, None)).await;
                }
            }
            _ => {}
        }
    }

    async fn sort(&self, frame: Frame) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        if envelope.method.is_none() {
            let code = code_of(&envelope);
            let waiting = envelope.id().and_then(|id| self.lock().waiting.remove(&id));
            if let Some(waiting) = waiting {
                give(&waiting.out, Item::Answer(frame, code)).await;
            }
            return;
        }
        let place = Place::of(&envelope);
        let (for_request, for_listener) = {
            let mut state = self.lock();
            match state.find(&place) {
                Some(out) => (Some(out), None),
                None => match state.listener.clone().filter(|out| !out.is_closed()) {
                    Some(listener) => (None, Some(listener)),
                    None => {
                        state.keep(frame);
                        return;
                    }
                },
            }
        };
        if let Some(out) = for_request {
            give(&out, Item::Note(frame)).await;
        } else if let Some(out) = for_listener {
            give(&out, reply::event(&frame)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wait(&mut self, asked: &Asked, out: mpsc::Sender<Item>) {
        self.begun += 1;
        self.used_at = Instant::now();
        let waiting = Waiting {
            out,
            token: asked.token.clone(),
            takes_events: asked.takes_events,
            order: self.begun,
        };
        self.waiting.insert(asked.id.clone(), waiting);
    }

    /// Finds the request that something of the server belongs to.
    fn find(&self, place: &Place) -> Option<mpsc::Sender<Item>> {
        let takers = || self.waiting.iter().filter(|(_, it)| it.takes_events);
        let found = match place {
            Place::Progress(token) => {
                takers().find(|(_, it)| it.token.as_deref() == Some(token))?
            }
            Place::Subscription(id) => takers().find(|(own, _)| own.as_json() == &**id)?,
            Place::Nobody => return None,
            // Nothing on the wire says whose it is; the latest request is the likeliest.
            Place::Anybody => takers().max_by_key(|(_, it)| it.order)?,
        };
        Some(found.1.out.clone())
    }

    fn keep(&mut self, frame: Frame) {
        if self.backlog.len() >= BACKLOG {
            self.backlog.pop_front();
        }
        if frame.bytes().len() <= KEPT_BYTES {
            self.backlog.push_back(frame);
        }
    }
}

/// What a server says before it has answered the first request.
#[derive(Default)]
struct Early(Vec<Event>);

impl Aside for Early {
    async fn pass(&mut self, event: Event) -> io::Result<()> {
        if self.0.len() < BACKLOG {
            self.0.push(event);
        }
        Ok(())
    }
}

/// Gives something to who waits; who does not take it in time has given up.
async fn give<T>(out: &mpsc::Sender<T>, item: T) {
    if let Err(mpsc::error::TrySendError::Full(item)) = out.try_send(item) {
        drop(timeout(READ_TIME, out.send(item)).await);
    }
}

fn code_of(envelope: &Envelope<'_>) -> Option<i64> {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    let error: Code = serde_json::from_str(envelope.error?.get()).ok()?;
    Some(error.code)
}

/// How much may wait for a client that reads slowly.
const QUEUE: usize = 64;
/// How many messages are kept for a client that does not listen.
const BACKLOG: usize = 64;
const KEPT_BYTES: usize = 64 * 1024;
const READ_TIME: Duration = Duration::from_secs(30);
