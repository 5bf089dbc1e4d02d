//! A client of 2026-07-28 in front of a server of the handshake era.
//!
//! The session with the server is ours. Requests lose their metadata, and results get what the
//! modern era requires. When the server asks something, the call that is under way is answered with
//! the question and stays parked until the client comes back with the answer.

mod calls;
mod facts;
mod input_required;
mod results;
mod subscriptions;

use keyway_code::Code;
use keyway_transport::{Connection, Event, Frame, FrameError, RequestId, TransportError};
use tokio::time::Instant;

use self::calls::{Call, Calls, Outcome};
use self::facts::{RequestMeta, Server};
use self::subscriptions::Subscriptions;
use super::adapter::{EraAdapter, Message, Outbox};
use super::message;
use super::names::{LOG_LEVELS, MAX_PENDING};
use super::probe;
use crate::jsonrpc;
use crate::splice::{RawObject, quoted};
use crate::version::MODERN;

/// Opens a session with the server; gives the connection back if it does not take part.
pub(super) async fn initialize(
    connection: Connection,
    first: &Frame,
) -> Result<(Connection, ModernClient), Connection> {
    let meta_of_request = RequestMeta::of(message::params_of(first));
    let Some(id) = message::read_id(r#""keyway:initialize""#) else {
        return Err(connection);
    };
    let Ok(hello) = message::request(&id, "initialize", &meta_of_request.initialize_params())
    else {
        return Err(connection);
    };
    let (connection, answer) = probe::ask(connection, &id, hello).await;
    let Some(server) = answer.as_ref().and_then(Server::read) else {
        return Err(connection);
    };
    let Ok(ready) = message::notification("notifications/initialized", "{}") else {
        return Err(connection);
    };
    match connection.link.send(ready).await {
        Ok(()) => Ok((connection, ModernClient::new(server))),
        Err(_) => Err(connection),
    }
}

/// A modern client as the server sees it.
#[derive(Debug)]
pub(super) struct ModernClient {
    server: Server,
    /// What the server was last told.
    level: Option<String>,
    calls: Calls,
    subscriptions: Subscriptions,
    last_id: u64,
}

impl ModernClient {
    fn new(server: Server) -> Self {
        let subscriptions = Subscriptions::new(&server.capabilities);
        Self {
            server,
            level: None,
            calls: Calls::default(),
            subscriptions,
            last_id: 0,
        }
    }

    fn request(&mut self, method: &str, id: RequestId, frame: &Frame, out: &mut Outbox) {
        let params = message::params_of(frame);
        let meta_of_request = RequestMeta::of(params);
        if let Some(error) = refusal(&meta_of_request) {
            out.client(message::error_event(&id, &error));
            return;
        }
        match method {
            "server/discover" => {
                let result = message::result(&id, &self.server.discovered());
                out.client(message::to_event(&id, result));
            }
            "subscriptions/listen" => self.subscriptions.open(id, params, out),
            _ if meta_of_request.state.is_some() => self.resume(method, id, params, out),
            _ => self.pass(method, id, frame, out),
        }
    }

    /// Passes a request on without the metadata of the modern era.
    fn pass(&mut self, method: &str, id: RequestId, frame: &Frame, out: &mut Outbox) {
        if self.calls.len() >= MAX_PENDING {
            let error = message::own_error(Code::Busy, "too many requests are under way");
            out.client(message::error_event(&id, &error));
            return;
        }
        let meta_of_request = RequestMeta::of(message::params_of(frame));
        self.set_level(&meta_of_request, out);
        let upstream = self.next_id();
        match without_modern_meta(frame, &upstream) {
            Ok(frame) => {
                let call = Call::new(method, id, meta_of_request, frame.clone());
                self.calls.begin(upstream, call);
                out.server(frame);
            }
            Err(error) => out.client(message::to_event(&id, Err(error))),
        }
    }

    fn set_level(&mut self, meta_of_request: &RequestMeta, out: &mut Outbox) {
        if meta_of_request.level.is_none()
            || meta_of_request.level == self.level
            || !self.server.has_log()
        {
            return;
        }
        self.level.clone_from(&meta_of_request.level);
        let level = quoted(self.level.as_deref().unwrap_or_default());
        let id = self.next_id();
        let params = format!(r#"{{"level":{level}}}"#);
        out.note(message::request(&id, "logging/setLevel", &params));
    }

    fn cancel(&mut self, frame: &Frame, out: &mut Outbox) {
        let params = message::params_of(frame);
        let Some(id) = message::cancelled_id(params) else {
            return;
        };
        if self.subscriptions.end(&id, out) {
            return;
        }
        let Some(upstream) = self.upstream(&id) else {
            return;
        };
        if let Some(call) = self.calls.take(&upstream) {
            call.decline(out);
        }
        out.abandon(&upstream);
        if let Some(mut params) = params.and_then(RawObject::read) {
            params.set("requestId", upstream.as_json());
            out.note(message::with(frame, &[("params", &params.to_string())]));
        }
    }

    /// Takes the server's answer to a request.
    fn answered(&mut self, id: &RequestId, frame: Frame, out: &mut Outbox) {
        let is_good = frame
            .envelope()
            .is_ok_and(|envelope| envelope.error.is_none());
        if self.subscriptions.answered(id, is_good, out) {
            return;
        }
        if self.calls.knows(id) {
            self.finish(id, Outcome::Frame(frame), out);
        } else if !id.as_json().starts_with("\"keyway:") {
            out.client(Event::Frame(frame));
        }
    }

    fn notified(&mut self, method: &str, frame: Frame, out: &mut Outbox) {
        match method {
            "notifications/progress" => {
                if let Some(frame) = self.calls.progress(frame) {
                    out.client(Event::Frame(frame));
                }
            }
            "notifications/message" => {
                if self.calls.is_log_wanted() {
                    out.client(Event::Frame(frame));
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = message::cancelled_id(message::params_of(&frame)) {
                    self.calls.withdraw(&id);
                }
            }
            "notifications/elicitation/complete" => {}
            _ => {
                if !self.subscriptions.notified(method, &frame, out) {
                    out.client(Event::Frame(frame));
                }
            }
        }
    }

    fn next_id(&mut self) -> RequestId {
        self.last_id += 1;
        message::own_id("", self.last_id)
    }
}

impl EraAdapter for ModernClient {
    fn client_message(&mut self, message_kind: Message, frame: Frame, out: &mut Outbox) {
        match message_kind {
            Message::Request(method, id) => self.request(&method, id, &frame, out),
            Message::Note(method) if method == "notifications/cancelled" => {
                self.cancel(&frame, out);
            }
            _ => out.server(frame),
        }
    }

    fn server_message(&mut self, message_kind: Message, frame: Frame, out: &mut Outbox) {
        match message_kind {
            Message::Answer(id) => self.answered(&id, frame, out),
            Message::Note(method) => self.notified(&method, frame, out),
            Message::Request(method, id) => {
                self.asked(&method, id, message::params_of(&frame), out);
            }
            Message::Nothing => out.client(Event::Frame(frame)),
        }
    }

    fn failed(&mut self, id: RequestId, error: TransportError, out: &mut Outbox) {
        if self.subscriptions.answered(&id, false, out) {
            return;
        }
        if self.calls.knows(&id) {
            self.finish(&id, Outcome::Failed(error), out);
        } else if !id.as_json().starts_with("\"keyway:") {
            out.client(Event::Failed { id, error });
        }
    }

    fn closed(&mut self, reason: Option<TransportError>, out: &mut Outbox) {
        for id in self.subscriptions.stop() {
            let error = TransportError::Closed;
            out.client(Event::Failed { id, error });
        }
        self.calls.stop();
        out.client(Event::Closed(reason));
    }

    fn deadline(&self) -> Option<Instant> {
        self.calls.deadline()
    }

    fn overdue(&mut self, out: &mut Outbox) {
        for (upstream, call) in self.calls.expired(out.now()) {
            call.decline(out);
            if !call.is_over() {
                out.abandon(&upstream);
                out.note(message::cancelled(&upstream));
            }
        }
    }

    fn upstream(&self, id: &RequestId) -> Option<RequestId> {
        self.calls.upstream(id)
    }
}

/// Returns why a request cannot be served, as an error.
fn refusal(meta_of_request: &RequestMeta) -> Option<String> {
    let level = meta_of_request.level.as_deref();
    if level.is_some_and(|level| !LOG_LEVELS.contains(&level)) {
        return Some(jsonrpc::error_object(
            jsonrpc::INVALID_PARAMS,
            "unknown log level",
        ));
    }
    let version = meta_of_request
        .version
        .as_deref()
        .filter(|version| *version != MODERN)?;
    let error = serde_json::json!({
        "code": jsonrpc::UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version",
        "data": { "supported": [MODERN], "requested": version },
    });
    Some(error.to_string())
}

/// Returns a request as a legacy server knows it, under another id.
fn without_modern_meta(frame: &Frame, id: &RequestId) -> Result<Frame, FrameError> {
    let Some(mut params) = message::params_of(frame).and_then(RawObject::read) else {
        return message::with(frame, &[("id", id.as_json())]);
    };
    params.remove("inputResponses");
    let meta = params.object("_meta").map(facts::without_modern_keys);
    match meta {
        Some(meta) if meta.is_empty() => params.remove("_meta"),
        Some(meta) => {
            let meta = meta.to_string();
            params.set("_meta", meta);
        }
        None => {}
    }
    let params = params.to_string();
    message::with(frame, &[("id", id.as_json()), ("params", &params)])
}

#[cfg(test)]
mod tests;
