//! A client of the handshake era in front of a server of 2026-07-28.
//!
//! What the modern era has no use for is answered here; every other request gets the metadata that
//! the server wants. A result that asks for input becomes questions to the client, and the request
//! is repeated with the answers.

mod facts;
mod input_requests;
mod listen_stream;

use std::collections::HashMap;

use keyway_code::Code;
use keyway_transport::{Connection, Event, Frame, Raw, RequestId, TransportError};
use tokio::time::Instant;

use self::facts::{Client, Server};
use self::input_requests::{InputRequests, Next};
use self::listen_stream::{Ending, ListenStream};
use super::adapter::{EraAdapter, Message, Outbox};
use super::message;
use super::names::{MAX_PENDING, SUBSCRIPTION_ID};
use super::probe;
use crate::jsonrpc;
use crate::splice::RawObject;

/// Asks the server what it is; gives the connection back if it is not a modern one.
pub(super) async fn initialize(
    connection: Connection,
    first: &Frame,
) -> Result<(Connection, LegacyClient), Connection> {
    let params = first.envelope().ok().and_then(|envelope| envelope.params);
    let client = Client::read(params.map(Raw::get));
    let meta = client.meta(RawObject::default());
    let Some(id) = message::read_id(r#""keyway:discover""#) else {
        return Err(connection);
    };
    let params = format!(r#"{{"_meta":{meta}}}"#);
    let Ok(question) = message::request(&id, "server/discover", &params) else {
        return Err(connection);
    };
    let (connection, answer) = probe::ask(connection, &id, question).await;
    match answer.as_ref().and_then(Server::read) {
        Some(server) => Ok((connection, LegacyClient::new(client, server))),
        None => Err(connection),
    }
}

/// A legacy client as the server sees it.
#[derive(Debug)]
pub(super) struct LegacyClient {
    client: Client,
    server: Server,
    /// Requests that the server works on, by the id it knows.
    calls: HashMap<RequestId, Call>,
    input_requests: InputRequests,
    listen_stream: ListenStream,
    last_id: u64,
}

/// A request of the client.
#[derive(Debug)]
struct Call {
    id: RequestId,
    /// As the server first got it.
    frame: Frame,
    /// How often it came back with questions.
    rounds: u32,
}

impl LegacyClient {
    fn new(client: Client, server: Server) -> Self {
        let listen_stream = ListenStream::new(&server.capabilities);
        Self {
            client,
            server,
            calls: HashMap::new(),
            input_requests: InputRequests::default(),
            listen_stream,
            last_id: 0,
        }
    }

    fn request(&mut self, method: &str, id: RequestId, frame: &Frame, out: &mut Outbox) {
        let params = message::params_of(frame);
        let answer = match method {
            "initialize" => {
                self.client = Client::read(params);
                message::result(&id, &self.server.initialized(&self.client))
            }
            "ping" => message::result(&id, "{}"),
            "logging/setLevel" => match self.client.set_level(params) {
                true => message::result(&id, "{}"),
                false => {
                    let error = jsonrpc::error_object(jsonrpc::INVALID_PARAMS, "unknown log level");
                    message::error(&id, &error)
                }
            },
            "resources/subscribe" | "resources/unsubscribe"
                if self.listen_stream.takes_resources() =>
            {
                let is_on = method == "resources/subscribe";
                self.subscribe(params, id, is_on, out);
                return;
            }
            _ => {
                self.pass(id, frame, out);
                return;
            }
        };
        out.client(message::to_event(&id, answer));
    }

    /// Passes a request on with the metadata that the modern era wants.
    fn pass(&mut self, id: RequestId, frame: &Frame, out: &mut Outbox) {
        if self.calls.len() + self.input_requests.len() >= MAX_PENDING {
            let error = message::own_error(Code::Busy, "too many requests are under way");
            out.client(message::error_event(&id, &error));
            return;
        }
        match self.client.present(frame) {
            Ok(frame) => {
                let call = Call {
                    id: id.clone(),
                    frame: frame.clone(),
                    rounds: 0,
                };
                self.calls.insert(id, call);
                out.server(frame);
            }
            Err(error) => out.client(message::to_event(&id, Err(error))),
        }
    }

    fn subscribe(&mut self, params: Option<&str>, id: RequestId, is_on: bool, out: &mut Outbox) {
        let uri = params.and_then(|params| RawObject::read(params)?.text("uri"));
        let change = match uri {
            Some(uri) if is_on => self.listen_stream.add(uri, id, out),
            Some(uri) => self.listen_stream.remove(&uri, &id, out),
            None => {
                let error = jsonrpc::error_object(jsonrpc::INVALID_PARAMS, "`uri` is missing");
                out.client(message::error_event(&id, &error));
                return;
            }
        };
        if change {
            self.listen(out);
        }
    }

    /// Opens the stream of notifications that the client is to get, in place of the former one.
    fn listen(&mut self, out: &mut Outbox) {
        let id = self.next_id();
        let meta = self.client.meta(RawObject::default());
        self.listen_stream.open(id, &meta, out);
    }

    fn note(&mut self, method: &str, frame: Frame, out: &mut Outbox) {
        match method {
            "notifications/initialized" => {
                if self.listen_stream.begin() {
                    self.listen(out);
                }
            }
            // Roots are asked for when they are needed.
            "notifications/roots/list_changed" => {}
            "notifications/cancelled" => self.cancel(&frame, out),
            _ => out.server(frame),
        }
    }

    fn cancel(&mut self, frame: &Frame, out: &mut Outbox) {
        let params = message::params_of(frame);
        let Some(id) = message::cancelled_id(params) else {
            return;
        };
        if let Some(questions) = self.input_requests.cancel(&id) {
            for question in questions {
                withdraw(&question, out);
            }
            return;
        }
        let Some(upstream) = self.upstream(&id) else {
            return;
        };
        self.calls.remove(&upstream);
        out.abandon(&upstream);
        let Some(mut params) = params.and_then(RawObject::read) else {
            return;
        };
        params.set("requestId", upstream.as_json());
        out.note(message::with(frame, &[("params", &params.to_string())]));
    }

    /// Takes the client's answer to a question.
    fn answer(&mut self, frame: Frame, out: &mut Outbox) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let (Some(id), false) = (envelope.id(), envelope.method.is_some()) else {
            return;
        };
        let answer = match (envelope.result, envelope.error) {
            (Some(result), None) => Ok(result.get()),
            (_, error) => Err(error.map_or("null", Raw::get)),
        };
        match self.input_requests.answered(&id, answer) {
            Next::Unknown => out.server(frame),
            Next::Wait => {}
            Next::Repeat(call, params) => self.repeat(call, &params, out),
            Next::GiveUp(call, questions) => {
                for question in questions {
                    withdraw(&question, out);
                }
                let error = answer.err().unwrap_or("null");
                out.client(message::error_event(&call.id, error));
            }
        }
    }

    /// Sends a request again, as a new one.
    fn repeat(&mut self, call: Call, params: &str, out: &mut Outbox) {
        let id = self.next_id();
        match message::with(&call.frame, &[("id", id.as_json()), ("params", params)]) {
            Ok(frame) => {
                self.calls.insert(id, call);
                out.server(frame);
            }
            Err(error) => out.client(message::to_event(&call.id, Err(error))),
        }
    }

    /// Takes the server's answer to a request.
    fn answered(&mut self, id: &RequestId, frame: Frame, out: &mut Outbox) {
        if self.listen_stream.is_about(id) {
            let error = frame.envelope().ok().and_then(|envelope| envelope.error);
            let ending = match error {
                Some(error) => Ending::Refused(error.get().to_owned()),
                None => Ending::Broken,
            };
            self.listen_stream.ended(id, ending, out);
            return;
        }
        let Some(call) = self.calls.remove(id) else {
            // An answer that comes too late is dropped, unless the server has rewritten its id.
            if !id.as_json().starts_with("\"keyway:") {
                out.client(Event::Frame(frame));
            }
            return;
        };
        let result = frame.envelope().ok().and_then(|envelope| envelope.result);
        match kind(result.map(Raw::get)).as_deref() {
            None | Some("complete") => out.client(message::under(&call.id, frame)),
            Some("input_required") => {
                let result = result.map_or("{}", Raw::get).to_owned();
                self.ask(call, &result, out);
            }
            Some(_) => out.client(message::protocol_error(
                &call.id,
                "a result of unknown type",
            )),
        }
    }

    fn ask(&mut self, call: Call, result: &str, out: &mut Outbox) {
        let id = call.id.clone();
        let began = self.input_requests.begin(call, result, &self.client, out);
        if let Err(what) = began {
            out.client(message::protocol_error(&id, what));
        }
    }

    fn notified(&mut self, method: &str, frame: Frame, out: &mut Outbox) {
        let params = message::params_of(&frame).and_then(RawObject::read);
        match method {
            "notifications/subscriptions/acknowledged" => {
                let meta = params.as_ref().and_then(|params| params.object("_meta"));
                let id = meta.and_then(|meta| message::read_id(meta.get(SUBSCRIPTION_ID)?));
                if let Some(id) = id {
                    self.listen_stream.acknowledged(&id, out);
                }
            }
            "notifications/cancelled" => {
                let id = params.and_then(|params| message::read_id(params.get("requestId")?));
                match id.filter(|id| self.listen_stream.is_about(id)) {
                    Some(id) => self.listen_stream.ended(&id, Ending::Broken, out),
                    None => out.client(Event::Frame(frame)),
                }
            }
            _ => out.client(Event::Frame(frame)),
        }
    }

    fn next_id(&mut self) -> RequestId {
        self.last_id += 1;
        message::own_id("", self.last_id)
    }
}

impl EraAdapter for LegacyClient {
    fn client_message(&mut self, message_kind: Message, frame: Frame, out: &mut Outbox) {
        match message_kind {
            Message::Request(method, id) => self.request(&method, id, &frame, out),
            Message::Note(method) => self.note(&method, frame, out),
            Message::Answer(_) | Message::Nothing => self.answer(frame, out),
        }
    }

    fn server_message(&mut self, message_kind: Message, frame: Frame, out: &mut Outbox) {
        match message_kind {
            Message::Answer(id) => self.answered(&id, frame, out),
            Message::Note(method) => self.notified(&method, frame, out),
            Message::Request(..) | Message::Nothing => out.client(Event::Frame(frame)),
        }
    }

    fn failed(&mut self, id: RequestId, error: TransportError, out: &mut Outbox) {
        if self.listen_stream.is_about(&id) {
            let ending = match error.is_transient() {
                true => Ending::Broken,
                false => Ending::Refused(message::own_error(error.code(), &error.to_string())),
            };
            self.listen_stream.ended(&id, ending, out);
            return;
        }
        let id = self.calls.remove(&id).map_or(id, |call| call.id);
        out.client(Event::Failed { id, error });
    }

    fn closed(&mut self, reason: Option<TransportError>, out: &mut Outbox) {
        self.listen_stream.stop();
        for id in self.input_requests.stop() {
            let error = TransportError::Closed;
            out.client(Event::Failed { id, error });
        }
        out.client(Event::Closed(reason));
    }

    fn deadline(&self) -> Option<Instant> {
        let (stream, call) = (
            self.listen_stream.deadline(),
            self.input_requests.deadline(),
        );
        stream.into_iter().chain(call).min()
    }

    fn overdue(&mut self, out: &mut Outbox) {
        if self.listen_stream.is_due(out.now()) {
            self.listen(out);
        }
        for (call, params) in self.input_requests.due(out.now()) {
            self.repeat(call, &params, out);
        }
    }

    fn upstream(&self, id: &RequestId) -> Option<RequestId> {
        if self.calls.get(id).is_some_and(|call| call.id == *id) {
            return Some(id.clone());
        }
        let found = self.calls.iter().find(|(_, call)| call.id == *id);
        found.map(|(upstream, _)| upstream.clone())
    }
}

/// Returns of which type a result says that it is.
fn kind(result: Option<&str>) -> Option<String> {
    // Most results are long, and many say nothing of the kind: look before parsing.
    let result = result.filter(|result| result.contains("resultType"))?;
    RawObject::read(result)?.text("resultType")
}

fn withdraw(question: &RequestId, out: &mut Outbox) {
    if let Ok(frame) = message::cancelled(question) {
        out.client(Event::Frame(frame));
    }
}

#[cfg(test)]
mod tests;
