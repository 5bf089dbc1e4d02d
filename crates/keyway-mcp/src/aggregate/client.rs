//! The client of all servers: what it said of itself, and the questions that it is asked.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use keyway_auth::BoxFuture;
use keyway_transport::{Envelope, RequestId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::outbox::Outbox;
use crate::backpressure::BUDGET_EXHAUSTED;
use crate::jsonrpc::{self, INTERNAL_ERROR, METHOD_NOT_FOUND};
use crate::session::RpcError;
use crate::splice::{member, quoted, with_member};

/// A server that asks the client something.
pub(super) trait Asker: Send + Sync + fmt::Debug {
    fn name(&self) -> &str;

    /// Sends the server a notification about its question.
    fn tell(&self, method: &'static str, params: String) -> BoxFuture<'_, ()>;
}

/// The client as every server's session sees it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) outbox: Arc<Outbox>,
    /// Held for a look or a replacement only, never together with `questions`.
    state: Mutex<ClientState>,
    /// `Relaxed`: ids only have to differ; no other data hangs on their order.
    next_id: AtomicU64,
    /// Never held across an await. The task that removes a question owns its answer: an answer and
    /// a cancellation that race find it once.
    questions: Mutex<HashMap<RequestId, Question>>,
}

/// What the client has said.
#[derive(Debug, Default)]
struct ClientState {
    capabilities: Map<String, Value>,
    level: Option<String>,
}

/// A question that the client has not answered yet.
#[derive(Debug)]
struct Question {
    answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
    asker: Weak<dyn Asker>,
    /// The asker's progress token as it wrote it.
    token: Option<String>,
}

impl Client {
    pub(super) fn new(outbox: Arc<Outbox>) -> Self {
        Self {
            outbox,
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            questions: Mutex::default(),
        }
    }

    /// Remembers what the client can do, as far as it may be asked for it.
    pub(super) fn initialized(&self, capabilities: Map<String, Value>) {
        let known = |name: &String| ASKABLE.iter().any(|(_, needed)| needed == name);
        let capabilities = capabilities.into_iter().filter(|(name, _)| known(name));
        self.state().capabilities = capabilities.collect();
    }

    pub(super) fn capabilities(&self) -> Value {
        Value::Object(self.state().capabilities.clone())
    }

    /// Says whether the client opens pages for its user (2025-11-25, elicitation in URL mode).
    pub(super) fn opens_pages(&self) -> bool {
        let state = self.state();
        let elicitation = state.capabilities.get("elicitation");
        elicitation.is_some_and(|elicitation| elicitation.get("url").is_some())
    }

    /// Remembers from which level on the client wants log messages, as JSON.
    pub(super) fn set_level(&self, level: String) {
        self.state().level = Some(level);
    }

    pub(super) fn level(&self) -> Option<String> {
        self.state().level.clone()
    }

    /// Asks the client on behalf of a server, under an id of ours.
    ///
    /// Dropping the future cancels the question.
    pub(super) async fn ask(
        &self,
        asker: &Arc<dyn Asker>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let needed = ASKABLE.iter().find(|(askable, _)| *askable == method);
        if !needed.is_some_and(|(_, needed)| self.state().capabilities.contains_key(*needed)) {
            let message = format!("the client does not support `{method}`");
            return Err(RpcError::new(METHOD_NOT_FOUND, message));
        }
        let id = RequestId::number(self.next_id.fetch_add(1, Ordering::Relaxed));
        let mut params = params.map(|params| params.get().to_owned());
        let token = params.as_deref().and_then(progress_token);
        if let (Some(written), Some(_)) = (&params, &token) {
            params = with_progress_token(written, id.as_json()).or(params);
        }
        if method == "elicitation/create" {
            params = params.map(|written| signed(&written, asker.name()).unwrap_or(written));
        }
        let (answer, answered) = oneshot::channel();
        let question = Question {
            answer,
            asker: Arc::downgrade(asker),
            token,
        };
        self.questions().insert(id.clone(), question);
        let guard = Asked { client: self, id };
        let text = jsonrpc::request(&guard.id, method, params.as_deref());
        if !self.outbox.send(text).await {
            return Err(RpcError::new(INTERNAL_ERROR, BUDGET_EXHAUSTED));
        }
        answered
            .await
            .unwrap_or_else(|_| Err(RpcError::new(INTERNAL_ERROR, "the client has disconnected")))
    }

    /// Takes an answer of the client.
    pub(super) fn answered(&self, id: &RequestId, envelope: &Envelope<'_>) {
        let Some(question) = self.questions().remove(id) else {
            return;
        };
        let answer = match (envelope.result, envelope.error) {
            (Some(result), None) => result.value().map(ToOwned::to_owned).ok_or(None),
            (_, error) => Err(error.and_then(|error| RpcError::read(error.get()))),
        };
        let nothing = || RpcError::new(INTERNAL_ERROR, "no answer");
        let answer = answer.map_err(|error| error.unwrap_or_else(nothing));
        // The server may have gone away.
        let _gone = question.answer.send(answer);
    }

    /// Passes the client's progress with a question on to the server that asked it.
    pub(super) async fn progressed(&self, params: &str) {
        let asked = {
            let token = member(params, "progressToken").and_then(|token| token.parse().ok());
            let id = RequestId::number(token.unwrap_or_default());
            let questions = self.questions();
            let question = questions.get(&id);
            question.and_then(|question| Some((question.asker.upgrade()?, question.token.clone()?)))
        };
        if let Some((asker, token)) = asked
            && let Some(params) = with_member(params, "progressToken", &token)
        {
            asker.tell("notifications/progress", params).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<RequestId, Question>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a question back when its answer is no longer waited for.
struct Asked<'a> {
    client: &'a Client,
    id: RequestId,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.client.questions().remove(&self.id).is_some() {
            let text = jsonrpc::cancelled(&self.id);
            self.client.outbox.enqueue_coalesced(text);
        }
    }
}

/// Returns the progress token of a request's parameters as written.
pub(super) fn progress_token(params: &str) -> Option<String> {
    let meta = member(params, "_meta")?;
    let token = member(meta, "progressToken")?;
    (token != "null").then(|| token.to_owned())
}

fn with_progress_token(params: &str, token: &str) -> Option<String> {
    let meta = member(params, "_meta")?;
    with_member(params, "_meta", &with_member(meta, "progressToken", token)?)
}

/// Adds the name of the server: a person must see which one asks (2025-11-25, elicitation).
fn signed(params: &str, server: &str) -> Option<String> {
    let message: String = serde_json::from_str(member(params, "message")?).ok()?;
    with_member(params, "message", &quoted(&format!("[{server}] {message}")))
}

/// What a server may ask, and the capability that a client declares for it.
const ASKABLE: &[(&str, &str)] = &[
    ("roots/list", "roots"),
    ("sampling/createMessage", "sampling"),
    ("elicitation/create", "elicitation"),
];
