//! Streams that the client opens with `GET` (2025-03-26 to 2025-11-25): what the server has to say
//! on its own, and the rest of an answer whose connection ended early.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue, Method};
use tokio::time::{Instant, sleep};

use super::StreamableShared;
use super::session::SESSION_ID;
use crate::authorized_client::OutboundRequest;
use crate::connection::Event;
use crate::error::TransportError;
use crate::event_stream::EventStream;
use crate::frame::Frame;
use crate::http_client::{Media, Response};
use crate::responses::without_line_breaks;
use crate::timeouts::{MAX_HOLD, STREAM_HEALTHY_AFTER, STREAM_RETRY_DELAY};

/// Where a stream continues after its connection ended.
#[derive(Debug, Default)]
pub(super) struct StreamCursor {
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl StreamCursor {
    /// Takes over what the server said about resuming.
    pub(super) fn advance(&mut self, stream: &EventStream) {
        if let Some(id) = stream.last_id() {
            self.last_id = HeaderValue::from_bytes(id).ok();
        }
        self.retry = stream.retry().or(self.retry);
    }

    /// Returns how long to wait after so many failures: what the server asked for, then doubled.
    fn delay(&self, failures: u32) -> Duration {
        let base = self.retry.unwrap_or(STREAM_RETRY_DELAY);
        base.saturating_mul(1 << failures.min(MAX_FAILURES))
    }
}

impl StreamableShared {
    /// Listens in the background to what the server says on its own, if it does.
    pub(super) fn listen(self: &Arc<Self>) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at under the lock: an end that begins later finds the task. The notification that
        // leads here may have been accepted after the connection was dropped.
        let session = self.sessions.current();
        if self.in_flight.is_closed() || session.is_some_and(|session| session.has_ended()) {
            return;
        }
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move { shared.keep_listening().await });
        if let Some(former) = listener.replace(task.abort_handle()) {
            former.abort();
        }
    }

    /// Opens the rest of a stream whose connection ended before the answer.
    pub(super) async fn resume(
        &self,
        cursor: &mut StreamCursor,
        session_id: Option<&HeaderValue>,
    ) -> Result<Response, TransportError> {
        if cursor.last_id.is_none() {
            return Err(TransportError::Closed);
        }
        for failures in 0..MAX_FAILURES {
            sleep(cursor.delay(failures)).await;
            match self.open(cursor, session_id).await {
                Ok(Opened::Stream(response)) => return Ok(*response),
                Ok(Opened::Unsupported) => break,
                Ok(Opened::RetryLater { wait }) => sleep(wait).await,
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
        Err(TransportError::Closed)
    }

    /// Keeps the `GET` stream open.
    ///
    /// ```text
    /// opening ──2xx──▶ open ──ended──▶ waiting (1 s, doubled) ──▶ opening, 5 failures in a row at most
    ///    ├─ 408 425 429 5xx ──▶ waiting (`Retry-After`) ──▶ opening
    ///    └─ any other status, 501 ──▶ none: the server offers no stream
    /// ```
    async fn keep_listening(&self) {
        let mut cursor = StreamCursor::default();
        let mut failures = 0;
        while failures < MAX_FAILURES {
            failures += 1;
            match Box::pin(self.open(&cursor, None)).await {
                Ok(Opened::Stream(mut response)) => {
                    let began = Instant::now();
                    if self.forward_events(&mut response, &mut cursor).await
                        || began.elapsed() > STREAM_HEALTHY_AFTER
                    {
                        failures = 0;
                    }
                }
                Ok(Opened::Unsupported) => return,
                Ok(Opened::RetryLater { wait }) => sleep(wait).await,
                Err(error) if error.is_transient() => {}
                Err(_) => return,
            }
            sleep(cursor.delay(failures.saturating_sub(1))).await;
        }
    }

    async fn open(
        &self,
        cursor: &StreamCursor,
        session_id: Option<&HeaderValue>,
    ) -> Result<Opened, TransportError> {
        let mut headers = vec![(ACCEPT, EVENTS)];
        match self.sessions.current() {
            Some(session) => headers.extend(session.headers()),
            None => headers.extend(session_id.map(|id| (SESSION_ID, id.clone()))),
        }
        if let Some(id) = &cursor.last_id {
            headers.push((LAST_EVENT_ID, id.clone()));
        }
        let call = OutboundRequest {
            method: Method::GET,
            url: self.server.url(),
            headers: &headers,
            body: Bytes::new(),
            is_idempotent: false,
            is_opening: false,
        };
        let response = self.server.call(&call).await?;
        Ok(match response.status() {
            200..=299 if response.media() == Media::EventStream => {
                Opened::Stream(Box::new(response))
            }
            408 | 425 | 429 | 500.. if response.status() != 501 => {
                let wait = Duration::from_secs(response.retry_after().unwrap_or_default());
                let wait = wait.min(MAX_HOLD);
                Opened::RetryLater { wait }
            }
            _ => Opened::Unsupported,
        })
    }

    /// Passes requests and notifications on; says whether the stream brought anything.
    async fn forward_events(&self, response: &mut Response, cursor: &mut StreamCursor) -> bool {
        response.forget_head();
        let mut stream = EventStream::new();
        let mut brought = false;
        'stream: while let Ok(Some(piece)) = response.chunk().await {
            if Box::pin(stream.feed(piece)).await.is_err() {
                break;
            }
            loop {
                let event = match stream.next_event() {
                    Ok(Some(event)) => event,
                    Ok(None) => break,
                    Err(_) => break 'stream,
                };
                brought = true;
                if event.name.is_some() {
                    continue;
                }
                let Ok(frame) = Frame::new(without_line_breaks(event.data)) else {
                    continue;
                };
                // Boxed like what follows.
                Box::pin(frame.read_ahead()).await;
                // Answers belong to the streams of their requests.
                if frame
                    .envelope()
                    .is_ok_and(|envelope| envelope.method.is_some())
                {
                    // Boxed, as is opening: this task lives as long as its session, and takes as much
                    // memory as its largest step.
                    Box::pin(self.report(Event::Frame(frame))).await;
                }
            }
            stream.rest();
        }
        cursor.advance(&stream);
        brought
    }
}

/// What became of an attempt to open a stream.
enum Opened {
    /// Boxed, because the listening task keeps it as long as the session lasts.
    Stream(Box<Response>),
    /// The server fails.
    RetryLater {
        /// What it asks to wait, beside our own limit.
        wait: Duration,
    },
    /// The server offers none.
    Unsupported,
}

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const MAX_FAILURES: u32 = 5;
