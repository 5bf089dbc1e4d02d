//! Questions of the server: which call carries one to the client, and how the answer comes back.

use keyway_transport::RequestId;

use super::super::adapter::Outbox;
use super::super::capability::can_answer;
use super::super::message;
use super::ModernClient;
use super::calls::{Call, Outcome};
use super::facts::RequestMeta;
use super::results;
use crate::jsonrpc;

impl ModernClient {
    /// Takes a request of the server.
    pub(super) fn asked(
        &mut self,
        method: &str,
        id: RequestId,
        params: Option<&str>,
        out: &mut Outbox,
    ) {
        if method == "ping" {
            out.note(message::result(&id, "{}"));
            return;
        }
        let upstream = self.calls.carrier(method, params);
        let carrier = upstream.and_then(|upstream| Some((self.calls.take(&upstream)?, upstream)));
        let Some((mut call, upstream)) = carrier else {
            let what = "no call of the client can carry this";
            let error = jsonrpc::error_object(jsonrpc::METHOD_NOT_FOUND, what);
            out.note(message::error(&id, &error));
            return;
        };
        let question = self.calls.question(Some(id), method, params);
        call.questions.push(question);
        if call.client.is_some() {
            self.calls.park(upstream, call, out);
        } else {
            // The client gets it when it comes back with other answers.
            self.calls.put_back(upstream, call);
        }
    }

    /// Continues a parked call with the answers of the client.
    pub(super) fn resume(
        &mut self,
        method: &str,
        id: RequestId,
        params: Option<&str>,
        out: &mut Outbox,
    ) {
        let state = RequestMeta::of(params).state;
        let upstream = state.and_then(|state| self.calls.parked_as(&state, method));
        let parked = upstream.and_then(|upstream| Some((self.calls.take(&upstream)?, upstream)));
        let Some((mut call, upstream)) = parked else {
            let what = "`requestState` is unknown or has expired";
            let error = jsonrpc::error_object(jsonrpc::INVALID_PARAMS, what);
            out.client(message::error_event(&id, &error));
            return;
        };
        call.resume(id.clone(), params, out);
        if let Some(outcome) = call.outcome.take() {
            out.client(call.end(&id, outcome));
        } else if !call.questions.is_empty() {
            self.calls.park(upstream, call, out);
        } else if call.is_to_repeat {
            self.repeat(call, id, out);
        } else {
            self.set_level(&call.meta_of_request, out);
            self.calls.put_back(upstream, call);
        }
    }

    /// Takes the end of a call, which may be that it has to start again.
    pub(super) fn finish(&mut self, upstream: &RequestId, outcome: Outcome, out: &mut Outbox) {
        let Some(mut call) = self.calls.take(upstream) else {
            return;
        };
        let Some(client) = call.client.clone() else {
            call.questions.clear();
            call.outcome = Some(outcome);
            self.calls.put_back(upstream.clone(), call);
            return;
        };
        let urls = match &outcome {
            Outcome::Frame(frame) => results::required_urls(frame),
            Outcome::Failed(_) => None,
        };
        let can_open = |params: &String| {
            can_answer(
                &call.meta_of_request.capabilities,
                ELICITATION,
                Some(params.as_str()),
            )
        };
        match urls.filter(|urls| urls.iter().all(can_open)) {
            // A client without a person answers each round by itself, and would show none of them:
            // asked once, the text is what is left.
            Some(_) if call.has_asked_for_visits => {
                if let Outcome::Frame(frame) = &outcome {
                    let told = results::unvisited(&call.method, &client, frame);
                    out.client(message::to_event(&client, told));
                }
            }
            Some(urls) => {
                for params in urls {
                    let question = self.calls.question(None, ELICITATION, Some(&params));
                    call.questions.push(question);
                }
                call.is_to_repeat = true;
                call.has_asked_for_visits = true;
                self.calls.park(upstream.clone(), call, out);
            }
            None => out.client(call.end(&client, outcome)),
        }
    }

    /// Sends a call again, as a new one.
    fn repeat(&mut self, call: Call, client: RequestId, out: &mut Outbox) {
        let upstream = self.next_id();
        match message::with(&call.frame, &[("id", upstream.as_json())]) {
            Ok(frame) => {
                let mut call = call;
                call.is_to_repeat = false;
                self.calls.begin(upstream, call);
                out.server(frame);
            }
            Err(error) => out.client(message::to_event(&client, Err(error))),
        }
    }
}

const ELICITATION: &str = "elicitation/create";
