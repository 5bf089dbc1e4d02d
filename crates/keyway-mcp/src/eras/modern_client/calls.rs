//! The requests that a legacy server works on, and those of them that are parked.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use keyway_transport::{Event, Frame, RequestId, TransportError};
use tokio::time::Instant;

use super::super::adapter::Outbox;
use super::super::capability::can_answer;
use super::super::message;
use super::facts::RequestMeta;
use super::results;
use crate::jsonrpc;
use crate::splice::{RawObject, quoted};
use crate::timeouts::PARKED_CALL_TIMEOUT;

/// The requests under way, by the id that the server knows.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: HashMap<RequestId, Call>,
    /// Counts what gets a name: calls, questions, states.
    count: u64,
    /// Two keyed hashes with keys from the system: a state made from them cannot be guessed.
    secrets: [RandomState; 2],
}

/// One request.
#[derive(Debug)]
pub(super) struct Call {
    /// `None` while it is parked.
    pub(super) client: Option<RequestId>,
    pub(super) method: String,
    pub(super) meta_of_request: RequestMeta,
    /// As the server got it.
    pub(super) frame: Frame,
    /// What the server wants to know.
    pub(super) questions: Vec<Question>,
    /// Whether to send it again when the questions are answered.
    pub(super) is_to_repeat: bool,
    /// Whether the client was asked to open pages for it.
    pub(super) has_asked_for_visits: bool,
    /// How it ended while it was parked.
    pub(super) outcome: Option<Outcome>,
    /// As the server knows it.
    progress_token: Option<String>,
    parked: Option<Parked>,
    number: u64,
}

#[derive(Debug)]
struct Parked {
    state: String,
    until: Instant,
}

/// A question of the server.
#[derive(Debug)]
pub(super) struct Question {
    /// The server's id of it; `None` if it wants no answer.
    pub(super) id: Option<RequestId>,
    pub(super) key: String,
    pub(super) method: String,
    /// As written.
    pub(super) params: Option<String>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Frame(Frame),
    Failed(TransportError),
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn knows(&self, upstream: &RequestId) -> bool {
        self.all.contains_key(upstream)
    }

    pub(super) fn begin(&mut self, upstream: RequestId, mut call: Call) {
        self.count += 1;
        call.number = self.count;
        self.all.insert(upstream, call);
    }

    pub(super) fn take(&mut self, upstream: &RequestId) -> Option<Call> {
        self.all.remove(upstream)
    }

    /// Keeps a call that was taken.
    pub(super) fn put_back(&mut self, upstream: RequestId, call: Call) {
        self.all.insert(upstream, call);
    }

    /// Returns under which id the server knows a request of the client.
    pub(super) fn upstream(&self, client: &RequestId) -> Option<RequestId> {
        let mut calls = self.all.iter();
        let found = calls.find(|(_, call)| call.client.as_ref() == Some(client));
        found.map(|(upstream, _)| upstream.clone())
    }

    /// Returns the call that a retry continues.
    pub(super) fn parked_as(&self, state: &str, method: &str) -> Option<RequestId> {
        let fits = |call: &Call| {
            let parked = call.parked.as_ref();
            parked.is_some_and(|parked| parked.state == state) && call.method == method
        };
        let found = self.all.iter().find(|(_, call)| fits(call));
        found.map(|(upstream, _)| upstream.clone())
    }

    /// Returns the call that can best carry a question: the latest that the client waits for, or
    /// else the latest that is parked.
    pub(super) fn carrier(&self, method: &str, params: Option<&str>) -> Option<RequestId> {
        let can_carry = |call: &Call| {
            CARRIERS.contains(&call.method.as_str())
                && !call.is_over()
                && call.questions.len() < MAX_QUESTIONS
                && can_answer(&call.meta_of_request.capabilities, method, params)
        };
        let able = self.all.iter().filter(|(_, call)| can_carry(call));
        let best = able.max_by_key(|(_, call)| (call.client.is_some(), call.number));
        best.map(|(upstream, _)| upstream.clone())
    }

    /// Parks a call: the client gets its questions and a state to come back with.
    pub(super) fn park(&mut self, upstream: RequestId, mut call: Call, out: &mut Outbox) {
        self.count += 1;
        let [first, second] = &self.secrets;
        let (first, second) = (first.hash_one(self.count), second.hash_one(self.count));
        let state = format!("{first:016x}{second:016x}");
        if let Some(client) = call.client.take() {
            let result = message::result(&client, &call.input_required(&state));
            out.client(message::to_event(&client, result));
        }
        let until = out.now() + PARKED_CALL_TIMEOUT;
        call.parked = Some(Parked { state, until });
        self.all.insert(upstream, call);
    }

    /// Makes a question of it.
    pub(super) fn question(
        &mut self,
        id: Option<RequestId>,
        method: &str,
        params: Option<&str>,
    ) -> Question {
        self.count += 1;
        Question {
            id,
            key: format!("q{}", self.count),
            method: method.to_owned(),
            params: params.map(str::to_owned),
        }
    }

    /// Forgets a question that the server takes back.
    pub(super) fn withdraw(&mut self, question: &RequestId) {
        for call in self.all.values_mut() {
            call.questions
                .retain(|asked| asked.id.as_ref() != Some(question));
        }
    }

    /// Returns a notification of progress as the client knows the call; `None` if it waits for none.
    pub(super) fn progress(&self, frame: Frame) -> Option<Frame> {
        let params = message::params_of(&frame).and_then(RawObject::read);
        let token = params
            .as_ref()
            .and_then(|params| params.get("progressToken"));
        let mut calls = self.all.values();
        let call = calls.find(|call| token.is_some() && call.progress_token.as_deref() == token);
        let (Some(call), Some(mut params)) = (call, params) else {
            return Some(frame);
        };
        call.client.as_ref()?;
        let known = call.meta_of_request.progress_token.as_deref()?;
        if call.progress_token.as_deref() == Some(known) {
            return Some(frame);
        }
        params.set("progressToken", known.to_owned());
        message::with(&frame, &[("params", &params.to_string())]).ok()
    }

    /// Says whether a waiting request wants to see the log.
    pub(super) fn is_log_wanted(&self) -> bool {
        let mut waiting = self.all.values().filter(|call| call.client.is_some());
        waiting.any(|call| call.meta_of_request.level.is_some())
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let parked = self.all.values().filter_map(|call| call.parked.as_ref());
        parked.map(|parked| parked.until).min()
    }

    /// Takes out the calls that the client did not come back for in time.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<(RequestId, Call)> {
        let is_late = |call: &Call| {
            call.parked
                .as_ref()
                .is_some_and(|parked| parked.until <= now)
        };
        self.all.extract_if(|_, call| is_late(call)).collect()
    }

    /// Ends what is parked, as the server has gone away; the transport ends the others.
    pub(super) fn stop(&mut self) {
        for call in self.all.values_mut().filter(|call| call.parked.is_some()) {
            call.questions.clear();
            let gone = || Outcome::Failed(TransportError::Closed);
            call.outcome.get_or_insert_with(gone);
        }
    }
}

impl Call {
    pub(super) fn new(
        method: &str,
        client: RequestId,
        meta_of_request: RequestMeta,
        frame: Frame,
    ) -> Self {
        Self {
            client: Some(client),
            method: method.to_owned(),
            progress_token: meta_of_request.progress_token.clone(),
            meta_of_request,
            frame,
            questions: Vec::new(),
            is_to_repeat: false,
            has_asked_for_visits: false,
            outcome: None,
            parked: None,
            number: 0,
        }
    }

    /// Says whether the server has nothing more to do with it.
    pub(super) const fn is_over(&self) -> bool {
        self.outcome.is_some() || self.is_to_repeat
    }

    /// Goes on under another id of the client, and gives the server the answers that came with it.
    pub(super) fn resume(&mut self, client: RequestId, params: Option<&str>, out: &mut Outbox) {
        self.client = Some(client);
        self.meta_of_request = RequestMeta::of(params);
        self.parked = None;
        let params = params.and_then(RawObject::read).unwrap_or_default();
        let answers = params.object("inputResponses").unwrap_or_default();
        self.questions.retain(|question| {
            let answer = answers.get(&question.key);
            if let (Some(answer), Some(id)) = (answer, &question.id) {
                out.note(message::result(id, answer));
            }
            answer.is_none()
        });
    }

    /// Tells the server that its questions will not be answered.
    pub(super) fn decline(&self, out: &mut Outbox) {
        let error = jsonrpc::error_object(DECLINED, "the client did not answer");
        for id in self
            .questions
            .iter()
            .filter_map(|question| question.id.as_ref())
        {
            out.note(message::error(id, &error));
        }
    }

    /// Tells the client how it ended.
    pub(super) fn end(&self, client: &RequestId, outcome: Outcome) -> Event {
        match outcome {
            Outcome::Frame(frame) => {
                message::to_event(client, results::modern(&self.method, client, &frame))
            }
            Outcome::Failed(error) => Event::Failed {
                id: client.clone(),
                error,
            },
        }
    }

    fn input_required(&self, state: &str) -> String {
        let mut requests = RawObject::default();
        for question in &self.questions {
            let mut request = RawObject::default();
            request.set("method", quoted(&question.method));
            if let Some(params) = &question.params {
                request.set("params", params.as_str());
            }
            requests.set(&question.key, request.to_string());
        }
        let mut result = RawObject::default();
        result.set("resultType", quoted("input_required"));
        result.set("inputRequests", requests.to_string());
        result.set("requestState", quoted(state));
        result.to_string()
    }
}

/// The requests that may be answered with questions (2026-07-28, "Supported Requests").
const CARRIERS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// How many questions one call may carry.
const MAX_QUESTIONS: usize = 64;

/// As the legacy specification has it for a person who says no to sampling.
const DECLINED: i64 = -1;
