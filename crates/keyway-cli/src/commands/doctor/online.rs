//! The stages that need the network, from the name of the host to a list of tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use keyway::connect::TransportError;
use keyway::diagnosis::{Evidence, Speaks, callback_port};
use keyway::host::ChildLines;
use keyway::sign_in::AuthError;
use keyway::{Approved, Error, Plan};
use keyway_code::{Code, Exit, Stage};
use keyway_config::declared::Transport;
use keyway_config::method::Method;
use keyway_config::resolve::SpecEndpoint;
use keyway_mcp::explain::{explain_auth, naming};
use keyway_mcp::session::SessionError;
use keyway_mcp::states::Trouble;
use tokio::time::timeout;

use super::board::Board;
use super::fault::{Advice, Fault, Verdict};
use crate::commands::probe::{Listed, listed};
use crate::error::CliError;

/// One server and what is needed to examine it.
pub(super) struct Patient {
    pub(super) ready: Approved<Plan>,
    pub(super) has_browser: bool,
    pub(super) limit: Duration,
    pub(super) board: Arc<Board>,
    pub(super) at: usize,
}

impl Patient {
    /// Goes through the stages; however slow the server is, this ends in time.
    pub(super) async fn examine(&self) -> Verdict {
        let started = Instant::now();
        let skew = AtomicI64::new(UNKNOWN);
        let tail = ChildLines::default();
        let listening = self.ready.on(&tail.listen(self.ready.host()));
        let outcome = timeout(self.limit, self.connect(&listening, &skew)).await;
        let error = match outcome {
            Ok(Ok(found)) => {
                let left = self.limit.saturating_sub(started.elapsed());
                return Verdict::Works {
                    what: found.in_words(),
                    era: found.era().clone(),
                    advice: self.advice(left).await,
                    tools: found.into_tools(),
                };
            }
            Ok(Err(error)) => error,
            Err(_) => self.late(),
        };
        let left = self.limit.saturating_sub(started.elapsed());
        let speaks = self.other_transport(&error, left).await;
        let skew = Some(skew.into_inner()).filter(|skew| *skew != UNKNOWN);
        let evidence = Evidence {
            spec: self.ready.spec(),
            skew,
            speaks: speaks.as_ref(),
        };
        let stage = self.board.stage(self.at);
        let fault = Fault::of_error(&error, stage, Some(evidence));
        let mut fault = self.signed_in(fault, left).await;
        if fault.code == Code::Timeout {
            // A program that hangs may have said why.
            fault.lines = tail.lines().await;
        }
        Verdict::Faulty(Box::new(Fault {
            hint: naming(&fault.hint, Some(self.ready.plugin()), self.ready.server()),
            ..fault
        }))
    }

    async fn connect(&self, server: &Approved<Plan>, skew: &AtomicI64) -> Result<Listed, CliError> {
        self.board.enter(self.at, Stage::Health);
        if let Ok(checked) = server.health_and_clock().await {
            skew.store(checked.skew.unwrap_or(UNKNOWN), Ordering::Relaxed);
        }
        self.board.enter(self.at, Stage::Connect);
        let found = listed(server).await?;
        self.board.enter(self.at, Stage::List);
        Ok(found)
    }

    /// Says whether a server that takes a fixed credential also takes a sign-in.
    async fn advice(&self, left: Duration) -> Option<Box<Advice>> {
        if self.ready.method() != Method::Static {
            return None;
        }
        let offered = self.ready.offers_oauth();
        let offered = timeout(left.min(SHORT), offered).await;
        matches!(offered, Ok(Ok(()))).then(|| Box::new(Advice::prefer_oauth(self.ready.server())))
    }

    fn late(&self) -> CliError {
        let seconds = self.limit.as_secs();
        let error = SessionError::Transport(TransportError::Timeout { seconds });
        Error::talk(self.ready.spec(), error).into()
    }

    /// Tries the other transports where the declared one was not understood.
    async fn other_transport(&self, error: &CliError, left: Duration) -> Option<Speaks> {
        let is_misunderstood = match error {
            CliError::Host(Error::Talk {
                error: SessionError::Protocol { .. } | SessionError::Rpc(_),
                ..
            }) => true,
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
            _ => return None,
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
        timeout(left.min(SHORT), trying).await.ok().flatten()
    }

    /// Where a sign-in is needed: says what would keep it from beginning.
    async fn signed_in(&self, fault: Fault, left: Duration) -> Fault {
        if fault.code != Code::SignInRequired {
            return fault;
        }
        if let Some(oauth) = self.ready.oauth() {
            self.board.enter(self.at, Stage::Discovery);
            if let Ok(Err(error)) = timeout(left, oauth.dry_run()).await {
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
            return fault;
        }
        Fault {
            code: Code::NoBrowser,
            message: format!("{}, and no browser can be opened here", fault.message),
            hint: format!("{} --no-browser", fault.hint),
            ..fault
        }
    }

    fn of_auth(&self, error: AuthError) -> Fault {
        let explained = explain_auth(&error);
        let standing = Trouble::from(&error).standing;
        let server = self.ready.server().to_owned();
        let exit = CliError::from(Error::SignIn { server, error }).exit();
        let hint = explained.hint.unwrap_or_default();
        Fault {
            stage: explained.code.stage().unwrap_or(Stage::Token),
            code: explained.code,
            message: explained.message,
            hint,
            exit: match explained.code {
                Code::CallbackPortBusy => Exit::SignInNeeded,
                _ => exit,
            },
            standing,
            place: None,
            http: None,
            lines: Vec::new(),
        }
    }
}

/// No server is so far off.
const UNKNOWN: i64 = i64::MIN;
const SHORT: Duration = Duration::from_secs(8);
