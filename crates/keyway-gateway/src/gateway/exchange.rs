//! One request of a client: answered by one message, or by a stream that ends with the answer.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use keyway_code::Code;
use keyway_transport::{Frame, Reply, RequestId, ToolHeaders};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use keyway_dashboard::activity::RequestRecorder;
use keyway_mcp::jsonrpc::{LOCAL_ERROR, METHOD_NOT_FOUND};

use super::event_streams::Priming;
use super::limits::Permits;
use super::reply::{self, KEEP_ALIVE};
use super::upstream_connection::{Delivery, UpstreamConnection};
use crate::timeouts::{CANCELLED_CALL_TIMEOUT, CONTINUED_CALL_TIMEOUT, KEEP_ALIVE_INTERVAL};

/// A request that has been sent.
#[derive(Debug)]
pub(super) struct Exchange {
    deliveries: mpsc::Receiver<Delivery>,
    registration: UnregisterOnDrop,
    takes_events: bool,
    prefers_events: bool,
    priming: Priming,
    tool_headers: Option<ToolHeaderUpdate>,
    recorder: Option<Arc<RequestRecorder>>,
}

/// Where to note, from the answer, which arguments are repeated in headers.
#[derive(Debug)]
pub(super) struct ToolHeaderUpdate {
    pub(super) tools: Arc<ToolHeaders>,
    /// The answer is the first page of a list.
    pub(super) from_start: bool,
}

/// What it means that a client goes away before its answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDisconnect {
    /// Nothing: the request continues (2025-11-25, "Sending Messages to the Server" 6).
    Continue,
    /// The request is cancelled (2026-07-28).
    Cancel,
}

/// Stops waiting when it is dropped.
#[derive(Debug)]
struct UnregisterOnDrop {
    connection: Arc<UpstreamConnection>,
    id: RequestId,
    on_disconnect: OnDisconnect,
    /// Given back when the answer has come; without one, when the server is done.
    permits: Option<Arc<Permits>>,
}

impl Drop for UnregisterOnDrop {
    fn drop(&mut self) {
        let permits = self.permits.take();
        let at_most = match self.on_disconnect {
            OnDisconnect::Continue => CONTINUED_CALL_TIMEOUT,
            OnDisconnect::Cancel => CANCELLED_CALL_TIMEOUT,
        };
        let was_pending = self.connection.unregister(&self.id, permits, at_most);
        if was_pending && self.on_disconnect == OnDisconnect::Cancel {
            let (connection, id) = (Arc::clone(&self.connection), self.id.clone());
            drop(tokio::spawn(async move { connection.cancel(&id).await }));
        }
    }
}

impl Exchange {
    pub(super) const fn new(
        connection: Arc<UpstreamConnection>,
        id: RequestId,
        on_disconnect: OnDisconnect,
        deliveries: mpsc::Receiver<Delivery>,
    ) -> Self {
        Self {
            deliveries,
            registration: UnregisterOnDrop {
                connection,
                id,
                on_disconnect,
                permits: None,
            },
            takes_events: true,
            prefers_events: false,
            priming: Priming::None,
            tool_headers: None,
            recorder: None,
        }
    }

    /// Notes how the request ends.
    pub(super) fn observed_by(mut self, recorder: Option<Arc<RequestRecorder>>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Keeps the request's places until its server is done with it.
    pub(super) fn holding(mut self, permits: Option<Arc<Permits>>) -> Self {
        self.registration.permits = permits;
        self
    }

    /// Says whether the client would rather have a stream, even of one message.
    pub(super) const fn prefers_events(mut self, prefers_events: bool) -> Self {
        self.prefers_events = prefers_events;
        self
    }

    /// Says how the client is told where a stream begins.
    pub(super) const fn priming(mut self, priming: Priming) -> Self {
        self.priming = priming;
        self
    }

    /// Sets where tool headers are noted from the answer.
    pub(super) fn tool_headers(mut self, tool_headers: Option<ToolHeaderUpdate>) -> Self {
        self.tool_headers = tool_headers;
        self
    }

    /// Says whether the client reads event streams.
    pub(super) const fn takes_events(mut self, takes_events: bool) -> Self {
        self.takes_events = takes_events;
        self
    }

    /// Sends the request.
    pub(super) async fn send(&self, frame: Frame) {
        self.registration
            .connection
            .send_request(frame, &self.registration.id)
            .await;
    }

    /// Waits for the first message, which decides on the form of the answer.
    pub(super) async fn reply(mut self) -> Reply {
        if self.is_kept() && self.takes_events && self.prefers_events {
            return self.stream_kept(None);
        }
        let first = self.first().await;
        self.reply_with(first)
    }

    /// As [`reply`](Self::reply); `None` if the server could not be asked: it is down, or refuses the
    /// credential.
    pub(super) async fn reply_unless_failed(mut self) -> Option<Reply> {
        let first = self.first().await;
        let has_failed = matches!(
            first,
            Ok(Some(Delivery::Response(_, Some(LOCAL_ERROR))) | None)
        );
        (!has_failed).then(|| self.reply_with(first))
    }

    async fn first(&mut self) -> Result<Option<Delivery>, Elapsed> {
        if self.takes_events {
            timeout(KEEP_ALIVE_INTERVAL, self.deliveries.recv()).await
        } else {
            Ok(self.deliveries.recv().await)
        }
    }

    fn is_kept(&self) -> bool {
        self.registration.on_disconnect == OnDisconnect::Continue
    }

    fn reply_with(self, first: Result<Option<Delivery>, Elapsed>) -> Reply {
        let is_kept = self.is_kept();
        match first {
            Ok(Some(Delivery::Response(frame, code))) => {
                self.learn(&frame);
                self.note(&frame, code);
                if !is_kept && code == Some(LOCAL_ERROR) && is_store_away(&frame) {
                    let status = StatusCode::SERVICE_UNAVAILABLE;
                    return reply::try_later(reply::message(status, frame.bytes().clone()));
                }
                let status = if is_kept {
                    StatusCode::OK
                } else {
                    status_of(code)
                };
                if self.prefers_events && status == StatusCode::OK {
                    let (out, pieces) = mpsc::channel(1);
                    drop(out.try_send(reply::event(&frame, None)));
                    return reply::events(pieces);
                }
                reply::message(status, frame.bytes().clone())
            }
            Ok(Some(Delivery::Interim(frame))) if is_kept => self.stream_kept(Some(frame)),
            Ok(Some(Delivery::Interim(frame))) => self.stream(Some(frame)),
            Err(_) if is_kept => self.stream_kept(None),
            Err(_) => self.stream(None),
            // The connection answers all pending requests before it ends.
            Ok(None) => reply::plain(StatusCode::BAD_GATEWAY, "no answer\n"),
        }
    }

    fn learn(&self, answer: &Frame) {
        if let Some(tool_headers) = &self.tool_headers {
            tool_headers.tools.note(answer, tool_headers.from_start);
        }
    }

    fn note(&self, answer: &Frame, code: Option<i64>) {
        if let Some(recorder) = &self.recorder {
            self.registration.connection.note(recorder, answer, code);
        }
    }

    fn stream(self, first: Option<Frame>) -> Reply {
        let (out, pieces) = mpsc::channel(QUEUE);
        let piece = first.map_or(KEEP_ALIVE, |frame| reply::event(&frame, None));
        drop(out.try_send(piece));
        drop(tokio::spawn(self.follow(out)));
        reply::events(pieces)
    }

    /// Passes on messages up to the answer, or until the reader is gone.
    async fn follow(mut self, out: mpsc::Sender<Bytes>) {
        loop {
            // Not biased: `recv` is cancel safe, and the pause starts over with every message. If
            // the reader is gone, dropping `self` unregisters the request and cancels it.
            let piece = tokio::select! {
                item = self.deliveries.recv() => match item {
                    Some(Delivery::Interim(frame)) => reply::event(&frame, None),
                    Some(Delivery::Response(frame, code)) => {
                        self.learn(&frame);
                        self.note(&frame, code);
                        drop(out.send(reply::event(&frame, None)).await);
                        return;
                    }
                    None => return,
                },
                () = sleep(KEEP_ALIVE_INTERVAL) => KEEP_ALIVE,
                () = out.closed() => return,
            };
            if out.send(piece).await.is_err() {
                return;
            }
        }
    }
}

impl Exchange {
    /// Begins a stream that can be taken up again.
    fn stream_kept(self, first: Option<Frame>) -> Reply {
        let (number, pieces) = self.registration.connection.streams.begin(self.priming);
        drop(tokio::spawn(self.follow_kept(number, first)));
        reply::events(pieces)
    }

    /// Writes what comes, up to the answer or until the client does not come back.
    async fn follow_kept(mut self, number: u64, first: Option<Frame>) {
        let connection = Arc::clone(&self.registration.connection);
        if let Some(frame) = first {
            connection.streams.write(number, &frame).await;
        }
        loop {
            match timeout(KEEP_ALIVE_INTERVAL, self.deliveries.recv()).await {
                Ok(Some(Delivery::Interim(frame))) => {
                    connection.streams.write(number, &frame).await;
                }
                Ok(Some(Delivery::Response(frame, code))) => {
                    self.learn(&frame);
                    self.note(&frame, code);
                    let id = &self.registration.id;
                    return connection.streams.finish(number, id, &frame).await;
                }
                Err(_) if connection.streams.is_awaited(number) => {}
                Ok(None) | Err(_) => return connection.streams.forget(number),
            }
        }
    }
}

/// Returns the status that an error has over HTTP (2026-07-28).
fn status_of(code: Option<i64>) -> StatusCode {
    match code {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Says whether an answer of our own tells that the store of the sign-ins cannot be reached.
fn is_store_away(answer: &Frame) -> bool {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        error: Told<'a>,
    }
    #[derive(Deserialize)]
    struct Told<'a> {
        #[serde(borrow)]
        data: Data<'a>,
    }
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        code: Cow<'a, str>,
    }
    let answer: Result<Answer<'_>, _> = serde_json::from_slice(answer.bytes());
    answer.is_ok_and(|answer| answer.error.data.code == Code::StoreUnreachable.as_str())
}

const QUEUE: usize = 16;
