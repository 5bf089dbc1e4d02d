//! What every transport gives: a way to send frames, and the events that come back.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use keyway_auth::{BoxFuture, ServerEvent, ServerObserver};
use tokio::sync::mpsc;

use crate::error::TransportError;
use crate::frame::{Frame, RequestId};

/// A connected server.
///
/// **Dropping it ends the connection at once.** A local server is killed together with its whole
/// process group, and a request in flight may have been carried out. To end in good order, call
/// [`Link::close`] and wait for it. The last copy of [`link`](Self::link) decides: a copy that is
/// kept elsewhere keeps the connection, and the child, alive.
#[derive(Debug)]
#[must_use = "dropping a connection ends it, and kills the process group of a local server"]
pub struct Connection {
    /// Where frames go.
    pub link: Arc<dyn Link>,
    /// What comes back, in order; bounded, so that a slow reader slows the server down.
    pub events: EventReceiver,
    /// Who is told what becomes of it.
    pub watch: ServerObserver,
}

/// The receiving side of a connection.
#[derive(Debug)]
pub struct EventReceiver(mpsc::Receiver<Event>);

impl EventReceiver {
    /// Waits for the next event; `None` once all came.
    ///
    /// Cancel safety: cancel safe; no event is lost.
    pub async fn recv(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// Returns the next event if it is there already.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.0.try_recv().ok()
    }
}

impl Stream for EventReceiver {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_recv(context)
    }
}

impl From<mpsc::Receiver<Event>> for EventReceiver {
    fn from(events: mpsc::Receiver<Event>) -> Self {
        Self(events)
    }
}

impl Connection {
    /// Joins the two sides.
    pub fn new(link: Arc<dyn Link>, events: impl Into<EventReceiver>) -> Self {
        Self {
            link,
            events: events.into(),
            watch: ServerObserver::default(),
        }
    }

    /// Tells what the answer to the first request means.
    pub fn tell(&self, answer: &Event) {
        match answer {
            Event::Frame(_) => self.watch.emit(ServerEvent::Connected),
            Event::Failed { error, .. } => {
                let code = error.code();
                self.watch.emit(ServerEvent::NotConnected { code });
            }
            _ => {}
        }
    }
}

/// The sending side of a connection.
pub trait Link: Send + Sync + fmt::Debug {
    /// Sends one message, waiting while the server is slower than we are.
    ///
    /// What goes wrong with a request afterwards arrives as [`Event::Failed`] with its id.
    ///
    /// # Errors
    ///
    /// Returns an error if the message did not leave: it may be sent again.
    ///
    /// Cancel safety: dropping the future before it is ready may or may not have sent the message,
    /// but never sends half of it. The connection stays usable.
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Stops waiting for the answer to a request, where the transport itself can say so.
    fn abandon(&self, id: &RequestId);

    /// Ends the connection in good order: the session, the stream or the process.
    ///
    /// Cancel safety: nothing more is sent once it was called; what is left of the end takes place
    /// when the connection is dropped.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Ends what the server holds for whoever is signed in, because they sign out.
    ///
    /// Where the transport can, the next request opens another session; elsewhere this closes.
    ///
    /// Cancel safety: the session counts as ended, whether or not the server was told.
    fn end_session(&self) -> BoxFuture<'_, ()> {
        self.close()
    }

    /// Lets the connection outlast a stream that the server drops, from now on: what waits for an
    /// answer fails, and the next request begins anew.
    ///
    /// For who cannot connect again themselves. Does nothing where there is no such stream.
    fn reopen_lost_streams(&self) {}
}

/// What a connection reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A message from the server.
    Frame(Frame),
    /// A request will get no answer.
    Failed {
        /// Which.
        id: RequestId,
        /// Why.
        error: TransportError,
    },
    /// A tool was taken out of a list, because its definition breaks a rule of the transport.
    ToolDropped {
        /// Its name, fit to print.
        tool: String,
        /// Which rule.
        why: &'static str,
    },
    /// Nothing more will come.
    Closed(Option<TransportError>),
}

/// Gives an event to whoever reads a connection; `false` if nobody does any more.
///
/// The queue counts messages. A large one goes in when nothing else waits, so that what waits is
/// bounded in bytes as well.
///
/// Cancel safety: dropping the future drops the event.
pub async fn deliver(events: &mpsc::Sender<Event>, event: Event) -> bool {
    let bytes = match &event {
        Event::Frame(frame) => frame.bytes().len(),
        _ => 0,
    };
    enqueue(events, event, bytes).await
}

/// Puts something of so many bytes into a queue, as [`deliver`] does; `false` if nobody reads it
/// any more.
///
/// Cancel safety: dropping the future drops the item.
pub async fn enqueue<T>(queue: &mpsc::Sender<T>, item: T, bytes: usize) -> bool {
    if bytes <= LARGE {
        return queue.send(item).await.is_ok();
    }
    let whole = queue.reserve_many(queue.max_capacity()).await;
    let Some(place) = whole.ok().and_then(|mut places| places.next()) else {
        return false;
    };
    place.send(item);
    true
}

/// How many events may wait for a slow reader.
pub(crate) const EVENT_QUEUE: usize = 256;
/// Beyond this, a message waits alone: so much waits at most, besides as many small ones.
const LARGE: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn event(bytes: usize) -> Event {
        Event::Frame(Frame::new(vec![b'x'; bytes]).unwrap())
    }

    #[tokio::test]
    async fn large_messages_wait_one_at_a_time_and_in_their_order() {
        let (sender, mut events) = mpsc::channel(EVENT_QUEUE);
        let sending = tokio::spawn(async move {
            for bytes in [1, 1_000_000, 2_000_000, 2] {
                assert!(deliver(&sender, event(bytes)).await);
            }
        });
        let mut seen = Vec::new();
        for _ in 0..4 {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            assert!(events.len() <= 1 || seen.len() == 2, "{}", events.len());
            let Some(Event::Frame(frame)) = events.recv().await else {
                panic!("a message");
            };
            seen.push(frame.bytes().len());
        }
        sending.await.unwrap();
        assert_eq!(seen, [1, 1_000_000, 2_000_000, 2]);
    }
}
