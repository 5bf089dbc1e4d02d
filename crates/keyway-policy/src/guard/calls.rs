//! One call: decided, asked about, passed on or refused.
//!
//! ```text
//!   call ──tools listed──▶ decided ──allow──────────────────────────▶ passed on
//!                             ├──deny──▶ refused                        ▲
//!                             └──ask──▶ waits for the client's person,  │
//!                                       or the dashboard ──yes──▶ decided again
//!                                          └──no, or 60 seconds──▶ refused
//!
//!   ask, since 2026-07-28 ──▶ parked ──repeated with a yes──▶ decided again, by what was parked
//!                              ▲  └──more──┐
//!                              └───────────┘ the next page of the arguments
//! ```

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use keyway_mcp::jsonrpc::{self, TOOL_DENIED};
use keyway_secret::printable;
use keyway_transport::{Frame, RequestId, TransportError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::Guard;
use super::arguments::ShownArguments;
use super::listing::{self, Tools};
use crate::access::Verdict;
use crate::denial::Denial;
use crate::timeouts::TOOL_QUESTION_TIMEOUT;
use crate::{Policies, ToolDigest, ToolQuestion};

/// A call that its client repeats with the answer of a person.
///
/// It is decided about and sent as the person was asked about it, whatever is repeated.
#[derive(Debug)]
pub(super) struct Parked {
    name: String,
    /// The tool at that time.
    digest: ToolDigest,
    params: String,
    /// Which page of the arguments the person sees.
    page: usize,
    until: Instant,
}

/// What a call says, as far as a decision needs it.
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestState")]
    state: Option<&'a RawValue>,
    #[serde(borrow, rename = "inputResponses")]
    responses: Option<&'a RawValue>,
}

impl Guard {
    /// Takes a call.
    pub(super) async fn call(
        self: &Arc<Self>,
        id: RequestId,
        frame: Frame,
    ) -> Result<(), TransportError> {
        let text = frame.envelope().ok().and_then(|it| it.params);
        let text = text.map_or("{}", |it| it.get());
        // What is written twice is an error here: the server might take the other one.
        let Ok(params) = serde_json::from_str::<Params<'_>>(text) else {
            self.refuse(&id, "", Denial::Unreadable).await;
            return Ok(());
        };
        // Without a task, if the list is at hand and no person is asked.
        let tools = self.tools_at_hand().filter(|_| !self.is_parked(&params));
        if let Some(tools) = tools {
            match self.decide(&tools, &params.name) {
                Ok((Verdict::Allow, _)) => return self.server.send(frame).await,
                Err(denial) => {
                    self.refuse(&id, &params.name, denial).await;
                    return Ok(());
                }
                Ok(_) => {}
            }
        }
        if self.lock().held.len() >= MOST_HELD {
            self.refuse(&id, &params.name, Denial::TooMany).await;
            return Ok(());
        }
        let guard = Arc::clone(self);
        self.hold(id.clone(), async move { guard.settle(id, frame).await });
        Ok(())
    }

    /// Finds out what becomes of a call that waits, and sees to it.
    async fn settle(&self, id: RequestId, frame: Frame) {
        let text = frame.envelope().ok().and_then(|it| it.params);
        let text = text.map_or("{}", |it| it.get());
        let Ok(params) = serde_json::from_str::<Params<'_>>(text) else {
            return;
        };
        let parked = params
            .state
            .and_then(|it| self.lock().parked.remove(it.get()));
        let name = parked.as_ref().map(|it| it.name.clone());
        let name = name.unwrap_or_else(|| params.name.clone().into_owned());
        let decided = match parked {
            Some(parked) => self.repeated(&frame, &params, parked).await,
            None => self.decided(&frame, &params, text).await,
        };
        // From here on the call is ours alone, and a cancellation goes to the server.
        if !self.release(&id) {
            return;
        }
        match decided {
            Ok(Settled::Pass) => self.pass_on(id, frame).await,
            Ok(Settled::Repeated(params)) => {
                let text = jsonrpc::request(&id, "tools/call", Some(&params));
                if let Ok(frame) = Frame::new(text) {
                    self.pass_on(id, frame).await;
                }
            }
            Ok(Settled::InputRequired(result)) => {
                self.to_client(jsonrpc::result(&id, &result)).await;
            }
            Err(denial) => self.refuse(&id, &name, denial).await,
        }
    }

    async fn decided(
        &self,
        frame: &Frame,
        params: &Params<'_>,
        text: &str,
    ) -> Result<Settled, Denial> {
        let meta = frame.envelope().ok().and_then(|it| listing::meta(&it));
        let list = async || self.tools(meta.as_deref()).await.ok_or(Denial::ListFailed);
        let (verdict, digest) = self.decide(&*list().await?, &params.name)?;
        if verdict != Verdict::Ask {
            return Ok(Settled::Pass);
        }
        match params.client_capabilities() {
            Some(capabilities) if asks_form(&capabilities) => {
                return self.park(Parked {
                    name: params.name.clone().into_owned(),
                    digest,
                    params: text.to_owned(),
                    page: 0,
                    until: Instant::now() + TOOL_QUESTION_TIMEOUT,
                });
            }
            Some(_) => self.ask(params, false).await?,
            None => {
                let asks_form = self.lock().asks_form;
                self.ask(params, asks_form).await?;
            }
        }
        // A person was asked about the tool as it was then.
        self.decide_again(&*list().await?, &params.name, digest)?;
        Ok(Settled::Pass)
    }

    /// Decides about a parked call that is repeated with an answer.
    async fn repeated(
        &self,
        frame: &Frame,
        params: &Params<'_>,
        parked: Parked,
    ) -> Result<Settled, Denial> {
        if parked.until <= Instant::now() {
            return Err(Denial::Unanswered);
        }
        let responses: HashMap<String, &RawValue> = params
            .responses
            .and_then(|it| serde_json::from_str(it.get()).ok())
            .unwrap_or_default();
        match Answer::read(responses.get(QUESTION).map(|it| it.get())) {
            Answer::No => return Err(Denial::AnsweredNo),
            Answer::More => {
                return self.park(Parked {
                    page: parked.page.saturating_add(1),
                    until: Instant::now() + TOOL_QUESTION_TIMEOUT,
                    ..parked
                });
            }
            Answer::Yes => {}
        }
        let meta = frame.envelope().ok().and_then(|it| listing::meta(&it));
        let tools = self.tools(meta.as_deref()).await;
        let tools = tools.ok_or(Denial::ListFailed)?;
        // By the name that the person saw: that of the repeated call may have another rule.
        self.decide_again(&tools, &parked.name, parked.digest)?;
        Ok(Settled::Repeated(parked.params))
    }

    /// Says whether a call that a person has allowed may still be made.
    fn decide_again(&self, tools: &Tools, name: &str, asked: ToolDigest) -> Result<(), Denial> {
        match self.decide(tools, name)? {
            (_, now) if now == asked => Ok(()),
            _ => Err(Denial::Changed),
        }
    }

    fn decide(&self, tools: &Tools, name: &str) -> Result<(Verdict, ToolDigest), Denial> {
        let digest = tools.get(name).ok_or(Denial::Unlisted)?;
        let digest = digest.ok_or(Denial::ListedTwice)?;
        match self.access.decide(name, digest) {
            Verdict::Deny(denial) => Err(denial),
            verdict => Ok((verdict, digest)),
        }
    }

    /// Asks on the dashboard, and at the client too if it can; the first answer counts.
    async fn ask(&self, params: &Params<'_>, at_client: bool) -> Result<(), Denial> {
        let policies = &self.access.policies;
        let arguments = ShownArguments::new(params.arguments);
        let asked = policies.questions.ask(|id| ToolQuestion {
            id,
            server: self.access.server.clone(),
            client: self.access.client.clone(),
            tool: params.name.clone().into_owned(),
            arguments: arguments.beginning(),
            argument_chars: arguments.chars(),
            ends_at: (Instant::now() + TOOL_QUESTION_TIMEOUT).into_std(),
        });
        let (question, answer) = asked.ok_or(Denial::TooMany)?;
        policies.tell();
        let _settled = SettleOnDrop { policies, question };
        let elicited = async {
            match at_client {
                true => self.elicit(&params.name, &arguments).await,
                false => std::future::pending().await,
            }
        };
        let answered = timeout(TOOL_QUESTION_TIMEOUT, async {
            // Not biased: both only wait, and dropping one withdraws its question.
            tokio::select! {
                answer = answer => answer.unwrap_or_default(),
                answer = elicited => answer,
            }
        });
        match answered.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Denial::AnsweredNo),
            Err(_) => Err(Denial::Unanswered),
        }
    }

    /// Asks the client's person by forms, until one is not answered with "show more"; anything but
    /// "accept" is a no.
    async fn elicit(&self, tool: &str, arguments: &ShownArguments) -> bool {
        let mut page = 0;
        loop {
            let form = self.form(tool, arguments, page).to_string();
            match self.elicited(&form).await {
                Answer::More if arguments.has_more(page) => page += 1,
                Answer::More | Answer::No => return false,
                Answer::Yes => return true,
            }
        }
    }

    async fn elicited(&self, form: &str) -> Answer {
        let Some((id, own)) = self.own_request() else {
            return std::future::pending().await;
        };
        let text = jsonrpc::request(&id, "elicitation/create", Some(form));
        self.to_client(text).await;
        let mut withdrawal = Withdrawal {
            guard: self,
            id: Some(id),
        };
        let mut own = own;
        let answer = (&mut own.answer).await;
        withdrawal.id = None;
        let answer = answer.ok();
        let result = answer.as_ref().and_then(|it| it.envelope().ok()?.result);
        Answer::read(result.as_ref().map(|it| it.get()))
    }

    /// Keeps a call until its client repeats it with an answer, and returns the question.
    fn park(&self, parked: Parked) -> Result<Settled, Denial> {
        let params: Params<'_> =
            serde_json::from_str(&parked.params).map_err(|_| Denial::Unreadable)?;
        let arguments = ShownArguments::new(params.arguments);
        if parked.page > 0 && !arguments.has_more(parked.page - 1) {
            // More was not offered.
            return Err(Denial::AnsweredNo);
        }
        let form = self.form(&parked.name, &arguments, parked.page);
        let (id, _) = self.own_request().ok_or(Denial::TooMany)?;
        let now = Instant::now();
        let mut state = self.lock();
        state.parked.retain(|_, parked| parked.until > now);
        let bytes: usize = state.parked.values().map(|it| it.params.len()).sum();
        let all_bytes = bytes.saturating_add(parked.params.len());
        if state.parked.len() >= MOST_HELD || all_bytes > MOST_PARKED_BYTES {
            return Err(Denial::TooMany);
        }
        state.parked.insert(id.as_json().to_owned(), parked);
        drop(state);
        let request = json!({ "method": "elicitation/create", "params": form });
        // The id is a JSON string that cannot be guessed.
        Ok(Settled::InputRequired(format!(
            r#"{{"resultType":"input_required","inputRequests":{{"{QUESTION}":{request}}},"requestState":{}}}"#,
            id.as_json()
        )))
    }

    /// Says whether a call is one that was parked; a state may also be the server's own.
    fn is_parked(&self, params: &Params<'_>) -> bool {
        let state = params.state.map(RawValue::get);
        state.is_some_and(|state| self.lock().parked.contains_key(state))
    }

    /// The form that a client shows: yes or no, and where there is more to see, whether to show that
    /// first.
    fn form(&self, tool: &str, arguments: &ShownArguments, page: usize) -> Value {
        let server = printable(&self.access.server);
        let tool: String = printable(tool).chars().take(MOST_CHARS).collect();
        let message = format!(
            "A policy of Keyway asks you before this call. Allow tool `{tool}` of `{server}`?\n{}",
            arguments.page(page)
        );
        let mut fields = json!({});
        if arguments.has_more(page) {
            fields = json!({ MORE: {
                "type": "boolean",
                "title": "Show more of the arguments first",
                "description": "Asks again with the characters that follow; the call is not made yet.",
                "default": false,
            } });
        }
        let schema = json!({ "type": "object", "properties": fields });
        json!({ "message": message, "requestedSchema": schema })
    }

    async fn refuse(&self, id: &RequestId, tool: &str, denial: Denial) {
        let message = self.access.refusal(tool, denial);
        let error = json!({
            "code": TOOL_DENIED,
            "message": message,
            "data": { "reason": denial.as_str(), "fixable_by": "user" },
        });
        let text = jsonrpc::error(Some(id), &error.to_string());
        self.to_client(text).await;
    }
}

/// What becomes of a call.
enum Settled {
    /// It goes to the server as it is.
    Pass,
    /// It goes to the server as it was when a person was asked about it.
    Repeated(String),
    /// The client gets this result, asks, and repeats the call.
    InputRequired(String),
}

impl Params<'_> {
    /// Returns what a client can do, if it says so with every request (since 2026-07-28).
    fn client_capabilities(&self) -> Option<Value> {
        let mut meta: HashMap<String, Value> = serde_json::from_str(self.meta?.get()).ok()?;
        meta.remove("io.modelcontextprotocol/clientCapabilities")
    }
}

/// Says whether capabilities of a client include forms for its person.
pub(super) fn asks_form(capabilities: &Value) -> bool {
    let elicitation = capabilities.get("elicitation").and_then(Value::as_object);
    // Before 2025-11-25 there was nothing but forms, and no word for them.
    elicitation.is_some_and(|it| it.is_empty() || it.contains_key("form"))
}

/// How a person answered a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// To be asked again, with the next page of the arguments.
    More,
}

impl Answer {
    /// Reads the result of an elicitation; what cannot be read, or says something twice, is a no.
    fn read(result: Option<&str>) -> Self {
        #[derive(Deserialize)]
        struct Elicited<'a> {
            #[serde(borrow)]
            action: Cow<'a, str>,
            content: Option<Content>,
        }
        #[derive(Clone, Copy, Deserialize)]
        struct Content {
            #[serde(rename = "show_more", default)]
            more: Option<bool>,
        }
        let elicited: Option<Elicited<'_>> = result.and_then(|it| serde_json::from_str(it).ok());
        match elicited.filter(|it| it.action == "accept") {
            None => Self::No,
            Some(it) if it.content.is_some_and(|it| it.more == Some(true)) => Self::More,
            Some(_) => Self::Yes,
        }
    }
}

/// Takes a question off the dashboard when it is settled, or its call is cancelled.
struct SettleOnDrop<'a> {
    policies: &'a Policies,
    question: u64,
}

impl Drop for SettleOnDrop<'_> {
    fn drop(&mut self) {
        self.policies.questions.settle(self.question);
        self.policies.tell();
    }
}

/// Withdraws a form that was not answered.
struct Withdrawal<'a> {
    guard: &'a Guard,
    id: Option<RequestId>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take()
            && let Ok(frame) = Frame::new(jsonrpc::cancelled(&id))
        {
            // Lost if the client does not read; the form is then answered to no effect.
            let _full = self
                .guard
                .client
                .try_send(keyway_transport::Event::Frame(frame));
        }
    }
}

/// The name of our question among those of a call.
const QUESTION: &str = "keyway";
/// The field of a form by which a person asks to see more.
const MORE: &str = "show_more";
const MOST_HELD: usize = 256;
const MOST_PARKED_BYTES: usize = 16 * 1024 * 1024;
const MOST_CHARS: usize = 500;
