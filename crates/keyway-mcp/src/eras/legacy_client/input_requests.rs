//! Questions inside a result, put to the client one by one until the request can be repeated.

use std::collections::HashMap;

use keyway_transport::{Event, Frame, RequestId};
use tokio::time::Instant;

use super::super::adapter::Outbox;
use super::super::names::MAX_PENDING;
use super::super::{capability, message};
use super::Call;
use super::facts::Client;
use crate::splice::{RawObject, quoted};
use crate::timeouts::INPUT_RETRY_DELAY;

/// The requests that wait for answers of the client.
#[derive(Debug, Default)]
pub(super) struct InputRequests {
    open: HashMap<RequestId, InputRequest>,
    /// Which request a question belongs to, by the client's id of it.
    questions: HashMap<RequestId, RequestId>,
    last_id: u64,
}

#[derive(Debug)]
struct InputRequest {
    call: Call,
    questions: Vec<Question>,
    /// As JSON, exactly as it came.
    state: Option<String>,
    /// When to repeat a request that was sent back without a question.
    repeat_at: Option<Instant>,
}

#[derive(Debug)]
struct Question {
    id: RequestId,
    key: String,
    answer: Option<String>,
}

/// What an answer leads to.
#[derive(Debug)]
pub(super) enum Next {
    /// It does not answer a question of ours.
    Unknown,
    /// Other answers are missing.
    Wait,
    /// The request can be repeated with these parameters.
    Repeat(Call, String),
    /// The client cannot answer; these other questions are void.
    GiveUp(Call, Vec<RequestId>),
}

impl InputRequests {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Puts the questions of a result to the client.
    ///
    /// Returns what is wrong if that is not possible; the request is forgotten then.
    pub(super) fn begin(
        &mut self,
        mut call: Call,
        result: &str,
        client: &Client,
        out: &mut Outbox,
    ) -> Result<(), &'static str> {
        let result = RawObject::read(result).ok_or(MALFORMED)?;
        let asked = match result.get("inputRequests") {
            Some(asked) => RawObject::read(asked).ok_or(MALFORMED)?,
            None => RawObject::default(),
        };
        if call.rounds >= MAX_ROUNDS {
            return Err("it asks for more input again and again");
        }
        let (questions, frames) = self.write(&asked, client)?;
        if self.questions.len() + questions.len() > MAX_PENDING {
            return Err("it asks too much at once");
        }
        let pause = INPUT_RETRY_DELAY.saturating_mul(call.rounds);
        let repeat_at = questions.is_empty().then(|| out.now() + pause);
        call.rounds += 1;
        for question in &questions {
            self.questions.insert(question.id.clone(), call.id.clone());
        }
        let state = result.get("requestState").map(str::to_owned);
        let input_request = InputRequest {
            questions,
            state,
            repeat_at,
            call,
        };
        self.open
            .insert(input_request.call.id.clone(), input_request);
        for frame in frames {
            out.client(Event::Frame(frame));
        }
        Ok(())
    }

    /// Takes an answer, as JSON.
    pub(super) fn answered(&mut self, question: &RequestId, answer: Result<&str, &str>) -> Next {
        let Some(call) = self.questions.remove(question) else {
            return Next::Unknown;
        };
        let Ok(answer) = answer else {
            let input_request = self.take(&call);
            return input_request.map_or(Next::Wait, |input_request| {
                let open = input_request
                    .questions
                    .into_iter()
                    .filter(|other| other.answer.is_none() && other.id != *question);
                Next::GiveUp(input_request.call, open.map(|other| other.id).collect())
            });
        };
        let Some(input_request) = self.open.get_mut(&call) else {
            return Next::Wait;
        };
        let mut questions = input_request.questions.iter_mut();
        if let Some(asked) = questions.find(|asked| asked.id == *question) {
            asked.answer = Some(answer.to_owned());
        }
        if input_request
            .questions
            .iter()
            .any(|asked| asked.answer.is_none())
        {
            return Next::Wait;
        }
        match self.take(&call) {
            Some(input_request) => {
                let params = input_request.params();
                Next::Repeat(input_request.call, params)
            }
            None => Next::Wait,
        }
    }

    /// Forgets a request of the client; returns the questions that are void now.
    pub(super) fn cancel(&mut self, call: &RequestId) -> Option<Vec<RequestId>> {
        let input_request = self.take(call)?;
        let open = input_request.questions.into_iter();
        let open = open.filter(|question| question.answer.is_none());
        Some(open.map(|question| question.id).collect())
    }

    /// Forgets everything; returns the requests that get no answer.
    pub(super) fn stop(&mut self) -> Vec<RequestId> {
        self.questions.clear();
        self.open.drain().map(|(id, _)| id).collect()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = self.open.values();
        waiting
            .filter_map(|input_request| input_request.repeat_at)
            .min()
    }

    /// Returns the requests to be repeated now, with their parameters.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(Call, String)> {
        let is_due =
            |input_request: &InputRequest| input_request.repeat_at.is_some_and(|time| time <= now);
        let due = self
            .open
            .extract_if(|_, input_request| is_due(input_request));
        due.map(|(_, input_request)| {
            let params = input_request.params();
            (input_request.call, params)
        })
        .collect()
    }

    /// Writes the questions as requests that a legacy client knows.
    fn write(
        &mut self,
        asked: &RawObject<'_>,
        client: &Client,
    ) -> Result<(Vec<Question>, Vec<Frame>), &'static str> {
        let (mut questions, mut frames) = (Vec::new(), Vec::new());
        for (key, question) in asked.iter() {
            let question = RawObject::read(question).ok_or(MALFORMED)?;
            let method = question.text("method").ok_or(MALFORMED)?;
            let params = question.get("params");
            if !capability::can_answer(&client.capabilities, &method, params) {
                return Err("it asks for what the client does not offer");
            }
            self.last_id += 1;
            let id = message::own_id("ask:", self.last_id);
            let params = legacy_params(&id, params);
            frames.push(message::request(&id, &method, &params).map_err(|_| MALFORMED)?);
            questions.push(Question {
                id,
                key: key.into_owned(),
                answer: None,
            });
        }
        Ok((questions, frames))
    }

    fn take(&mut self, call: &RequestId) -> Option<InputRequest> {
        let input_request = self.open.remove(call)?;
        for question in &input_request.questions {
            self.questions.remove(&question.id);
        }
        Some(input_request)
    }
}

impl InputRequest {
    /// Returns the parameters of the request with the answers and the state.
    fn params(&self) -> String {
        let envelope = self.call.frame.envelope().ok();
        let params = envelope.as_ref().and_then(|envelope| envelope.params);
        let params = params.and_then(|params| RawObject::read(params.get()));
        let mut params = params.unwrap_or_default();
        params.remove("inputResponses");
        params.remove("requestState");
        let answers = self.questions.iter().filter_map(|question| {
            let answer = question.answer.as_ref()?;
            Some(format!("{}:{answer}", quoted(&question.key)))
        });
        let answers: Vec<_> = answers.collect();
        if !answers.is_empty() {
            params.set("inputResponses", format!("{{{}}}", answers.join(",")));
        }
        if let Some(state) = &self.state {
            params.set("requestState", state.as_str());
        }
        params.to_string()
    }
}

/// Returns the parameters of a question as a legacy client knows them.
fn legacy_params(id: &RequestId, params: Option<&str>) -> String {
    let params = params.unwrap_or("{}");
    match RawObject::read(params) {
        // 2025-11-25 wants to know what an interaction in a browser is called.
        Some(mut members) if capability::is_by_url(Some(params)) => {
            members.set_default("elicitationId", id.as_json());
            members.to_string()
        }
        _ => params.to_owned(),
    }
}

const MALFORMED: &str = "a malformed `input_required`";

/// How often a request may come back with questions.
const MAX_ROUNDS: u32 = 10;
