//! How a server is connected to: one attempt for all that wait, tries after a loss, and later ones.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use keyway_code::Code;
use keyway_transport::TransportError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::handler::ServerHandler;
use super::{Attempt, Inner, Outcome, Server};
use crate::session::{ClientInfo, Session};
use crate::states::{ServerProblem, ServerState};
use crate::timeouts::{MAX_RETRY_DELAY, MAX_SILENT_RETRY_DELAY, RETRY_DELAY};

impl Server {
    /// Begins an attempt, in a task that goes on although no request waits for it any more.
    pub(super) fn start(self: &Arc<Self>) -> Attempt {
        let (sender, outcome) = watch::channel(None);
        let server = Arc::clone(self);
        let task = tokio::spawn(async move {
            let found = server.connect_with_retries().await;
            let settled = server.settle(found);
            sender.send_replace(Some(settled));
        });
        Attempt {
            outcome,
            task: task.abort_handle(),
        }
    }

    /// Connects; a server that was there before is given several tries.
    async fn connect_with_retries(self: &Arc<Self>) -> Outcome {
        let (mut tries, was_connected) = {
            let inner = self.lock();
            (inner.tries % MAX_TRIES, inner.connected_at.is_some())
        };
        loop {
            if tries > 0 {
                sleep(backoff(tries)).await;
            }
            tries += 1;
            self.lock().tries = tries;
            match self.connect().await {
                // A server that says when to retry is not asked before.
                Err(problem)
                    if was_connected
                        && problem.is_transient
                        && problem.wait.is_none()
                        && tries < MAX_TRIES => {}
                outcome => return outcome,
            }
        }
    }

    async fn connect(self: &Arc<Self>) -> Outcome {
        let limit = self.connector.connect_timeout();
        let opened = timeout(limit, self.connector.connect()).await;
        let seconds = limit.as_secs();
        let late = |_| ServerProblem::from(&TransportError::Timeout { seconds });
        let opened = opened.map_err(late)??;
        let ClientInfo { name, version } = &self.settings.info;
        let info = ClientInfo {
            name: name.clone(),
            version: version.clone(),
        };
        let handler = Arc::new(ServerHandler::new(self));
        let offer = (opened.offer, opened.start_limit);
        let session = Session::open_within(opened.connection, info, handler, offer).await;
        session
            .map(Arc::new)
            .map_err(|error| self.explained_session(&error))
    }

    /// Takes notice of what an attempt came to, and returns what those who wait for it are told.
    fn settle(self: &Arc<Self>, outcome: Outcome) -> Outcome {
        let mut inner = self.lock();
        inner.attempt = None;
        if inner.is_over {
            // `end` has not seen this session, which therefore ends here, by being dropped.
            return Err(ServerProblem::from(&TransportError::Closed));
        }
        match &outcome {
            Ok(session) => {
                inner.session = Some(Arc::clone(session));
                inner.connected_at = Some(Instant::now());
                inner.problem = None;
                inner.quiet_until = None;
                inner.retries = 0;
                drop(inner);
                self.changed(ServerState::CONNECTED, None);
                self.opened(session);
                if session.is_closed() {
                    self.connection_lost(&TransportError::Closed);
                }
            }
            Err(problem) => {
                inner.tries = 0;
                inner.connected_at = None;
                inner.problem = Some(problem.clone());
                let wait = problem
                    .wait
                    .unwrap_or_default()
                    .clamp(RETRY_DELAY, MAX_RETRY_DELAY);
                inner.quiet_until = Some(Instant::now() + wait);
                if problem.is_transient || problem.code == Code::UnresolvedVariable {
                    self.retry_later(&mut inner, wait);
                }
                drop(inner);
                self.changed(problem.state, Some(problem));
                if self.can_sign_in(problem) {
                    self.watch_for_sign_in();
                }
            }
        }
        outcome
    }

    /// Connects again after a while: a client that saw a failed server lists again only when it is
    /// told to. Ends with the server, which it does not keep alive.
    fn retry_later(self: &Arc<Self>, inner: &mut Inner, wait: Duration) {
        if inner.is_over {
            return;
        }
        let doubled = RETRY_DELAY * 2_u32.saturating_pow(inner.retries);
        let delay = wait.max(doubled.min(MAX_SILENT_RETRY_DELAY));
        inner.retries = (inner.retries + 1).min(MAX_DOUBLINGS);
        let server = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            sleep(delay).await;
            if let Some(server) = server.upgrade() {
                // Taken out first: the next failure puts another in its place.
                server.lock().retry = None;
                let _told = server.session().await;
            }
        });
        if let Some(before) = inner.retry.replace(task.abort_handle()) {
            before.abort();
        }
    }
}

/// Returns a time between half and all of one second, doubled with each try.
pub(super) fn backoff(tries: u32) -> Duration {
    let full = 1000_u64 << tries.min(8).saturating_sub(1);
    let random = RandomState::new().build_hasher().finish();
    Duration::from_millis(full / 2 + random % (full / 2 + 1))
}

/// So often the time before the next try doubles.
const MAX_DOUBLINGS: u32 = 8;
/// How often to reconnect to a server that went away (contract §8).
pub(super) const MAX_TRIES: u32 = 5;
