//! Processes that use our connections without HTTP: `keyway run` of the same user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Event, Frame, RequestId};
use tokio::time::Instant;

use super::incoming::{bounded, tool_name};
use super::room::code_of;
use super::{Gateway, Served};
use crate::activity::{self, Asked, Outcome, Ticket};
use keyway_mcp::bridge::notes::Notes;
use keyway_mcp::bridge::output::LOCAL_ERROR;

/// One such process, for as long as it is there.
pub(crate) struct Runner {
    gateway: Arc<Gateway>,
    server: (String, String),
    waiting: Mutex<HashMap<RequestId, (Ticket, Instant)>>,
}

impl Runner {
    /// Notes that a process uses a server.
    pub(crate) fn begin(gateway: &Arc<Gateway>, served: &Served) -> Arc<Self> {
        gateway.metrics.run.come();
        Arc::new(Self {
            gateway: Arc::clone(gateway),
            server: (served.plugin.clone(), served.name.clone()),
            waiting: Mutex::default(),
        })
    }

    fn end(&self, id: &RequestId, outcome: Outcome) {
        let Some((ticket, begun)) = self.lock().remove(id) else {
            return;
        };
        ticket.end(outcome);
        let took = begun.elapsed();
        self.gateway.metrics.run.answered(took);
        if outcome == Outcome::Error(LOCAL_ERROR) {
            self.gateway.metrics.run.failed();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, (Ticket, Instant)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.gateway.metrics.run.go();
    }
}

impl Notes for Runner {
    fn asked(&self, frame: &Frame) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let (Some(id), Some(method)) = (envelope.id(), envelope.method.as_deref()) else {
            return;
        };
        let asked = Asked {
            server: Some(self.server.clone()),
            by: NAME.to_owned(),
            method: bounded(method),
            tool: (method == "tools/call")
                .then(|| tool_name(&envelope))
                .flatten(),
            parent: None,
        };
        let mut waiting = self.lock();
        if waiting.len() < MOST_WAITING {
            let ticket = self.gateway.activity.begin(asked);
            let before = waiting.insert(id, (ticket, Instant::now()));
            drop(waiting);
            drop(before);
        }
    }

    fn answered(&self, event: &Event) {
        match event {
            Event::Failed { id, .. } => self.end(id, Outcome::Error(LOCAL_ERROR)),
            Event::Frame(frame) => {
                let Ok(envelope) = frame.envelope() else {
                    return;
                };
                if let Some(id) = envelope.id().filter(|_| envelope.method.is_none()) {
                    let code = code_of(&envelope);
                    self.end(&id, activity::outcome(frame, code));
                }
            }
            _ => {}
        }
    }
}

/// What a person calls them.
const NAME: &str = "keyway run";
/// How many requests of one process are noted at once.
const MOST_WAITING: usize = 1024;
