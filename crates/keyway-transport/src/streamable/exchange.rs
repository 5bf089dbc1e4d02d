//! One message and what the server makes of it.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use keyway_secret::printable;
use tokio::time::timeout;

use super::StreamableShared;
use super::listen::StreamCursor;
use super::outgoing::{MessageKind, Method, Outgoing};
use super::request_metadata::RequestMetadata;
use super::session::{SESSION_ID, Session, VERSION};
use super::tool_headers::next_cursor;
use crate::authorized_client::OutboundRequest;
use crate::connection::Event;
use crate::error::TransportError;
use crate::event_stream::EventStream;
use crate::frame::{Frame, MAX_FRAME_BYTES, RequestId};
use crate::http_client::{Media, Response};
use crate::responses::{self, ServerMessage};
use crate::timeouts::{ERROR_BODY_TIMEOUT, NEW_SESSION_TIMEOUT, OWN_REQUEST_TIMEOUT};

impl StreamableShared {
    /// Sends a request and reports its answer or its failure.
    pub(super) async fn exchange(self: &Arc<Self>, message: &Outgoing, id: &RequestId) {
        let outcome = self.request(message, id).await;
        if let Err(error) = outcome
            && self.in_flight.end(id)
        {
            let id = id.clone();
            self.report(Event::Failed { id, error }).await;
        }
    }

    /// Sends a notification or an answer of ours; no caller waits for the outcome.
    pub(super) async fn post_notification(self: &Arc<Self>, message: &Outgoing) {
        let session = self.sessions.current();
        if session.as_ref().is_some_and(|session| session.has_ended()) {
            // The session has ended, and a notification does not begin another.
            return;
        }
        if self.post_accepted(message, session.as_deref()).await
            && message.kind == MessageKind::Initialized
        {
            self.sessions.set_initialized(&message.frame);
            self.listen();
        }
    }

    /// Posts a message that has no answer, and says whether the server accepted it.
    async fn post_accepted(&self, message: &Outgoing, session: Option<&Session>) -> bool {
        let Ok(response) = self.post(message, session).await else {
            return false;
        };
        let is_accepted = (200..300).contains(&response.status());
        response.finish().await;
        is_accepted
    }

    async fn request(
        self: &Arc<Self>,
        message: &Outgoing,
        id: &RequestId,
    ) -> Result<(), TransportError> {
        let (mut may_replace_session, mut may_refresh_tools) = (true, true);
        loop {
            let session = match (&message.kind, &message.routing) {
                (MessageKind::Initialize(_), _) | (_, Some(_)) => None,
                _ => self.sessions.current(),
            };
            if let Some(over) = session.as_ref().filter(|session| session.has_ended()) {
                Box::pin(self.replace_session(over, NEW_SESSION_TIMEOUT)).await?;
                continue;
            }
            let response = self.post(message, session.as_deref()).await?;
            let status = response.status();
            if (200..300).contains(&status) {
                let received = self.receive(response, message, id).await;
                return received.map_err(|error| message.lost(error));
            }
            // 2025-11-25, "Session Management" 3 and 4: not found means the session has ended, and
            // so the request was not looked at.
            let lost = session.filter(|session| status == 404 && session.id.is_some());
            if let Some(lost) = lost
                && std::mem::take(&mut may_replace_session)
            {
                response.finish().await;
                // Boxed like everything rare here: the task of every call would be as large.
                Box::pin(self.replace_session(&lost, OWN_REQUEST_TIMEOUT)).await?;
                continue;
            }
            let frame = Box::pin(error_of(response, id)).await?;
            if responses::error_code(&frame) == Some(HEADER_MISMATCH)
                && std::mem::take(&mut may_refresh_tools)
                && Box::pin(self.refresh_tools(message)).await
            {
                continue;
            }
            return Box::pin(self.deliver(frame, message, None)).await;
        }
    }

    /// Posts a message in a session, if there is one.
    pub(super) async fn post(
        &self,
        message: &Outgoing,
        session: Option<&Session>,
    ) -> Result<Response, TransportError> {
        let mut headers = Vec::with_capacity(8);
        headers.push((CONTENT_TYPE, JSON));
        headers.push((ACCEPT, JSON_OR_EVENTS));
        if let Some(routing) = &message.routing {
            headers.push((VERSION, routing.version.clone()));
            headers.push((RequestMetadata::METHOD, routing.method.clone()));
            headers.extend(
                routing
                    .name
                    .clone()
                    .map(|name| (RequestMetadata::NAME, name)),
            );
            headers.extend(self.tool_headers(message));
        } else if let Some(session) = session {
            headers.extend(session.headers());
        }
        let call = OutboundRequest {
            method: http::Method::POST,
            url: self.server.url(),
            headers: &headers,
            body: message.frame.bytes().clone(),
            is_idempotent: message.is_idempotent(),
            is_opening: message.is_opening(),
        };
        self.server.call(&call).await
    }

    fn tool_headers(&self, message: &Outgoing) -> Vec<(HeaderName, HeaderValue)> {
        let tool = message
            .routing
            .as_ref()
            .and_then(|routing| routing.tool.as_ref());
        match tool.filter(|tool| self.tools.knows(tool)) {
            Some(tool) => {
                let arguments = message.arguments().unwrap_or_default();
                self.tools.headers(tool, &arguments)
            }
            None => Vec::new(),
        }
    }

    async fn receive(
        &self,
        mut response: Response,
        message: &Outgoing,
        id: &RequestId,
    ) -> Result<(), TransportError> {
        match response.media() {
            Media::Json => {
                let session_id = response.headers().get(SESSION_ID).cloned();
                let body = response.collect(MAX_FRAME_BYTES).await?;
                match responses::classify(body, id).await? {
                    ServerMessage::Response(frame) => {
                        self.deliver(frame, message, session_id.as_ref()).await
                    }
                    _ => Err(NO_ANSWER),
                }
            }
            Media::EventStream => Box::pin(self.read_stream(response, message, id)).await,
            Media::Other => Err(NO_ANSWER),
        }
    }

    /// Reads an event stream up to the answer, over as many connections as that takes.
    async fn read_stream(
        &self,
        mut response: Response,
        message: &Outgoing,
        id: &RequestId,
    ) -> Result<(), TransportError> {
        let session_id = response.headers().get(SESSION_ID).cloned();
        let mut cursor = StreamCursor::default();
        loop {
            let mut stream = EventStream::new();
            while let Ok(Some(piece)) = response.chunk().await {
                stream.feed(piece).await?;
                while let Some(event) = stream.next_event()? {
                    if event.name.is_some() {
                        continue;
                    }
                    match responses::classify(event.data, id).await? {
                        ServerMessage::Response(frame) => {
                            self.deliver(frame, message, session_id.as_ref()).await?;
                            response.finish().await;
                            return Ok(());
                        }
                        ServerMessage::Other(frame) => self.report(Event::Frame(frame)).await,
                        ServerMessage::Unrelated => {}
                    }
                }
            }
            cursor.advance(&stream);
            if message.routing.is_some() {
                // Since 2026-07-28 streams are not resumed.
                return Err(TransportError::Closed);
            }
            response = Box::pin(self.resume(&mut cursor, session_id.as_ref())).await?;
        }
    }

    /// Learns what the answer says to the transport, and passes it on.
    async fn deliver(
        &self,
        mut frame: Frame,
        message: &Outgoing,
        session_id: Option<&HeaderValue>,
    ) -> Result<(), TransportError> {
        match &message.kind {
            MessageKind::Initialize(_) if frame.envelope()?.result.is_some() => {
                let session = Session::new(session_id, &frame);
                self.sessions.begin(session, &message.frame);
            }
            MessageKind::Request {
                method: Method::ListTools { from_start },
                ..
            } if message.routing.is_some() => {
                frame = Box::pin(self.learn_tools(frame, *from_start)).await?;
            }
            _ => {}
        }
        if let Some(id) = message.id()
            && self.in_flight.end(id)
        {
            self.report(Event::Frame(frame)).await;
        }
        Ok(())
    }

    async fn learn_tools(&self, frame: Frame, from_start: bool) -> Result<Frame, TransportError> {
        let (frame, dropped) = self.tools.learn(frame, from_start)?;
        for dropped in dropped {
            let tool = printable(&dropped.tool);
            let why = dropped.why;
            self.report(Event::ToolDropped { tool, why }).await;
        }
        Ok(frame)
    }

    /// Asks for the tools again and says whether a call would now carry other headers.
    ///
    /// 2026-07-28, "Client Behavior": what to do when the server misses a header.
    async fn refresh_tools(&self, message: &Outgoing) -> bool {
        if message.routing.is_none() || message.method() != Method::CallTool {
            return false;
        }
        let before = self.tool_headers(message);
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let Some(request) = message.list_tools(cursor.as_deref()) else {
                break;
            };
            let Ok(page) = self
                .own_request(&request, OWN_REQUEST_TIMEOUT)
                .await
                .map(|(page, _)| page)
            else {
                break;
            };
            cursor = next_cursor(&page);
            if self
                .learn_tools(page, request.method() == FIRST_PAGE)
                .await
                .is_err()
                || cursor.is_none()
            {
                break;
            }
        }
        self.tool_headers(message) != before
    }

    /// Begins another session in place of one that the server has ended, once for all requests that
    /// need it.
    async fn replace_session(
        self: &Arc<Self>,
        lost: &Arc<Session>,
        limit: Duration,
    ) -> Result<(), TransportError> {
        let _replacing = self.sessions.replacing.lock().await;
        let current = self.sessions.current();
        if current.is_some_and(|current| !Arc::ptr_eq(&current, lost)) {
            return Ok(());
        }
        let (initialize, initialized) = self.sessions.handshake().ok_or(NO_ANSWER)?;
        let request = Outgoing::read(initialize, true)?;
        let (frame, session_id) = self.own_request(&request, limit).await?;
        if frame.envelope()?.result.is_none() {
            return Err(TransportError::Protocol {
                what: "it rejected the `initialize` that replaces a lost session",
            });
        }
        let session = Session::new(session_id.as_ref(), &frame);
        // In force only after its handshake: a request that is cancelled here leaves the lost
        // session in force, and the next one replaces it.
        let is_initialized = match initialized {
            Some(initialized) => {
                let initialized = Outgoing::read(initialized, true)?;
                self.post_accepted(&initialized, Some(&session)).await
            }
            None => false,
        };
        self.sessions.begin(session, &request.frame);
        if is_initialized {
            self.listen();
        }
        Ok(())
    }

    /// Sends a request of our own and waits for its answer, and the session it may begin.
    async fn own_request(
        &self,
        request: &Outgoing,
        limit: Duration,
    ) -> Result<(Frame, Option<HeaderValue>), TransportError> {
        let asking = async {
            let id = request.id().ok_or(NO_ANSWER)?;
            let mut response = self.post(request, None).await?;
            if !(200..300).contains(&response.status()) {
                return Err(response.status_error());
            }
            let session_id = response.headers().get(SESSION_ID).cloned();
            if response.media() == Media::Json {
                let body = response.collect(MAX_FRAME_BYTES).await?;
                return match responses::classify(body, id).await? {
                    ServerMessage::Response(frame) => Ok((frame, session_id)),
                    _ => Err(NO_ANSWER),
                };
            }
            let mut stream = EventStream::new();
            while let Some(piece) = response.chunk().await? {
                stream.feed(piece).await?;
                while let Some(event) = stream.next_event()? {
                    let message = responses::classify(event.data, id).await?;
                    if let ServerMessage::Response(frame) = message {
                        response.finish().await;
                        return Ok((frame, session_id));
                    }
                }
            }
            Err(TransportError::Closed)
        };
        timeout(limit, asking)
            .await
            .unwrap_or(Err(TransportError::Timeout {
                seconds: limit.as_secs(),
            }))
    }

    /// Passes an event on; a reader that is gone misses nothing.
    pub(super) async fn report(&self, event: Event) {
        self.events.deliver(event).await;
    }
}

/// Reads the JSON-RPC error that an HTTP error carries, or returns the HTTP error.
async fn error_of(mut response: Response, id: &RequestId) -> Result<Frame, TransportError> {
    let error = response.status_error();
    let body = timeout(ERROR_BODY_TIMEOUT, response.collect(MAX_ERROR_BYTES)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    if let Some(refused) = client_certificate_error(&error, &body) {
        return Err(refused);
    }
    responses::error_response(body, id).ok_or(error)
}

/// Recognises what nginx answers inside TLS when it does not like the client certificate.
fn client_certificate_error(error: &TransportError, body: &[u8]) -> Option<TransportError> {
    if !matches!(
        error,
        TransportError::Status {
            status: 400 | 495 | 496,
            ..
        }
    ) {
        return None;
    }
    let says = |text: &str| memchr::memmem::find(body, text.as_bytes()).is_some();
    let is_missing = says("No required SSL certificate was sent");
    (is_missing || says("The SSL certificate error"))
        .then_some(TransportError::ClientCertificate { is_missing })
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const NO_ANSWER: TransportError = TransportError::Protocol {
    what: "the response does not answer the request",
};
const FIRST_PAGE: Method = Method::ListTools { from_start: true };
/// 2026-07-28, "Server Validation".
const HEADER_MISMATCH: i64 = -32020;
const MAX_ERROR_BYTES: usize = 1024 * 1024;
const MAX_PAGES: usize = 32;
