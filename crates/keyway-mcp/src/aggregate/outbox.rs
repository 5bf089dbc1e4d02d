//! What goes to the client: answers wait for it, notices do not hold a server up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Event, EventReceiver, EventSender, Frame, RequestId, queue};
use tokio::sync::Notify;

use super::result_text::ResultText;
use crate::backpressure::{BUDGET_EXHAUSTED, ByteBudget, with_bytes_of};
use crate::jsonrpc::{self, INTERNAL_ERROR};
use crate::session::RpcError;

/// The way to the client.
#[derive(Debug)]
pub(super) struct Outbox {
    client: EventSender,
    budget: ByteBudget,
    /// Held to add or to take out notices, never while one is sent.
    coalesced: Mutex<BTreeSet<String>>,
    wake: Notify,
}

impl Outbox {
    /// Opens a way to the client; what it is sent comes out of the receiver.
    pub(super) fn open() -> (Arc<Self>, EventReceiver) {
        let (client, events) = queue(QUEUE);
        let outbox = Arc::new(Self {
            client,
            budget: ByteBudget::default(),
            coalesced: Mutex::default(),
            wake: Notify::new(),
        });
        drop(tokio::spawn(Arc::clone(&outbox).deliver()));
        (outbox, events)
    }

    /// Answers a request of the client.
    pub(super) async fn answer(&self, id: &RequestId, answer: Result<ResultText, RpcError>) {
        let failure = |error: RpcError| jsonrpc::error(Some(id), &error.to_json());
        let (text, of) = match answer {
            Ok(ResultText { json, of }) => (jsonrpc::result(id, &json), of),
            Err(error) => (failure(error), None),
        };
        let why = match (Frame::new(text), of) {
            (Ok(frame), Some(of)) => {
                // Its bytes are reserved already.
                match Frame::new(with_bytes_of(of, frame.bytes().clone())) {
                    Ok(frame) => return self.send_frame(frame).await,
                    Err(error) => error.to_string(),
                }
            }
            (Ok(frame), None) => match self.budget.reserve(frame).await {
                Ok(frame) => return self.send_frame(frame).await,
                Err(_) => BUDGET_EXHAUSTED.to_owned(),
            },
            (Err(error), _) => error.to_string(),
        };
        if let Ok(frame) = Frame::new(failure(RpcError::new(INTERNAL_ERROR, why))) {
            self.send_frame(frame).await;
        }
    }

    /// Waits until the client's byte budget has space for an answer of a server; returns it as an
    /// error if there is none for too long.
    pub(super) async fn reserve(&self, answer: Frame) -> Result<Frame, Frame> {
        self.budget.reserve(answer).await
    }

    /// Sends a message, waiting while the client is slower; for a client that has gone away it does
    /// nothing. Says whether the client's byte budget had space for it.
    pub(super) async fn send(&self, text: String) -> bool {
        let Ok(frame) = Frame::new(text) else {
            return false;
        };
        let Ok(frame) = self.budget.reserve(frame).await else {
            return false;
        };
        self.send_frame(frame).await;
        true
    }

    /// Sends a notice, unless the client has enough to read already.
    pub(super) fn try_notify(&self, text: String) {
        let frame = Frame::new(text).ok();
        if let Some(frame) = frame.and_then(|frame| self.budget.try_reserve(frame)) {
            let _full_or_gone = self.client.try_send(Event::Frame(frame));
        }
    }

    /// Sends a notice as soon as the client has time; one that waits already is not sent twice.
    pub(super) fn enqueue_coalesced(&self, text: String) {
        let mut coalesced = self.lock();
        let bytes: usize = coalesced.iter().map(String::len).sum();
        if coalesced.len() < MAX_COALESCED
            && bytes.saturating_add(text.len()) <= MAX_COALESCED_BYTES
        {
            coalesced.insert(text);
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
            // Not biased: `Notify` keeps one wake-up, so a notice that is added while others are
            // sent is seen in the next round. Once the client is gone, what is left has no reader.
            tokio::select! {
                () = self.wake.notified() => {}
                () = self.client.closed() => return,
            }
            let coalesced = std::mem::take(&mut *self.lock());
            for text in coalesced {
                let _no_room = self.send(text).await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.coalesced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many messages may wait for a slow client.
const QUEUE: usize = 256;

/// How many notices may wait; a server that makes up more resources than this loses some.
const MAX_COALESCED: usize = 1024;
const MAX_COALESCED_BYTES: usize = 1024 * 1024;
