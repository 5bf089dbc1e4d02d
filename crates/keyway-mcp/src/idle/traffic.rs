//! What is under way between a client and a program, and what the program would forget.

use std::collections::HashSet;
use std::time::Duration;

use keyway_transport::{Envelope, Event, Frame, Raw, RequestId};
use tokio::time::Instant;

use crate::splice::member;

/// What was seen of a connection.
#[derive(Debug)]
pub(super) struct Traffic {
    pub(super) used_at: Instant,
    /// Requests of the client that have no answer.
    asked: HashSet<RequestId>,
    /// Requests of the program that have no answer.
    asked_back: HashSet<RequestId>,
    pub(super) handshake: Handshake,
    /// Whether the program may know something that `initialize` does not tell it.
    has_state: bool,
    pub(super) is_closed: bool,
}

/// How a client began.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake {
    pub(super) initialize: Option<(Frame, RequestId)>,
    answer: Option<Frame>,
    pub(super) initialized: Option<Frame>,
}

impl Handshake {
    /// Says whether the program can be started again as if it were the same.
    const fn is_over(&self) -> bool {
        self.initialize.is_none() || (self.answer.is_some() && self.initialized.is_some())
    }

    /// Compares what a client may build on: the version and the capabilities.
    pub(super) fn is_answered_as_before(&self, answer: &Frame) -> bool {
        let before = self.answer.as_ref().and_then(agreed);
        before.is_some() && before == agreed(answer)
    }
}

/// Returns the version and the capabilities in an answer to `initialize`.
fn agreed(answer: &Frame) -> Option<[Option<serde_json::Value>; 2]> {
    let envelope = answer.envelope().ok()?;
    let result = envelope.result?.get();
    let part = |key| serde_json::from_str(member(result, key)?).ok();
    Some(["protocolVersion", "capabilities"].map(part))
}

/// What an event of the program comes to.
#[derive(Debug)]
pub(super) enum Noted {
    Nothing,
    Answer(RequestId, Option<Frame>),
    Question(RequestId),
    Unasked,
    Closed,
}

impl Traffic {
    pub(super) fn new() -> Self {
        Self {
            used_at: Instant::now(),
            asked: HashSet::new(),
            asked_back: HashSet::new(),
            handshake: Handshake::default(),
            has_state: false,
            is_closed: false,
        }
    }

    /// Notes a message of the client, before it is sent; returns its id if it is a request.
    pub(super) fn client_sent(&mut self, frame: &Frame) -> Option<RequestId> {
        self.used_at = Instant::now();
        let envelope = frame.envelope().ok()?;
        match (envelope.method.as_deref(), envelope.id()) {
            (Some(method), Some(id)) => {
                if method == "initialize" {
                    self.handshake.initialize = Some((frame.detached(), id.clone()));
                    self.has_state |= frame.bytes().len() > MAX_INITIALIZE_BYTES;
                }
                self.has_state |= leaves_state(method, &envelope);
                self.asked.insert(id.clone());
                Some(id)
            }
            (Some("notifications/initialized"), None) => {
                self.handshake.initialized = Some(frame.detached());
                None
            }
            (Some("notifications/cancelled"), None) => {
                let params = envelope.params.map(Raw::get);
                let id = params.and_then(|params| member(params, "requestId"));
                // It need not be answered any more.
                self.asked.retain(|asked| Some(asked.as_json()) != id);
                None
            }
            (None, Some(id)) => {
                self.asked_back.remove(&id);
                None
            }
            _ => None,
        }
    }

    /// Takes notice that a request gets no answer.
    pub(super) fn settled(&mut self, id: &RequestId) {
        self.asked.remove(id);
    }

    /// Reads an event of the program.
    pub(super) fn note(&self, event: &Event) -> Noted {
        match event {
            Event::Frame(frame) => self.note_frame(frame),
            Event::Failed { id, .. } => Noted::Answer(id.clone(), None),
            Event::Closed(_) => Noted::Closed,
            _ => Noted::Nothing,
        }
    }

    fn note_frame(&self, frame: &Frame) -> Noted {
        let Ok(envelope) = frame.envelope() else {
            return Noted::Nothing;
        };
        match (envelope.method.as_deref(), envelope.id()) {
            (Some(_), Some(id)) => Noted::Question(id),
            (None, Some(id)) => {
                let handshake = self.handshake.initialize.as_ref();
                let is_handshake = handshake.is_some_and(|(_, asked)| *asked == id);
                Noted::Answer(id, is_handshake.then(|| frame.detached()))
            }
            // A line for a log is not a word about what it does.
            (Some(method), None) if method != "notifications/message" && self.asked.is_empty() => {
                Noted::Unasked
            }
            _ => Noted::Nothing,
        }
    }

    /// Notes an event of the program that its client has.
    pub(super) fn server_sent(&mut self, noted: Noted) {
        match noted {
            Noted::Answer(id, answer) => {
                self.asked.remove(&id);
                if answer.is_some() {
                    self.handshake.answer = answer;
                }
                self.used_at = Instant::now();
            }
            Noted::Question(id) => {
                self.asked_back.insert(id);
            }
            Noted::Unasked => self.has_state = true,
            Noted::Closed => self.is_closed = true,
            Noted::Nothing => {}
        }
    }

    /// Returns when a program that is asked nothing more may end; `None` if it never may.
    pub(super) fn due(&self, idle_timeout: Duration) -> Option<Instant> {
        if self.has_state || self.is_closed {
            return None;
        }
        let is_idle =
            self.asked.is_empty() && self.asked_back.is_empty() && self.handshake.is_over();
        let from = if is_idle {
            self.used_at
        } else {
            Instant::now()
        };
        Some(from + idle_timeout)
    }
}

/// Says whether a request leaves something behind that a new program would not know.
fn leaves_state(method: &str, envelope: &Envelope<'_>) -> bool {
    let has_task = || {
        let params = envelope.params.map(Raw::get);
        params.is_some_and(|params| member(params, "task").is_some())
    };
    matches!(method, "resources/subscribe" | "logging/setLevel")
        || method.starts_with("tasks/")
        || has_task()
}

/// A longer one is not kept for a second time.
const MAX_INITIALIZE_BYTES: usize = 64 * 1024;
