//! Processes that use our connections without HTTP: `keyway run` of the same user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Event, Frame, RequestId};
use tokio::time::Instant;

use super::client_message::{bounded, tool_name};
use super::upstream_connection::code_of;
use super::{Gateway, ServedServer};
use keyway_dashboard::activity::{Outcome, RequestRecorder, RequestSummary};
use keyway_mcp::bridge::traffic_observer::TrafficObserver;
use keyway_mcp::jsonrpc::LOCAL_ERROR;

/// One such process, for as long as it is there.
pub(crate) struct SharedClient {
    gateway: Arc<Gateway>,
    server: (String, String),
    /// Released before a recorder is dropped, which takes locks of the activity list.
    waiting: Mutex<HashMap<RequestId, (RequestRecorder, Instant)>>,
}

impl SharedClient {
    /// Notes that a process uses a server.
    pub(crate) fn begin(gateway: &Arc<Gateway>, served: &ServedServer) -> Arc<Self> {
        gateway.metrics.run.come();
        Arc::new(Self {
            gateway: Arc::clone(gateway),
            server: (served.plugin.clone(), served.name.clone()),
            waiting: Mutex::default(),
        })
    }

    /// Notes how a request ended, by its answer or without one.
    fn end(&self, id: &RequestId, answer: Option<(&Frame, Option<i64>)>) {
        let Some((recorder, begun)) = self.lock().remove(id) else {
            return;
        };
        let failed = match answer {
            Some((frame, code)) => {
                recorder.answered(frame, code);
                code == Some(LOCAL_ERROR)
            }
            None => {
                recorder.end(Outcome::Error(LOCAL_ERROR));
                true
            }
        };
        self.gateway.metrics.run.answered(begun.elapsed());
        if failed {
            self.gateway.metrics.run.failed();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, (RequestRecorder, Instant)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        self.gateway.metrics.run.go();
    }
}

impl TrafficObserver for SharedClient {
    fn client_sent(&self, frame: &Frame) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let (Some(id), Some(method)) = (envelope.id(), envelope.method.as_deref()) else {
            return;
        };
        let mut summary = RequestSummary::new(NAME, bounded(method));
        summary.server = Some(self.server.clone());
        summary.tool = (method == "tools/call")
            .then(|| tool_name(&envelope))
            .flatten();
        let mut waiting = self.lock();
        if waiting.len() < MOST_WAITING {
            let recorder = self.gateway.activity.begin(summary).with_request(frame);
            let before = waiting.insert(id, (recorder, Instant::now()));
            drop(waiting);
            drop(before);
        }
    }

    fn client_received(&self, event: &Event) {
        match event {
            Event::Failed { id, .. } => self.end(id, None),
            Event::Frame(frame) => {
                let Ok(envelope) = frame.envelope() else {
                    return;
                };
                if let Some(id) = envelope.id().filter(|_| envelope.method.is_none()) {
                    let code = code_of(&envelope);
                    self.end(&id, Some((frame, code)));
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
