//! The stages that need the network, from the name of the host to a list of tools.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyway_auth::AuthError;
use keyway_code::{Code, Exit, ServerState, Stage};
use keyway_config::declared::Transport;
use keyway_config::environment::Origin;
use keyway_config::method::Method;
use keyway_config::resolve::SpecEndpoint;
use keyway_mcp::explain::{explain_auth, naming};
use keyway_mcp::session::{DEFAULT_TIMEOUT, SessionError};
use keyway_transport::TransportError;
use tokio::time::timeout;

use super::REPORT;
use super::listing::{Listing, list_anything};
use super::offline::candidates;
use crate::diagnosis::{
    Diagnosis, Evidence, Finding, Speaks, callback_port, refine, refine_session,
};
use crate::host::{Approved, ChildLines, Error, Plan, Plugin};
use crate::timeouts::{EXPLANATION_TIMEOUT, SERVER_EXAMINATION_TIMEOUT};

/// Examines one server to its first fault; `None` if there is no such server.
///
/// Cancel safety: dropping the future drops the connection.
///
/// # Errors
///
/// Returns [`Error::Load`] if the env file cannot be read.
pub async fn examine(plugin: &Plugin, server: &str) -> Result<Option<Diagnosis>, Error> {
    let mut found = candidates(plugin)?.into_iter();
    let Some(candidate) = found.find(|candidate| candidate.diagnosis.server == server) else {
        return Ok(None);
    };
    let Some(ready) = candidate.ready else {
        return Ok(Some(candidate.diagnosis));
    };
    let check = OnlineCheck::new(*ready, candidate.diagnosis);
    Ok(Some(check.run().await))
}

/// One server that is ready to be connected to, and what is needed to examine it.
///
/// ```text
/// health ──▶ connect ──▶ list ──▶ works
///   └───────────┴──────────┴──▶ fault ──▶ other transports ──▶ dry run of the sign-in
/// ```
pub struct OnlineCheck {
    ready: Approved<Plan>,
    known: Diagnosis,
    has_browser: bool,
    limit: Duration,
    progress: Option<Progress>,
    /// The stage that was entered last: a check that runs out of time ends there.
    /// Held for a copy.
    stage: Mutex<Stage>,
}

/// Is called with every stage that is entered.
type Progress = Arc<dyn Fn(Stage) + Send + Sync>;

impl fmt::Debug for OnlineCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnlineCheck")
            .field("server", &self.known.server)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl OnlineCheck {
    /// Examines `ready`, of which `known` is known, within 30 seconds; a package runner, which may
    /// fetch its program first, gets 120.
    #[must_use]
    pub fn new(ready: Approved<Plan>, known: Diagnosis) -> Self {
        let limit = match ready.start_limit() {
            longer if longer > DEFAULT_TIMEOUT => longer,
            _ => SERVER_EXAMINATION_TIMEOUT,
        };
        Self {
            ready,
            known,
            has_browser: true,
            limit,
            progress: None,
            stage: Mutex::new(Stage::Trust),
        }
    }

    /// Takes at most so long.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Says whether a page could be opened where the person is.
    #[must_use]
    pub const fn with_browser(mut self, has_browser: bool) -> Self {
        self.has_browser = has_browser;
        self
    }

    /// Calls `progress` with every stage that is entered.
    #[must_use]
    pub fn reporting(mut self, progress: Arc<dyn Fn(Stage) + Send + Sync>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Goes through the stages; however slow the server is, this ends in time. Package runners
    /// start a few at a time, and a wait for that does not count.
    ///
    /// Cancel safety: dropping the future drops the connection.
    pub async fn run(&self) -> Diagnosis {
        let ready = self.ready.in_turn().await;
        let started = Instant::now();
        let skew = AtomicI64::new(UNKNOWN);
        let tail = ChildLines::default();
        let listening = ready.on(&tail.listen(ready.host()));
        let outcome = timeout(self.limit, self.connect(&listening, &skew)).await;
        let left = || self.limit.saturating_sub(started.elapsed());
        let error = match outcome {
            Ok(Ok(found)) => return self.works(found, left()).await,
            Ok(Err(error)) => error,
            Err(_) => self.late(),
        };
        let left = left();
        let speaks = self.other_transport(&error, left).await;
        let skew = Some(skew.into_inner()).filter(|skew| *skew != UNKNOWN);
        let stored = self.stored_variables();
        let evidence = Evidence {
            stored: &stored,
            spec: self.ready.spec(),
            skew,
            speaks: speaks.as_ref(),
        };
        let found = self.of_error(&error, evidence);
        let mut found = self.signed_in(found, left).await;
        if found.code == Some(Code::Timeout) {
            // A program that hangs may have said why.
            found.last_lines = tail.lines().await;
        }
        let hint = found.hint.unwrap_or_else(|| REPORT.to_owned());
        let hint = naming(&hint, Some(self.ready.plugin()), self.ready.server());
        Diagnosis {
            hint: Some(hint),
            ..found
        }
    }

    async fn connect(&self, server: &Approved<Plan>, skew: &AtomicI64) -> Result<Listing, Error> {
        self.enter(Stage::Health);
        if let Ok(checked) = server.health_and_clock().await {
            // `Relaxed`: read by the same task, after the future that stores it was dropped.
            skew.store(checked.skew.unwrap_or(UNKNOWN), Ordering::Relaxed);
        }
        self.enter(Stage::Connect);
        let found = list_anything(server).await?;
        self.enter(Stage::List);
        Ok(found)
    }

    fn enter(&self, stage: Stage) {
        // Not held while the caller's function runs, which may take locks of its own.
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        if let Some(progress) = &self.progress {
            progress(stage);
        }
    }

    async fn works(&self, found: Listing, left: Duration) -> Diagnosis {
        let mut works = self.known.clone();
        works.stage = Stage::List;
        works.state = ServerState::CONNECTED;
        works.offer = Some(found.into_offer());
        works.advice = self.advice(left).await.map(Box::new);
        works
    }

    /// Says whether a server that takes a fixed credential also takes a sign-in.
    async fn advice(&self, left: Duration) -> Option<Finding> {
        if self.ready.method() != Method::Static {
            return None;
        }
        let offered = self.ready.offers_oauth();
        let offered = timeout(left.min(EXPLANATION_TIMEOUT), offered).await;
        matches!(offered, Ok(Ok(()))).then(|| Finding::prefer_oauth(self.ready.server()))
    }

    /// Returns the variables whose values the vault keeps.
    fn stored_variables(&self) -> Vec<String> {
        let variables = self.known.variables.iter();
        let stored = variables.filter(|it| it.origin == Some(Origin::Vault));
        stored.map(|it| it.name.clone()).collect()
    }

    fn late(&self) -> Error {
        let seconds = self.limit.as_secs();
        let error = SessionError::Transport(TransportError::Timeout { seconds });
        Error::talk(self.ready.spec(), error)
    }

    fn of_error(&self, error: &Error, evidence: Evidence<'_>) -> Diagnosis {
        let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let found = error.diagnosis_of(self.known.clone(), stage);
        let refined = match error.session() {
            Some(error) => refine_session(error, evidence),
            None => error.transport().and_then(|error| refine(error, evidence)),
        };
        match refined {
            Some(refined) => {
                let found = Diagnosis { stage, ..found };
                found.with_fault(refined, self.ready.spec())
            }
            None => found,
        }
    }

    /// Tries the other transports where the declared one was not understood.
    async fn other_transport(&self, error: &Error, left: Duration) -> Option<Speaks> {
        let is_misunderstood = match error {
            Error::Talk {
                error: SessionError::Protocol { .. } | SessionError::Rpc(_),
                ..
            } => true,
            error => matches!(
                error.transport(),
                Some(
                    TransportError::Protocol { .. }
                        | TransportError::Status {
                            status: 200 | 400 | 404..=406 | 415 | 426 | 501,
                            ..
                        }
                )
            ),
        };
        let others = match self.ready.spec().transport {
            Transport::Http => [Transport::Sse, Transport::Ws],
            Transport::Sse => [Transport::Http, Transport::Ws],
            Transport::Ws => [Transport::Http, Transport::Sse],
            Transport::Stdio => return None,
        };
        if !is_misunderstood {
            return None;
        }
        let trying = async {
            for other in others {
                let ready = self.ready.with_transport(other);
                if let Ok(session) = ready.connect().await {
                    session.close().await;
                    return Some(Speaks {
                        transport: other,
                        era: session.facts().era.clone(),
                    });
                }
            }
            None
        };
        timeout(left.min(EXPLANATION_TIMEOUT), trying)
            .await
            .ok()
            .flatten()
    }

    /// Where a sign-in is needed: says what would keep it from beginning.
    async fn signed_in(&self, found: Diagnosis, left: Duration) -> Diagnosis {
        if found.code != Some(Code::SignInRequired) {
            return found;
        }
        if let Some(oauth) = self.ready.oauth() {
            self.enter(Stage::Discovery);
            if let Ok(Err(error)) = timeout(left, oauth.dry_run(None)).await {
                return self.of_auth(error);
            }
        }
        let port = match &self.ready.spec().endpoint {
            SpecEndpoint::Remote(remote) => remote.callback_port,
            _ => None,
        };
        if let Some(Err(error)) = port.map(callback_port) {
            return self.of_auth(error);
        }
        if self.has_browser {
            return found;
        }
        // The same code as everywhere; only the way differs.
        Diagnosis {
            message: format!("{}, and no browser can be opened here", found.message),
            hint: found.hint.map(|hint| format!("{hint} --no-browser")),
            ..found
        }
    }

    fn of_auth(&self, error: AuthError) -> Diagnosis {
        let explained = explain_auth(&error);
        let server = self.ready.server().to_owned();
        let error = Error::SignIn { server, error };
        let found = error.diagnosis_of(self.known.clone(), Stage::Token);
        Diagnosis {
            message: explained.message,
            hint: explained.hint,
            exit: match explained.code {
                Code::CallbackPortBusy => Exit::SignInNeeded,
                _ => found.exit,
            },
            http: None,
            ..found
        }
    }
}

/// No server is so far off.
const UNKNOWN: i64 = i64::MIN;
