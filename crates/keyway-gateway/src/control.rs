//! The control API: what a host in another language asks of the gateway, as JSON over HTTP.
//!
//! It is served on the private Unix socket only, to processes of the same user, whom the kernel
//! names; on a TCP port every path of it is refused. A caller learns states, codes and names and
//! never a credential. It may begin a sign-in, which a person completes in a browser. Approving an
//! entry needs more than the same user: the token of a host that a person allowed on a terminal, and
//! the digest of exactly what was shown.

mod answers;
mod event_stream;
mod openapi;
mod operations;
mod policies;
mod server_object;

use std::sync::Arc;

use http::StatusCode;
use http::header::AUTHORIZATION;
use keyway::approval::Answer;
use keyway::diagnosis::Diagnosis;
use keyway::events::Events;
use keyway_policy::Policies;
use keyway_transport::{Inbound, Peer, Reply};
use serde::Deserialize;
use tokio::sync::{Semaphore, watch};

pub use self::openapi::document as openapi;
use self::operations::{Action, NoOperation, Operation};
use self::server_object::{ServerList, ServerObject};
use keyway_dashboard::{DashboardBackend, ServerId, ServerView};
use keyway_policy::{TokenHash, TokenReader};

/// The control API of one gateway.
pub struct Control {
    backend: Arc<dyn DashboardBackend>,
    events: Events,
    hosts: TokenReader,
    policies: Option<Arc<Policies>>,
    streams: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Control")
    }
}

impl Control {
    /// Speaks for `backend`, tells `events`, and lets the hosts that `hosts` reads approve entries.
    #[must_use]
    pub fn new(backend: Arc<dyn DashboardBackend>, events: Events, hosts: TokenReader) -> Self {
        Self {
            backend,
            events,
            hosts,
            policies: None,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            stopping: watch::Sender::new(false),
        }
    }

    /// Lets rules for tools be read, and set by hosts that may approve entries.
    #[must_use]
    pub fn with_policies(mut self, policies: Arc<Policies>) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Says whether a path belongs to the control API.
    #[must_use]
    pub fn is_own(path: &str) -> bool {
        operations::is_own(path)
    }

    /// Ends the streams that would never end.
    pub fn stop_streams(&self) {
        self.stopping.send_replace(true);
    }

    /// Answers a request; refuses one that did not come over the private socket.
    ///
    /// Cancel safety: an action that was begun may have taken effect; a sign-in continues.
    pub async fn answer(&self, mut request: Inbound) -> Reply {
        if request.peer != Peer::SameUser {
            return answers::problem(StatusCode::FORBIDDEN, SOCKET_ONLY);
        }
        let operation = match operations::find(&request.method, request.uri.path()) {
            Ok(operation) => operation,
            Err(NoOperation::Unknown) => {
                return answers::problem(StatusCode::NOT_FOUND, "no such path");
            }
            Err(NoOperation::Method { allowed }) => return answers::wrong_method(allowed),
        };
        match operation {
            Operation::ListServers => self.list().await,
            Operation::Server(id) => match self.find(&id).await {
                Some(view) => answers::json(StatusCode::OK, &ServerObject::of(&view)),
                None => answers::unknown_server(),
            },
            Operation::Policies(id) => self.list_policies(&id).await,
            Operation::Act(id, Action::Approve) => self.approve(&mut request, &id).await,
            Operation::Act(id, Action::SetPolicy) => self.set_policy(&mut request, &id).await,
            Operation::Act(id, action) => self.act(&id, action).await,
            Operation::Events => self.event_stream(),
            Operation::OpenApi => answers::json(StatusCode::OK, &openapi()),
        }
    }

    async fn list(&self) -> Reply {
        let servers = self.backend.servers().await;
        answers::json(StatusCode::OK, &ServerList::of(&servers))
    }

    /// Finds a server by `PLUGIN:SERVER`; `None` if there is none, or two are written alike.
    async fn find(&self, id: &str) -> Option<ServerView> {
        let servers = self.backend.servers().await.into_iter();
        let mut named = servers.filter(|view| view.diagnosis.id() == id);
        let found = named.next()?;
        named.next().is_none().then_some(found)
    }

    /// Does what needs nothing but the same user.
    async fn act(&self, id: &str, action: Action) -> Reply {
        let Some(view) = self.find(id).await else {
            return answers::unknown_server();
        };
        let done = match action {
            Action::Check => self.backend.check(&view.id).await.map(|()| None),
            Action::SignIn => self.backend.sign_in(&view.id).await,
            Action::CancelSignIn => {
                self.backend.cancel(&view.id);
                Ok(None)
            }
            Action::SignOut => self.backend.sign_out(&view.id).await.map(Some),
            // They are told apart before: they need a body and a token.
            Action::Approve | Action::SetPolicy => {
                return answers::problem(StatusCode::BAD_REQUEST, NO_DIGEST);
            }
        };
        self.done(&view.id, done).await
    }

    async fn approve(&self, request: &mut Inbound, id: &str) -> Reply {
        if !self.is_from_allowed_host(request).await {
            return answers::host_not_allowed();
        }
        let Ok(body) = request.body().await else {
            return answers::problem(StatusCode::BAD_REQUEST, "the body could not be read");
        };
        let Ok(ApproveRequest { digest, confined }) = serde_json::from_slice(&body) else {
            return answers::problem(StatusCode::BAD_REQUEST, NO_DIGEST);
        };
        let answer = if confined {
            Answer::Confined
        } else {
            Answer::Yes
        };
        let Some(view) = self.find(id).await else {
            return answers::unknown_server();
        };
        let approved = self.backend.approve(&view.id, &digest, answer).await;
        self.done(&view.id, approved.map(|()| None)).await
    }

    /// Says whether a request shows the token of a host that a person allowed. Where the vault
    /// cannot be read, none is.
    async fn is_from_allowed_host(&self, request: &Inbound) -> bool {
        let mut shown = request.headers.get_all(AUTHORIZATION).iter();
        let Some(value) = shown.next().filter(|_| shown.next().is_none()) else {
            return false;
        };
        let token = value.to_str().ok().and_then(|value| value.split_once(' '));
        let Some((_, token)) = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        else {
            return false;
        };
        let hash = TokenHash::of(token.trim());
        let hosts = Arc::clone(&self.hosts);
        // It reads the vault.
        let known = tokio::task::spawn_blocking(move || hosts()).await;
        let known = known.ok().and_then(Result::ok).unwrap_or_default();
        known.iter().any(|host| host.hash() == hash)
    }

    /// Answers with the server as it is after something was done to it.
    async fn done(&self, id: &ServerId, done: Result<Option<String>, Box<Diagnosis>>) -> Reply {
        match done {
            Err(problem) => answers::server_problem(&problem),
            Ok(note) => {
                let Some(view) = self.backend.server(id).await else {
                    return answers::unknown_server();
                };
                let object = ServerObject::of(&view).with_note(note);
                answers::json(StatusCode::OK, &object)
            }
        }
    }

    fn event_stream(&self) -> Reply {
        let Ok(permit) = Arc::clone(&self.streams).try_acquire_owned() else {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return answers::problem(status, "too many event streams are open");
        };
        event_stream::open(self.events.subscribe(), self.stopping.subscribe(), permit)
    }
}

#[derive(Deserialize)]
struct ApproveRequest {
    digest: String,
    /// With its programs confined.
    #[serde(default)]
    confined: bool,
}

/// How many hosts may read events at once.
const MAX_STREAMS: usize = 32;
const SOCKET_ONLY: &str = "the control API is served on the private socket only";
const NO_DIGEST: &str =
    "the body must be a JSON object with `digest`, as the server's `approval` has it";
