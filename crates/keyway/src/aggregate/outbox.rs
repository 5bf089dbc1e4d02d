//! What goes to the client: answers wait for it, notices do not hold a server up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Event, Frame, RequestId};
use tokio::sync::{Notify, mpsc};

use crate::session::RpcError;

/// The way to the client.
#[derive(Debug)]
pub(super) struct Outbox {
    client: mpsc::Sender<Event>,
    owed: Mutex<BTreeSet<String>>,
    wake: Notify,
}

impl Outbox {
    /// Opens a way to the client; what it is sent comes out of the receiver.
    pub(super) fn open() -> (Arc<Self>, mpsc::Receiver<Event>) {
        let (client, events) = mpsc::channel(QUEUE);
        let outbox = Arc::new(Self {
            client,
            owed: Mutex::default(),
            wake: Notify::new(),
        });
        drop(tokio::spawn(Arc::clone(&outbox).deliver()));
        (outbox, events)
    }

    /// Answers a request of the client.
    pub(super) async fn answer(&self, id: &RequestId, answer: Result<String, RpcError>) {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{},"#, id.as_json());
        let text = match answer {
            Ok(result) => format!(r#"{head}"result":{result}}}"#),
            Err(error) => format!(r#"{head}"error":{}}}"#, error.to_json()),
        };
        match Frame::new(text) {
            Ok(frame) => self.send_frame(frame).await,
            Err(error) => {
                let error = RpcError::new(INTERNAL_ERROR, error.to_string());
                self.send(format!(r#"{head}"error":{}}}"#, error.to_json()))
                    .await;
            }
        }
    }

    /// Sends a message, waiting while the client is slower; one who has gone away misses nothing.
    pub(super) async fn send(&self, text: String) {
        if let Ok(frame) = Frame::new(text) {
            self.send_frame(frame).await;
        }
    }

    /// Sends a notice, unless the client has enough to read already.
    pub(super) fn offer(&self, text: String) {
        if let Ok(frame) = Frame::new(text) {
            let _full_or_gone = self.client.try_send(Event::Frame(frame));
        }
    }

    /// Sends a notice as soon as the client has time; one that waits already is not sent twice.
    pub(super) fn owe(&self, text: String) {
        let mut owed = self.lock();
        if owed.len() < MAX_OWED {
            owed.insert(text);
            self.wake.notify_one();
        }
    }

    /// Tells the client that nothing more will come.
    pub(super) fn close(&self) {
        let _full_or_gone = self.client.try_send(Event::Closed(None));
    }

    async fn send_frame(&self, frame: Frame) {
        let _gone = self.client.send(Event::Frame(frame)).await;
    }

    async fn deliver(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.wake.notified() => {}
                () = self.client.closed() => return,
            }
            let owed = std::mem::take(&mut *self.lock());
            for text in owed {
                self.send(text).await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many messages may wait for a slow client.
const QUEUE: usize = 256;

/// How many notices may wait; a server that makes up more resources than this loses some.
const MAX_OWED: usize = 1024;

const INTERNAL_ERROR: i64 = -32603;
