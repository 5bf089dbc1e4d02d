//! What every transport gives: a way to send frames, and the events that come back.

use std::fmt;
use std::sync::Arc;

use keyway_auth::{BoxFuture, ServerEvent, ServerObserver};

use crate::error::TransportError;
use crate::frame::{Frame, RequestId};
use crate::queue::{QueueReceiver, QueueSender};

/// A connected server.
///
/// **Dropping it ends the connection at once.** A local server is killed together with its whole
/// process group, and a request in flight may have been carried out. To end in good order, call
/// [`Link::close`] and wait for it. The last copy of [`link`](Self::link) decides: a copy that is
/// kept elsewhere keeps the connection, and the child, alive.
#[derive(Debug)]
#[must_use = "dropping a connection ends it, and kills the process group of a local server"]
#[non_exhaustive]
pub struct Connection {
    /// Where frames go.
    pub link: Arc<dyn Link>,
    /// What comes back, in order; bounded, so that a slow reader slows the server down.
    pub events: EventReceiver,
    /// Is told what becomes of it.
    pub watch: ServerObserver,
}

/// Through which a transport reports events.
pub type EventSender = QueueSender<Event>;

/// The receiving side of a connection.
pub type EventReceiver = QueueReceiver<Event>;

impl Connection {
    /// Joins the two sides.
    pub fn new(link: Arc<dyn Link>, events: EventReceiver) -> Self {
        Self {
            link,
            events,
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

    /// Closes the connection cleanly: the session, the stream or the process.
    ///
    /// Cancel safety: nothing more is sent once it was called; what is left of the end takes place
    /// when the connection is dropped.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Ends what the server holds for the signed-in account, because of a sign-out.
    ///
    /// Where the transport can, the next request opens another session; elsewhere this closes.
    ///
    /// Cancel safety: the session counts as ended, whether or not the server was told.
    fn end_session(&self) -> BoxFuture<'_, ()> {
        self.close()
    }

    /// Lets the connection outlast a stream that the server drops, from now on: requests that wait
    /// for an answer fail, and the next request opens another stream.
    ///
    /// For clients that cannot reconnect by themselves. Does nothing where there is no such stream.
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

impl EventSender {
    /// Reports an event; `false` if nothing reads events any more. A large frame waits until the
    /// queue is empty.
    ///
    /// Cancel safety: dropping the future drops the event.
    pub async fn deliver(&self, event: Event) -> bool {
        let bytes = match &event {
            Event::Frame(frame) => frame.bytes().len(),
            _ => 0,
        };
        self.send_sized(event, bytes).await.is_ok()
    }
}

/// How many events may wait for a slow reader.
pub(crate) const EVENT_QUEUE: usize = 256;
