//! What every transport gives: a way to send frames, and the events that come back.

use std::fmt;
use std::sync::Arc;

use keyway_auth::{BoxFuture, Happening, Watch};
use tokio::sync::mpsc;

use crate::error::TransportError;
use crate::frame::{Frame, RequestId};

/// A connected server.
#[derive(Debug)]
pub struct Connection {
    /// Where frames go.
    pub link: Arc<dyn Link>,
    /// What comes back, in order; bounded, so that a slow reader slows the server down.
    pub events: mpsc::Receiver<Event>,
    /// Who is told what becomes of it.
    pub watch: Watch,
}

impl Connection {
    /// Joins the two sides; nobody is told of it.
    #[must_use]
    pub fn new(link: Arc<dyn Link>, events: mpsc::Receiver<Event>) -> Self {
        let watch = Watch::default();
        Self {
            link,
            events,
            watch,
        }
    }

    /// Tells what the answer to the first request means.
    pub fn tell(&self, answer: &Event) {
        match answer {
            Event::Frame(_) => self.watch.happened(Happening::Connected),
            Event::Failed { error, .. } => {
                let code = error.code();
                self.watch.happened(Happening::NotConnected { code });
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
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Stops waiting for the answer to a request, where the transport itself can say so.
    fn abandon(&self, id: &RequestId);

    /// Ends the connection in good order: the session, the stream or the process.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Ends what the server holds for whoever is signed in, because they sign out.
    ///
    /// Where the transport can, the next request begins anew; elsewhere this closes.
    fn end_session(&self) -> BoxFuture<'_, ()> {
        self.close()
    }
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

/// How many events may wait for a slow reader.
pub(crate) const EVENT_QUEUE: usize = 256;
