//! One connection to a server, shared by the HTTP requests of a client: who waits for which answer,
//! and where everything else that the server says goes.

mod early;
mod place;
mod waiting;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keyway_auth::{ServerEvent, ServerObserver};
use keyway_transport::{
    Connection, Envelope, Event, Frame, FrameError, Link, RequestId, TransportError,
};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::early::Early;
use self::place::Place;
pub(super) use self::place::progress_token;
use self::waiting::{NoEntry, State};
use super::reply;
use super::roster::{Hold, Reached, Served, Tie};
use super::streams::{Priming, Streams, give};
use super::told::Told;
use crate::activity::{self, Ticket};
use keyway_mcp::aggregate::Roster;
use keyway_mcp::bridge::output::{LOCAL_ERROR, failure};
use keyway_mcp::bridge::settling::settle;
use keyway_mcp::eras::Spoken;
use keyway_mcp::weight::{TOO_MUCH, Weights};

/// A connection and who uses it.
#[derive(Debug)]
pub(super) struct Room {
    link: Arc<dyn Link>,
    tie: Option<Tie>,
    roster: Option<Roster>,
    weights: Weights,
    state: Mutex<State>,
    /// For clients that keep a session; others have none.
    pub(super) streams: Arc<Streams>,
    /// Whether the client and its streams are in another room by now.
    is_left: AtomicBool,
    /// What the client was told to expect, where that was somebody else.
    told: OnceLock<Told>,
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

/// A room that nobody keeps yet: it ends unless somebody does.
#[derive(Debug)]
pub(super) struct Unkept(Option<Arc<Room>>);

impl Unkept {
    pub(super) const fn new(room: Arc<Room>) -> Self {
        Self(Some(room))
    }

    /// Leaves the room to who keeps it now.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unkept {
    fn drop(&mut self) {
        let runtime = Handle::try_current();
        if let (Some(room), Ok(runtime)) = (self.0.take(), runtime) {
            // What its client listens to may be another's by now.
            room.retire();
            drop(runtime.spawn(async move { room.close().await }));
        }
    }
}

impl Room {
    /// Sends the first request of a client, and goes on in the era that the server speaks.
    pub(super) async fn open(
        reached: Reached,
        frame: Frame,
        spoken: Spoken,
        asked: &Asked,
        streams: Arc<Streams>,
    ) -> io::Result<(Arc<Self>, mpsc::Receiver<Item>)> {
        let mut early = Early::default();
        let first = (frame, asked.id.clone(), spoken);
        let settled = settle(reached.connection, first, &mut early).await?;
        let Connection {
            link,
            events,
            watch,
        } = settled.connection;
        let room = Arc::new(Self {
            link,
            tie: reached.tie,
            roster: reached.roster,
            weights: Weights::default(),
            state: Mutex::new(State::new()),
            streams,
            is_left: AtomicBool::new(false),
            told: OnceLock::new(),
        });
        let items = room.lock().wait(asked);
        for event in early.0.into_iter().chain(settled.answer) {
            room.take(event).await;
        }
        drop(tokio::spawn(Arc::clone(&room).pump(events, watch)));
        Ok((room, items))
    }

    /// Waits for an answer.
    pub(super) fn enter(&self, asked: &Asked) -> Result<mpsc::Receiver<Item>, NoEntry> {
        self.lock().enter(asked)
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
    pub(super) fn listen(&self, priming: Priming) -> mpsc::Receiver<Bytes> {
        self.lock().used_at = Instant::now();
        self.streams.listen(priming)
    }

    /// Takes up a stream after an event; `None` if that is not known any more.
    pub(super) fn resume(&self, last: &str) -> Option<mpsc::Receiver<Bytes>> {
        self.lock().used_at = Instant::now();
        self.streams.resume(last)
    }

    /// Returns for how long nobody has used it; next to nothing while somebody does.
    pub(super) fn idle_time(&self) -> Duration {
        let is_used = self.is_used();
        let mut state = self.lock();
        if is_used {
            state.used_at = Instant::now();
        }
        state.used_at.elapsed()
    }

    /// Says whether somebody waits for an answer or reads a stream.
    pub(super) fn is_used(&self) -> bool {
        let is_read = !self.is_left() && self.streams.are_read();
        is_read || !self.lock().waiting.is_empty()
    }

    /// Notes how a request ended, and where it went.
    pub(super) fn note(&self, ticket: &Ticket, answer: &Frame, code: Option<i64>) {
        if let Some(roster) = &self.roster {
            ticket.find(roster);
        }
        ticket.end(activity::outcome(answer, code));
    }

    /// Says whether it still leads where its client wants to go.
    pub(super) fn hold(&self, servers: &[Arc<Served>]) -> Hold {
        self.tie
            .as_ref()
            .map_or(Hold::Holds, |tie| tie.hold(servers))
    }

    /// Says whether the connection is that of the server itself.
    pub(super) const fn is_direct(&self) -> bool {
        self.roster.is_none()
    }

    /// Lets the client go on in another room; only the calls under way are still answered here.
    pub(super) fn retire(&self) {
        self.is_left.store(true, Ordering::Release);
    }

    /// Keeps changes from the client that it was not told to expect.
    pub(super) fn mention_only(&self, told: Told) {
        let _first = self.told.set(told);
    }

    /// Ends the stream that would never end, if it is still the client's here.
    pub(super) fn stop_listening(&self) {
        if !self.is_left() {
            self.streams.stop_listening();
        }
    }

    fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Ends the connection in good order.
    pub(super) async fn close(&self) {
        self.end(&TransportError::Closed).await;
        self.link.close().await;
    }

    async fn pump(self: Arc<Self>, mut events: mpsc::Receiver<Event>, watch: ServerObserver) {
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
            std::mem::take(&mut state.waiting)
        };
        for (id, waiting) in waiting {
            if let Ok(frame) = self.failed(&id, why) {
                give(&waiting.out, Item::Answer(frame, Some(LOCAL_ERROR))).await;
            }
        }
        self.stop_listening();
    }

    fn failed(&self, id: &RequestId, error: &TransportError) -> Result<Frame, FrameError> {
        let server = self.tie.as_ref().and_then(Tie::whereabouts);
        Frame::new(failure(id, error, server.as_ref()))
    }

    /// Takes an event of the server to where it belongs.
    async fn take(&self, event: Event) {
        match event {
            Event::Frame(frame) => match self.weights.weigh(frame).await {
                Ok(frame) => self.sort(frame).await,
                Err(frame) => self.give_up(&frame).await,
            },
            Event::Failed { id, error } => {
                let waiting = self.lock().waiting.remove(&id);
                if let (Some(waiting), Ok(frame)) = (waiting, self.failed(&id, &error)) {
                    give(&waiting.out, Item::Answer(frame, Some(LOCAL_ERROR))).await;
                }
            }
            _ => {}
        }
    }

    /// Answers in place of what the client has no room for.
    async fn give_up(&self, frame: &Frame) {
        let id = frame.envelope().ok().and_then(|envelope| {
            let id = envelope.id();
            id.filter(|_| envelope.method.is_none())
        });
        let waiting = id
            .as_ref()
            .and_then(|id| self.lock().waiting.remove(id))
            .zip(id);
        let Some((waiting, id)) = waiting else {
            return;
        };
        let error = reply::fault(reply::INTERNAL_ERROR, TOO_MUCH);
        let id = id.as_json();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        if let Ok(frame) = Frame::new(text) {
            give(
                &waiting.out,
                Item::Answer(frame, Some(reply::INTERNAL_ERROR)),
            )
            .await;
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
        let for_request = self.lock().find(&place);
        match for_request {
            Some(out) => give(&out, Item::Note(frame)).await,
            None if self.is_left() => {}
            None if self.is_unexpected(&envelope) => {}
            None => self.streams.note(&frame).await,
        }
    }

    fn is_unexpected(&self, envelope: &Envelope<'_>) -> bool {
        let method = envelope.method.as_deref().unwrap_or_default();
        self.told.get().is_some_and(|told| told.leaves_out(method))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
