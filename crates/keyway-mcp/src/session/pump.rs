//! Matches answers to requests, and passes everything else on.

mod outstanding;
mod running;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keyway_auth::{ServerEvent, ServerObserver};
use keyway_transport::{
    Envelope, Event, EventReceiver, Frame, Link, Raw, RequestId, TransportError,
};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use self::outstanding::Outstanding;
pub(super) use self::running::Running;
use super::{Handler, Progress, RpcError, SessionError, request_frame};
use crate::backpressure::{BUDGET_EXHAUSTED, SMALL_FRAME_BYTES};
use crate::jsonrpc::{self, INTERNAL_ERROR};
use crate::splice::member;
use crate::timeouts::{FLUSH_TIMEOUT, REQUEST_TIMEOUT};

/// The requests under way on one connection.
pub(super) struct Exchange {
    link: Arc<dyn Link>,
    handler: Arc<dyn Handler>,
    /// `Relaxed`: ids only have to differ.
    next_id: AtomicU64,
    /// Never held across an await, nor while the handler is called. Removing a waiter under it
    /// decides which of an answer, a time-out and a dropped caller settles the request.
    waiting: Mutex<Waiting>,
    /// Is told of the end, once the session is initialized.
    watch: OnceLock<ServerObserver>,
}

#[derive(Default)]
struct Waiting {
    answers: HashMap<RequestId, Waiter>,
    /// The server's own questions, by their id as written, until there is an answer to send.
    questions: HashMap<String, AbortHandle>,
    /// The tasks that answer them; each holds the exchange, so [`Exchange::end`] must end them.
    answering: JoinSet<()>,
    /// Cancellations that the server is being told of.
    telling: JoinSet<()>,
    is_closed: bool,
    /// Why, until a caller has been told.
    reason: Option<TransportError>,
}

struct Waiter {
    answer: oneshot::Sender<Result<Frame, TransportError>>,
    alive: mpsc::Sender<()>,
    progress: Option<Progress>,
}

/// One request as it goes out.
#[derive(Clone)]
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    /// JSON, complete.
    pub(super) params: &'a str,
    pub(super) timeout: Duration,
    pub(super) progress: Option<Progress>,
    /// What the answer was cut out of.
    pub(super) of: Option<&'a Mutex<Option<Bytes>>>,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

impl Exchange {
    pub(super) fn new(link: Arc<dyn Link>, handler: Arc<dyn Handler>) -> Self {
        Self {
            link,
            handler,
            next_id: AtomicU64::new(1),
            waiting: Mutex::default(),
            watch: OnceLock::new(),
        }
    }

    /// Notes that the session is initialized; from now on its end is reported.
    pub(super) fn initialized(&self, watch: ServerObserver) {
        let _first = self.watch.set(watch);
    }

    pub(super) fn handler(&self) -> &dyn Handler {
        &*self.handler
    }

    pub(super) fn next_id(&self) -> RequestId {
        RequestId::number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(super) fn calls_under_way(&self) -> usize {
        self.lock().answers.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Sends a request and waits for its answer; progress restarts the time.
    pub(super) async fn call(
        &self,
        id: RequestId,
        call: Call<'_>,
    ) -> Result<Box<RawValue>, SessionError> {
        let frame = request_frame(&id, call.method, call.params)?;
        let (answer, mut answered) = oneshot::channel();
        let (alive, mut progressed) = mpsc::channel(1);
        let waiter = Waiter {
            answer,
            alive,
            progress: call.progress,
        };
        {
            let mut waiting = self.lock();
            if waiting.is_closed {
                let reason = waiting.reason.take();
                return Err(reason.unwrap_or(TransportError::Closed).into());
            }
            waiting.answers.insert(id.clone(), waiter);
        }
        let guard = Outstanding {
            exchange: self,
            id: &id,
            // The handshake must not be cancelled (2025-11-25, cancellation).
            is_silent: call.method == "initialize",
        };
        // A server that does not read its input must not keep the caller longer than one that does
        // not answer. A message is sent whole or not at all, wherever this stops.
        let Ok(sent) = timeout(call.timeout, self.link.send(frame)).await else {
            guard.give_up().await;
            return Err(SessionError::timeout(call.method, call.timeout));
        };
        if let Err(error) = sent {
            // The task that reads the events knows why, and may be about to say so.
            let told = match error {
                TransportError::Closed => timeout(FLUSH_TIMEOUT, &mut answered).await.ok(),
                _ => None,
            };
            self.lock().answers.remove(&id);
            return Err(match told {
                Some(Ok(Err(reason))) => reason.into(),
                _ => error.into(),
            });
        }
        let frame = loop {
            // Not biased: an answer stays in its channel if another branch is taken, and the time
            // starts over with every notice of progress. A request whose caller is dropped here is
            // cancelled by `guard`.
            tokio::select! {
                answer = &mut answered => break answer.map_err(|_| TransportError::Closed)??,
                Some(()) = progressed.recv() => {}
                () = tokio::time::sleep(call.timeout) => {
                    guard.give_up().await;
                    return Err(SessionError::timeout(call.method, call.timeout));
                }
            }
        };
        if let Some(of) = call.of {
            let bytes = Some(frame.bytes()).filter(|bytes| bytes.len() > SMALL_FRAME_BYTES);
            *of.lock().unwrap_or_else(PoisonError::into_inner) = bytes.cloned();
        }
        // On another thread if it is large: the result is read once more and copied.
        frame.read_with(result_of).await
    }

    /// Sends a notification; `params` is JSON.
    pub(super) async fn notify(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<(), SessionError> {
        let frame =
            Frame::new(jsonrpc::notification(method, params)).map_err(TransportError::from)?;
        let Ok(sent) = timeout(REQUEST_TIMEOUT, self.link.send(frame)).await else {
            return Err(SessionError::timeout(method, REQUEST_TIMEOUT));
        };
        Ok(sent?)
    }

    /// Takes leave; what was cancelled just before is still told, if that takes no time.
    pub(super) async fn close(&self) {
        let mut telling = {
            let mut waiting = self.lock();
            waiting.is_closed = true;
            std::mem::take(&mut waiting.telling)
        };
        let told = async { while telling.join_next().await.is_some() {} };
        let _late = timeout(FLUSH_TIMEOUT, told).await;
        // What is late is ended: it holds the link.
        drop(telling);
        self.link.close().await;
    }

    /// Ends every task that holds the link, and every request that waits.
    fn end(&self) {
        for waiter in self.shut() {
            let _gone = waiter.answer.send(Err(TransportError::Closed));
        }
    }

    /// Reads events until the connection ends.
    pub(super) async fn pump(self: Arc<Self>, mut events: EventReceiver) {
        let mut reason = None;
        while let Some(event) = events.recv().await {
            match event {
                Event::Frame(frame) if frame.bytes().len() > SMALL_FRAME_BYTES => {
                    self.receive_large(frame).await;
                }
                Event::Frame(frame) => self.receive(frame),
                Event::Failed { id, error } => self.complete(&id, Err(error)),
                Event::Closed(why) => {
                    if let (Some(watch), Some(error)) = (self.watch.get(), &why) {
                        let code = error.code();
                        watch.emit(ServerEvent::NotConnected { code });
                    }
                    reason = why;
                    break;
                }
                _ => {}
            }
        }
        let waiters = self.shut();
        self.handler.closed(reason.as_ref());
        if waiters.is_empty() {
            self.lock().reason = reason.take();
        }
        // One waiter gets the reason, the others learn that the connection is closed.
        for waiter in waiters {
            let error = reason.take().unwrap_or(TransportError::Closed);
            let _gone = waiter.answer.send(Err(error));
        }
    }

    /// Receives a message once the byte budget has space for it, if it is an answer.
    async fn receive_large(self: &Arc<Self>, frame: Frame) {
        let answered = frame.envelope().ok().and_then(|envelope| {
            let id = envelope.id();
            id.filter(|_| envelope.method.is_none())
        });
        let Some(id) = answered else {
            return self.receive(frame);
        };
        match self.handler.reserve(frame).await {
            Ok(frame) => self.complete(&id, Ok(frame)),
            Err(_) => {
                let error = RpcError::new(INTERNAL_ERROR, BUDGET_EXHAUSTED).to_json();
                let text = jsonrpc::error(Some(&id), &error);
                self.complete(&id, Frame::new(text).map_err(TransportError::from));
            }
        }
    }

    fn receive(self: &Arc<Self>, frame: Frame) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let id = envelope.id();
        match (envelope.method.as_deref(), id) {
            (None, Some(id)) => {
                drop(envelope);
                self.complete(&id, Ok(frame));
            }
            (Some("notifications/progress"), None) => {
                self.keep_alive(&envelope, &frame);
                self.handler.notified("notifications/progress", &frame);
            }
            (Some("notifications/cancelled"), None) => self.take_back(&envelope),
            (Some(method), None) => self.handler.notified(method, &frame),
            (Some(_), Some(id)) => {
                drop(envelope);
                // The lock is held until the task is in the table from which it removes itself.
                let mut waiting = self.lock();
                // After the end there is no owner that would end the task.
                if waiting.is_closed {
                    return;
                }
                while waiting.answering.try_join_next().is_some() {}
                let key = id.as_json().to_owned();
                let answer = Arc::clone(self).respond(frame, id);
                let task = waiting.answering.spawn(answer);
                waiting.questions.insert(key, task);
            }
            (None, None) => {}
        }
    }

    /// Answers a request of a legacy server.
    async fn respond(self: Arc<Self>, frame: Frame, id: RequestId) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let method = envelope.method.as_deref().unwrap_or_default();
        let params = envelope.params.and_then(Raw::value);
        let text = match method {
            "ping" => jsonrpc::result(&id, "{}"),
            _ => match self.handler.pass_on(method, params).await {
                Ok(result) => jsonrpc::result(&id, result.get()),
                Err(error) => jsonrpc::error(Some(&id), &error.to_json()),
            },
        };
        self.lock().questions.remove(id.as_json());
        if let Ok(frame) = Frame::new(text) {
            // A connection that is gone needs no answer any more.
            let _gone = self.link.send(frame).await;
        }
    }

    /// Ends the answering of a question that the server takes back.
    fn take_back(&self, envelope: &Envelope<'_>) {
        let id = envelope.params.and_then(|p| member(p.get(), "requestId"));
        let task = id.and_then(|id| self.lock().questions.remove(id));
        if let Some(task) = task {
            task.abort();
        }
    }

    fn keep_alive(&self, envelope: &Envelope<'_>, frame: &Frame) {
        let token = envelope
            .params
            .and_then(|p| member(p.get(), "progressToken"));
        let Some(number) = token.and_then(|token| token.parse().ok()) else {
            return;
        };
        let waiting = self.lock();
        let Some(waiter) = waiting.answers.get(&RequestId::number(number)) else {
            return;
        };
        // One notice that waits is enough.
        let _full = waiter.alive.try_send(());
        let progress = waiter.progress.clone();
        drop(waiting);
        if let Some(progress) = progress {
            progress(frame);
        }
    }

    fn complete(&self, id: &RequestId, answer: Result<Frame, TransportError>) {
        // The lock is held over the send, which only stores the answer and wakes the caller.
        if let Some(waiter) = self.lock().answers.remove(id) {
            // The caller may have gone away.
            let _gone = waiter.answer.send(answer);
        }
    }

    /// Takes no more requests, and returns the waiters for an answer.
    fn shut(&self) -> Vec<Waiter> {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        waiting.questions.clear();
        waiting.answering.abort_all();
        waiting.telling.abort_all();
        waiting.answers.drain().map(|(_, waiter)| waiter).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn result_of(frame: &Frame) -> Result<Box<RawValue>, SessionError> {
    let bad = SessionError::Protocol {
        what: "an answer with neither result nor error",
    };
    let Ok(envelope) = frame.envelope() else {
        return Err(bad);
    };
    match (envelope.result, envelope.error) {
        (Some(result), None) => result.value().map(ToOwned::to_owned).ok_or(bad),
        (_, Some(error)) => {
            let error = RpcError::read(error.get()).ok_or(bad)?;
            Err(error.into())
        }
        (None, None) => Err(bad),
    }
}
