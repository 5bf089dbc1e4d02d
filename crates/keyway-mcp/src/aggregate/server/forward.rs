//! Requests of the client passed on to one server, and what a server must be told when it opens.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::time::sleep;

use super::Server;
use super::connecting::backoff;
use super::signing_in::SignInOutcome;
use crate::aggregate::client::progress_token;
use crate::aggregate::list_kind::ListKind;
use crate::aggregate::result_text::ResultText;
use crate::explain::{SourcePlace, with_hint};
use crate::jsonrpc::{self, LOCAL_ERROR};
use crate::session::{Era, Forward, Progress, RpcError, Session, SessionError};
use crate::splice::{member, with_member};
use crate::states::ServerProblem;
use crate::timeouts::{NO_TIMEOUT, REQUEST_TIMEOUT};

impl Server {
    /// Passes a request on; `params` is an object, names already as the server knows them.
    pub(in crate::aggregate) async fn forward(
        self: &Arc<Self>,
        method: &str,
        params: &str,
    ) -> Result<ResultText, RpcError> {
        match self.forward_once(method, params).await {
            Err(ForwardError::Server(problem)) if self.can_sign_in(&problem) => {
                match self.wait_for_sign_in(method, params).await? {
                    SignInOutcome::Pending(result) => return Ok(result.into()),
                    SignInOutcome::SignedIn => {}
                }
            }
            Err(failed) => return Err(self.to_rpc_error(failed)),
            Ok(result) => return Ok(result),
        }
        let again = self.forward_once(method, params).await;
        again.map_err(|failed| self.to_rpc_error(failed))
    }

    async fn forward_once(
        self: &Arc<Self>,
        method: &str,
        params: &str,
    ) -> Result<ResultText, ForwardError> {
        let session = self.session().await.map_err(ForwardError::Server)?;
        let with_level = self.with_level(&session, params);
        let request = Forward {
            method,
            params: with_level.as_deref().unwrap_or(params),
            timeout: self.timeout,
            progress: progress_token(params).map(|token| self.progress(token)),
        };
        // Written once, by the session, before the result is returned; a lock only because a
        // reference to it crosses threads.
        let of = Mutex::default();
        let result = session.forward_of(request, Some(&of)).await;
        self.record_result(result.as_ref().err());
        match result {
            Ok(result) => Ok(ResultText {
                json: String::from(Box::<str>::from(result)),
                of: of.into_inner().unwrap_or_else(PoisonError::into_inner),
            }),
            Err(SessionError::Rpc(error)) => Err(ForwardError::Answered(error)),
            Err(error) => Err(ForwardError::Server(self.problem_of(&error))),
        }
    }

    fn to_rpc_error(&self, failed: ForwardError) -> RpcError {
        match failed {
            ForwardError::Answered(error) => error,
            ForwardError::Server(problem) => self.refusal(&problem),
        }
    }

    /// Tells the server something, if it is there.
    pub(in crate::aggregate) async fn notify(&self, method: &str, params: Option<&str>) {
        if let Some(session) = self.live() {
            // What is gone needs no telling.
            let _gone = session.notify(method, params).await;
        }
    }

    /// Returns what is wrong as the answer to a request.
    pub(in crate::aggregate) fn refusal(&self, problem: &ServerProblem) -> RpcError {
        let hint = problem.hint.as_deref().map(|hint| self.hint(hint));
        let message = with_hint(&problem.message, hint.as_deref());
        let message = about(&self.name, message);
        let data = json!({
            "server": self.name,
            "state": problem.state.state.as_str(),
            "reason": problem.state.reason.map(|reason| reason.as_str()),
            "code": problem.code.as_str(),
            "hint": hint,
            "source": problem.source.as_deref().map(SourcePlace::to_json),
            "fixable_by": problem.code.fixer().as_str(),
        });
        RpcError {
            data: serde_json::value::to_raw_value(&data).ok(),
            ..RpcError::new(LOCAL_ERROR, message)
        }
    }

    /// Says what a new session has to know: the log level and the subscriptions.
    pub(in crate::aggregate) fn opened(self: &Arc<Self>, session: &Arc<Session>) {
        if is_modern(session) {
            self.listen(session);
            return;
        }
        let (server, session) = (Arc::clone(self), Arc::clone(session));
        drop(tokio::spawn(async move {
            server.send_level(&session).await;
            let uris = server.lock().subscriptions.clone();
            for uri in uris {
                let params = json!({ "uri": uri }).to_string();
                let request = plain("resources/subscribe", &params);
                let _unheeded = session.forward(request).await;
            }
        }));
    }

    /// Passes the log level on, where a server takes one for all requests.
    pub(in crate::aggregate) async fn send_level(&self, session: &Session) {
        let level = self.client.level();
        if let Some(level) = level.filter(|_| session.facts().offers("logging")) {
            let params = format!(r#"{{"level":{level}}}"#);
            // Logging is a courtesy; a server that refuses still works.
            let _unheeded = session.forward(plain("logging/setLevel", &params)).await;
        }
    }

    /// Subscribes to a resource, or ends that.
    pub(in crate::aggregate) async fn subscribe(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        uri: &str,
    ) -> Result<ResultText, RpcError> {
        let session = self.session().await.map_err(|why| self.refusal(&why))?;
        let is_wanted = method == "resources/subscribe";
        let answer = if is_modern(&session) {
            "{}".into()
        } else {
            self.forward(method, params).await?
        };
        let changed = if is_wanted {
            self.lock().subscriptions.insert(uri.to_owned())
        } else {
            self.lock().subscriptions.remove(uri)
        };
        if changed && is_modern(&session) {
            self.listen(&session);
        }
        Ok(answer)
    }

    /// Asks a modern server for its notifications, again whenever what we want changes.
    fn listen(self: &Arc<Self>, session: &Arc<Session>) {
        let Some(params) = self.wanted(session) else {
            self.lock().stop_listening();
            return;
        };
        let session = Arc::clone(session);
        let mut inner = self.lock();
        inner.stop_listening();
        if inner.is_over() {
            return;
        }
        // The task keeps the session, so `end` must find it: it begins under the lock.
        let task = tokio::spawn(async move {
            for tries in 1..=MAX_LISTENS {
                let request = plain("subscriptions/listen", &params);
                let is_refused = session.forward(request).await.is_err();
                if is_refused || session.is_closed() {
                    return;
                }
                sleep(backoff(tries)).await;
            }
        });
        inner.listener = Some(task.abort_handle());
    }

    fn wanted(&self, session: &Session) -> Option<String> {
        let capabilities = &session.facts().capabilities;
        let mut wanted = serde_json::Map::new();
        for (kind, filter) in LISTENED {
            let offered = capabilities.get(kind.capability());
            let may_change = offered.and_then(|offered| offered.get("listChanged"));
            if may_change == Some(&json!(true)) {
                wanted.insert((*filter).to_owned(), json!(true));
            }
        }
        let uris = self.lock().subscriptions.clone();
        if !uris.is_empty() {
            wanted.insert("resourceSubscriptions".to_owned(), json!(uris));
        }
        let is_empty = wanted.is_empty();
        (!is_empty).then(|| json!({ "notifications": wanted }).to_string())
    }

    /// Puts the log level where a modern server looks for it: into each request.
    fn with_level(&self, session: &Session, params: &str) -> Option<String> {
        let level = self.client.level().filter(|_| is_modern(session))?;
        let meta = member(params, "_meta").unwrap_or("{}");
        with_member(params, "_meta", &with_member(meta, LOG_LEVEL, &level)?)
    }

    /// Gives progress to the client under its own token.
    fn progress(&self, token: String) -> Progress {
        let client = Arc::clone(&self.client);
        Arc::new(move |frame| {
            let params = frame.envelope().ok().and_then(|envelope| envelope.params);
            let params = params.and_then(|p| with_member(p.get(), "progressToken", &token));
            if let Some(params) = params {
                let text = jsonrpc::notification("notifications/progress", Some(&params));
                client.outbox.try_notify(text);
            }
        })
    }
}

/// Why a request has no result.
enum ForwardError {
    /// The server said so.
    Answered(RpcError),
    /// The server could not be asked.
    Server(ServerProblem),
}

fn is_modern(session: &Session) -> bool {
    matches!(session.facts().era, Era::Modern { .. })
}

fn plain<'a>(method: &'a str, params: &'a str) -> Forward<'a> {
    let is_endless = method == "subscriptions/listen";
    Forward {
        method,
        params,
        timeout: if is_endless {
            NO_TIMEOUT
        } else {
            REQUEST_TIMEOUT
        },
        progress: None,
    }
}

/// What to ask a modern server for, where it has it.
const LISTENED: &[(ListKind, &str)] = &[
    (ListKind::Tools, "toolsListChanged"),
    (ListKind::Prompts, "promptsListChanged"),
    (ListKind::Resources, "resourcesListChanged"),
];

/// How often a server may end the stream of its notifications.
const MAX_LISTENS: u32 = 5;

const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Names the server in front of a message, unless the message begins with it.
fn about(name: &str, message: String) -> String {
    let named = format!("`{name}`");
    let text = message.strip_prefix("server ").unwrap_or(&message);
    match text.starts_with(&named) {
        true => message,
        false => format!("server {named}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_named_once_in_a_message() {
        for (message, expected) in [
            ("sign-in required", "server `s`: sign-in required"),
            ("server `s` failed", "server `s` failed"),
            ("`s` is not approved", "`s` is not approved"),
            ("server `other` failed", "server `s`: server `other` failed"),
        ] {
            assert_eq!(about("s", message.to_owned()), expected);
        }
    }
}
