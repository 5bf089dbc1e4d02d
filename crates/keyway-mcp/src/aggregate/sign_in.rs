//! Servers that nobody has signed in to: what they show, and how a call gets somebody in.

use std::fmt;
use std::sync::Arc;

use keyway_auth::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep_until};

use super::client::progress_token;
use super::server::Server;
use crate::jsonrpc::{self, LOCAL_ERROR, URL_ELICITATION_REQUIRED};
use crate::session::RpcError;
use crate::states::{Reason, Standing, State, Trouble};
use crate::timeouts::SIGN_IN_PROGRESS_INTERVAL;

/// The way into a server that wants a sign-in.
pub trait SignInPort: Send + Sync + fmt::Debug {
    /// Asks a person, and returns once they are in or will not be.
    fn sign_in(&self) -> BoxFuture<'_, Result<(), Trouble>>;

    /// Returns the page on which the person is being asked.
    fn consent_page(&self) -> Option<String>;

    /// Waits until somebody signed in by another way.
    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()>;

    /// Returns the tools that the server listed when somebody last was signed in.
    fn remembered_tools(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>>;

    /// Remembers the tools for when nobody is.
    fn remember_tools(&self, tools: &[Box<RawValue>]);
}

/// A sign-in under way, for all who wait.
pub(super) type SignInProgress = watch::Receiver<Option<Result<(), Trouble>>>;

/// What a call gets to hear while nobody is in.
pub(super) enum SignInOutcome {
    /// Somebody is in: go on.
    SignedIn,
    /// Nobody is yet: this is the result.
    Pending(String),
}

impl Server {
    /// Says whether a trouble is one that a sign-in mends.
    pub(super) fn can_sign_in(&self, trouble: &Trouble) -> bool {
        trouble.standing.state == State::NeedsAuth && self.sign_in_port().is_some()
    }

    /// Gets somebody in, showing progress; answers with the page before the client loses patience.
    pub(super) async fn wait_for_sign_in(
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
            tokio::select! {
                settled = sign_in.wait_for(Option::is_some) => {
                    let outcome = settled.ok().and_then(|outcome| outcome.clone());
                    return match outcome {
                        Some(Ok(())) => Ok(SignInOutcome::SignedIn),
                        Some(Err(trouble)) => Err(self.refusal(&trouble)),
                        None => Err(self.refusal(&Trouble::connecting())),
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

    /// Starts a sign-in, or joins the one under way; it goes on when nobody waits any more.
    pub(super) fn start_sign_in(self: &Arc<Self>) -> SignInProgress {
        let mut inner = self.lock();
        if let Some(sign_in) = &inner.sign_in {
            return sign_in.clone();
        }
        let (sender, sign_in) = watch::channel(None);
        inner.sign_in = Some(sign_in.clone());
        drop(inner);
        let server = Arc::clone(self);
        drop(tokio::spawn(async move {
            let authorizing = Standing::new(State::NeedsAuth, Reason::Authorizing);
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

    /// Connects anew after somebody came in; the client is told that the lists have changed.
    pub(super) async fn after_sign_in(self: &Arc<Self>) {
        self.clear_failure();
        drop(self.session().await);
    }

    /// Waits for somebody to come in by another way.
    pub(super) fn watch_for_sign_in(self: &Arc<Self>) {
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
                format!("Sign in to `{}`: {command}", self.name)
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
