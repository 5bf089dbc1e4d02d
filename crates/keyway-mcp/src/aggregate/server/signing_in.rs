//! Signing in to a server: one sign-in for all calls that wait, and their answer meanwhile.

use std::sync::Arc;

use keyway_auth::ports::DeviceQuestion;
use keyway_code::Code;
use keyway_secret::printable;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep_until};

use super::Server;
use crate::aggregate::client::progress_token;
use crate::aggregate::sign_in::SignInProgress;
use crate::jsonrpc::{self, LOCAL_ERROR, URL_ELICITATION_REQUIRED};
use crate::session::RpcError;
use crate::states::{Reason, ServerProblem, ServerState, State};
use crate::timeouts::SIGN_IN_PROGRESS_INTERVAL;

/// What a call that waits for a sign-in ends with.
pub(in crate::aggregate) enum SignInOutcome {
    /// A person signed in: continue.
    SignedIn,
    /// Not yet: this is the result.
    Pending(String),
}

impl Server {
    /// Says whether a problem is one that a sign-in fixes.
    pub(in crate::aggregate) fn can_sign_in(&self, problem: &ServerProblem) -> bool {
        problem.state.state == State::NeedsAuth && self.sign_in_port().is_some()
    }

    /// Waits for a sign-in, showing progress; answers with the page before the client times out.
    pub(in crate::aggregate) async fn wait_for_sign_in(
        self: &Arc<Self>,
        method: &str,
        params: &str,
    ) -> Result<SignInOutcome, RpcError> {
        let mut sign_in = self.start_sign_in();
        let token = progress_token(params);
        let late = sleep_until(Instant::now() + self.settings.sign_in_wait);
        tokio::pin!(late);
        let mut tick = interval(SIGN_IN_PROGRESS_INTERVAL);
        let mut steps = 0_u32;
        loop {
            // Any of the four may be dropped and polled again without loss: a watch channel keeps
            // its last value, a code stays where it is, the deadline is pinned outside, and a tick
            // that is late comes at once. In this order, so that a code which has just been typed
            // is not shown any more.
            tokio::select! {
                biased;
                settled = sign_in.wait_for(Option::is_some) => {
                    let outcome = settled.ok().and_then(|outcome| outcome.clone());
                    return match outcome {
                        Some(Ok(())) => Ok(SignInOutcome::SignedIn),
                        // No person could be asked here: the client shows the result of a call
                        // to one who can.
                        Some(Err(problem)) if is_unattended(&problem) => {
                            self.pending_result(method)
                        }
                        Some(Err(problem)) => Err(self.refusal(&problem)),
                        None => Err(self.refusal(&ServerProblem::connecting())),
                    };
                }
                // The person sees it only in the answer, which therefore does not wait.
                code = self.device_code() => return self.code_result(method, &code),
                () = &mut late => return self.pending_result(method),
                _ = tick.tick() => {
                    steps += 1;
                    if let Some(token) = &token {
                        self.report_waiting(token, steps);
                    }
                }
            }
        }
    }

    /// Starts a sign-in, or joins the one under way; it continues when no call waits any more.
    pub(in crate::aggregate) fn start_sign_in(self: &Arc<Self>) -> SignInProgress {
        let mut inner = self.lock();
        if let Some(sign_in) = &inner.sign_in {
            return sign_in.clone();
        }
        let (sender, sign_in) = watch::channel(None);
        inner.sign_in = Some(sign_in.clone());
        drop(inner);
        let server = Arc::clone(self);
        drop(tokio::spawn(async move {
            let authorizing = ServerState::new(State::NeedsAuth, Reason::Authorizing);
            server
                .settings
                .observer
                .changed(&server.name, authorizing, None);
            let outcome = match server.sign_in_port() {
                Some(sign_in_port) => sign_in_port.sign_in().await,
                None => Ok(()),
            };
            let is_in = outcome.is_ok();
            server.end_sign_in(is_in);
            sender.send_replace(Some(outcome));
            if is_in {
                server.after_sign_in().await;
            }
        }));
        sign_in
    }

    /// Notes that no person is asked any more. Under one lock: a call that finds no sign-in under way
    /// connects, and begins no other one.
    fn end_sign_in(&self, is_in: bool) {
        let mut inner = self.lock();
        if is_in {
            inner.problem = None;
            inner.quiet_until = None;
        }
        inner.sign_in = None;
    }

    /// Says whether a person is being asked.
    pub(in crate::aggregate) fn is_signing_in(&self) -> bool {
        self.lock().sign_in.is_some()
    }

    /// Connects again after a sign-in; the client is told that the lists have changed.
    pub(in crate::aggregate) async fn after_sign_in(self: &Arc<Self>) {
        self.clear_failure();
        drop(self.session().await);
        self.complete_elicitation();
    }

    /// Tells a client that was given a page to open that it may repeat its call (2025-11-25,
    /// elicitation in URL mode).
    fn complete_elicitation(&self) {
        if std::mem::take(&mut self.lock().has_elicited) {
            let params = json!({ "elicitationId": elicitation_id(&self.name) }).to_string();
            let method = "notifications/elicitation/complete";
            let text = jsonrpc::notification(method, Some(&params));
            self.client.outbox.try_notify(text);
        }
    }

    /// Waits for a sign-in by another way.
    pub(in crate::aggregate) fn watch_for_sign_in(self: &Arc<Self>) {
        if self.sign_in_port().is_none() {
            return;
        }
        let server = Arc::clone(self);
        let task = tokio::spawn(async move {
            if let Some(sign_in_port) = server.sign_in_port() {
                sign_in_port.signed_in_elsewhere().await;
            }
            server.after_sign_in().await;
        });
        let before = self.lock().watcher.replace(task.abort_handle());
        if let Some(before) = before {
            before.abort();
        }
    }

    fn pending_result(&self, method: &str) -> Result<SignInOutcome, RpcError> {
        let port = self.sign_in_port();
        let page = port.and_then(|port| port.consent_page());
        let request = port.and_then(|port| port.request());
        let message = match (&page, request) {
            (Some(page), Some(request)) => format!("{request}: {page}"),
            (Some(page), None) => format!(
                "Sign in to `{}` on this page, then call again: {page}",
                self.name
            ),
            (None, _) => {
                let command = self.hint("keyway login SERVER");
                format!(
                    "Not signed in to `{}`. Run this command, then call again: {command}",
                    self.name
                )
            }
        };
        self.told(method, page, message)
    }

    /// Answers with a code to type elsewhere; the sign-in continues meanwhile.
    fn code_result(
        &self,
        method: &str,
        question: &DeviceQuestion,
    ) -> Result<SignInOutcome, RpcError> {
        let (name, page, code) = (&self.name, &question.page, printable(&question.code));
        let mut message = format!(
            "Not signed in to `{name}`. Ask the user to open {page} on any device and to enter the code {code}, then call again."
        );
        if let Some(complete) = &question.complete {
            message.push_str(&format!(" This page has the code filled in: {complete}"));
        }
        let page = question.complete.as_ref().unwrap_or(page);
        self.told(method, Some(page.to_string()), message)
    }

    /// Waits for a code that only the client can show; forever, where there is none.
    async fn device_code(&self) -> DeviceQuestion {
        match self.sign_in_port() {
            Some(sign_in_port) => sign_in_port.device_code().await,
            None => std::future::pending().await,
        }
    }

    /// Tells the client what its person has to do: as a page to open where it opens pages, and
    /// otherwise as text that it shows.
    fn told(
        &self,
        method: &str,
        page: Option<String>,
        message: String,
    ) -> Result<SignInOutcome, RpcError> {
        if let Some(page) = page.filter(|_| self.client.opens_pages()) {
            self.lock().has_elicited = true;
            return Err(elicitation_required(&self.name, &page, &message));
        }
        if method == "tools/call" {
            let result = json!({
                "content": [{ "type": "text", "text": message }],
                "isError": true,
            });
            return Ok(SignInOutcome::Pending(result.to_string()));
        }
        Err(RpcError::new(LOCAL_ERROR, message))
    }

    fn report_waiting(&self, token: &str, steps: u32) {
        let message = format!(
            "waiting for you to sign in to `{}` in the browser",
            self.name
        );
        let params = json!({ "progress": steps, "message": message });
        let params = params.to_string();
        if let Some(params) = crate::splice::with_member(&params, "progressToken", token) {
            let text = jsonrpc::notification("notifications/progress", Some(&params));
            self.client.outbox.try_notify(text);
        }
    }
}

/// Says whether a sign-in failed because no person could be asked here, and for nothing else: a
/// server that refuses every token is not helped by a command.
const fn is_unattended(problem: &ServerProblem) -> bool {
    matches!(problem.code, Code::SignInRequired)
}

fn elicitation_id(server: &str) -> String {
    format!("sign-in-{server}")
}

/// 2025-11-25, elicitation in URL mode: the client opens the page itself.
fn elicitation_required(server: &str, page: &str, message: &str) -> RpcError {
    let data = json!({
        "elicitations": [{
            "mode": "url",
            "elicitationId": elicitation_id(server),
            "url": page,
            "message": message,
        }],
    });
    RpcError {
        data: serde_json::value::to_raw_value(&data).ok(),
        ..RpcError::new(URL_ELICITATION_REQUIRED, message)
    }
}
