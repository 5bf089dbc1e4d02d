//! Signing in to a server: one sign-in for all calls that wait, and their answer meanwhile.

use std::sync::Arc;

use keyway_code::Code;
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
    /// Says whether a trouble is one that a sign-in fixes.
    pub(in crate::aggregate) fn can_sign_in(&self, trouble: &ServerProblem) -> bool {
        trouble.standing.state == State::NeedsAuth && self.sign_in_port().is_some()
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
            // Any of the three may be dropped and polled again without loss: a watch channel keeps
            // its last value, the deadline is pinned outside, and a tick that is late comes at once.
            tokio::select! {
                settled = sign_in.wait_for(Option::is_some) => {
                    let outcome = settled.ok().and_then(|outcome| outcome.clone());
                    return match outcome {
                        Some(Ok(())) => Ok(SignInOutcome::SignedIn),
                        // No person could be asked here: the client shows the result of a call
                        // to one who can.
                        Some(Err(trouble)) if is_unattended(&trouble) => {
                            self.pending_result(method)
                        }
                        Some(Err(trouble)) => Err(self.refusal(&trouble)),
                        None => Err(self.refusal(&ServerProblem::connecting())),
                    };
                }
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
            server.lock().sign_in = None;
            sender.send_replace(Some(outcome));
            if is_in {
                server.after_sign_in().await;
            }
        }));
        sign_in
    }

    /// Connects again after a sign-in; the client is told that the lists have changed.
    pub(in crate::aggregate) async fn after_sign_in(self: &Arc<Self>) {
        self.clear_failure();
        drop(self.session().await);
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
        let page = self
            .sign_in_port()
            .and_then(|sign_in_port| sign_in_port.consent_page());
        let message = match &page {
            Some(page) => format!(
                "Sign in to `{}` on this page, then call again: {page}",
                self.name
            ),
            None => {
                let command = self.hint("keyway login SERVER");
                format!(
                    "Not signed in to `{}`. Run this command, then call again: {command}",
                    self.name
                )
            }
        };
        if let Some(page) = page.filter(|_| self.client.opens_pages()) {
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
const fn is_unattended(trouble: &ServerProblem) -> bool {
    matches!(trouble.code, Code::NoBrowser | Code::SignInRequired)
}

/// 2025-11-25, elicitation in URL mode: the client opens the page itself.
fn elicitation_required(server: &str, page: &str, message: &str) -> RpcError {
    let data = json!({
        "elicitations": [{
            "mode": "url",
            "elicitationId": format!("sign-in-{server}"),
            "url": page,
            "message": message,
        }],
    });
    RpcError {
        data: serde_json::value::to_raw_value(&data).ok(),
        ..RpcError::new(URL_ELICITATION_REQUIRED, message)
    }
}
