//! What clients lately asked of servers: a bounded list, and a sign whenever it grows.
//!
//! Names, times and outcomes only; arguments and results are never kept.

use keyway_transport::Frame;
use memchr::memmem::Finder;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

use crate::backend::ServerId;
use crate::message_log::MessageLog;
use crate::trace_parent::TraceParent;
use keyway_mcp::aggregate::{AggregateMembers, RequestTarget};
use keyway_secret::{Clock as _, SystemClock};

/// The requests of the last while.
#[derive(Debug)]
pub struct Activity {
    /// Released before readers are notified; the sinks are called before it is taken.
    recent: Mutex<VecDeque<Arc<ActivityEntry>>>,
    count: watch::Sender<u64>,
    /// `Relaxed`: a number to show, which guards no other data.
    under_way: AtomicUsize,
    sinks: Vec<Box<dyn ActivitySink>>,
    messages: MessageLog,
}

/// Takes entries as requests end. Must not block: it is called where an answer is written.
pub trait ActivitySink: Send + Sync + std::fmt::Debug {
    /// Takes one entry.
    fn record(&self, entry: &Arc<ActivityEntry>);
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityEntry {
    /// When it came.
    pub at: SystemTime,
    /// What was asked.
    pub request: RequestSummary,
    /// How long the whole answer took.
    pub took: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

/// A request: its method, its server and its client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestSummary {
    /// Plugin and server; none where all servers were asked together, and not one of them alone
    /// answered.
    pub server: Option<(String, String)>,
    /// The client: the name of its gateway token, or what else is known of it.
    pub by: String,
    /// The person who sent it, by issuer and subject with a blank between them; none for a client that
    /// acts for no person in particular.
    pub person: Option<String>,
    /// The method.
    pub method: String,
    /// The tool, if one was called.
    pub tool: Option<String>,
    /// The span that it belongs to, if its client says so.
    pub parent: Option<TraceParent>,
}

impl RequestSummary {
    /// A request of a client, of which no more is known.
    #[must_use]
    pub fn new(by: impl Into<String>, method: impl Into<String>) -> Self {
        Self {
            server: None,
            by: by.into(),
            person: None,
            method: method.into(),
            tool: None,
            parent: None,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each way has its own words and codes wherever it is shown"
)]
pub enum Outcome {
    /// With a result.
    Done,
    /// With a result that says that the tool failed.
    ToolFailed,
    /// With an error of the protocol.
    Error(i64),
    /// With a status of HTTP and nothing else.
    Status(u16),
    /// Without an answer: the client went away.
    Abandoned,
}

impl Outcome {
    /// Says whether there was a result.
    #[must_use]
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Done)
    }
}

/// Reads out of an answer how a request ended; `code` is that of its error.
fn outcome(answer: &Frame, code: Option<i64>) -> Outcome {
    if let Some(code) = code {
        return Outcome::Error(code);
    }
    // It stands at the beginning or at the end; what lies between may be long.
    let bytes = answer.bytes();
    let ends = [
        bytes.get(..GLANCE),
        bytes.get(bytes.len().saturating_sub(GLANCE)..),
    ];
    let is_failed = |part: &[u8]| FAILED.find(part).is_some();
    if ends.into_iter().flatten().any(is_failed) {
        return Outcome::ToolFailed;
    }
    Outcome::Done
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            recent: Mutex::new(VecDeque::new()),
            count: watch::Sender::new(0),
            under_way: AtomicUsize::new(0),
            sinks: Vec::new(),
            messages: MessageLog::default(),
        }
    }
}

impl Activity {
    /// Hands every entry to `sink` as well, beside those that were named before.
    #[must_use]
    pub fn with_sink(mut self, sink: impl ActivitySink + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Notes that a request came; it is recorded when the ticket is dropped.
    #[must_use]
    pub fn begin(self: &Arc<Self>, request: RequestSummary) -> RequestRecorder {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        RequestRecorder {
            activity: Arc::clone(self),
            at: SystemClock.wall(),
            started: Instant::now(),
            request: Some(request),
            target: None,
            server_id: OnceLock::new(),
            outcome: OnceLock::new(),
            asked: None,
            answered: OnceLock::new(),
        }
    }

    /// Returns the messages of the one server whose messages are recorded, if any.
    pub(crate) const fn messages(&self) -> &MessageLog {
        &self.messages
    }

    /// Returns how many requests are not answered yet.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Returns the latest requests, latest first.
    #[must_use]
    pub fn recent(&self) -> Vec<Arc<ActivityEntry>> {
        self.lock().iter().rev().cloned().collect()
    }

    /// Tells of every change; a slow receiver sees several as one.
    #[must_use]
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    fn record(&self, entry: ActivityEntry) {
        let entry = Arc::new(entry);
        for sink in &self.sinks {
            sink.record(&entry);
        }
        let mut recent = self.lock();
        if recent.len() >= KEPT {
            recent.pop_front();
        }
        recent.push_back(entry);
        drop(recent);
        self.count
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<ActivityEntry>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way.
#[derive(Debug)]
pub struct RequestRecorder {
    activity: Arc<Activity>,
    at: SystemTime,
    started: Instant,
    request: Option<RequestSummary>,
    target: Option<RequestTarget>,
    /// Where the request went, where all servers were asked.
    server_id: OnceLock<(String, String)>,
    outcome: OnceLock<Outcome>,
    /// The messages themselves, only while those of a server are recorded.
    asked: Option<Frame>,
    answered: OnceLock<Frame>,
}

impl RequestRecorder {
    /// Says what a request to all servers is about.
    #[must_use]
    pub fn with_target(mut self, target: Option<RequestTarget>) -> Self {
        self.target = target;
        self
    }

    /// Shows it the request, which it keeps only if the messages of a server are recorded.
    #[must_use]
    pub fn with_request(mut self, frame: &Frame) -> Self {
        self.asked = self.activity.messages.is_on().then(|| frame.clone());
        self
    }

    /// Finds out which of all servers the request went to.
    pub fn resolve_server(&self, members: &AggregateMembers) {
        let target = self.target.as_ref();
        if let Some(server_id) = target.and_then(|it| members.server_of(it)) {
            let _first = self.server_id.set(server_id);
        }
    }

    /// Says how it ended by its answer; `code` is that of an error. The first word counts.
    pub fn answered(&self, answer: &Frame, code: Option<i64>) {
        if self.asked.is_some() {
            let _first = self.answered.set(answer.clone());
        }
        self.end(outcome(answer, code));
    }

    /// Says how it ended; the first word counts.
    pub fn end(&self, outcome: Outcome) {
        let _first = self.outcome.set(outcome);
    }
}

impl Drop for RequestRecorder {
    fn drop(&mut self) {
        let Some(mut request) = self.request.take() else {
            return;
        };
        self.activity.under_way.fetch_sub(1, Ordering::Relaxed);
        request.server = request.server.or_else(|| self.server_id.take());
        if let (Some(asked), Some((plugin, name))) = (&self.asked, &request.server) {
            let server = ServerId::new(plugin, name);
            let about = (self.at, request.by.as_str(), request.method.as_str());
            let answer = self.answered.get();
            self.activity.messages.keep(&server, about, (asked, answer));
        }
        self.activity.record(ActivityEntry {
            at: self.at,
            request,
            took: self.started.elapsed(),
            outcome: self.outcome.get().copied().unwrap_or(Outcome::Abandoned),
        });
    }
}

/// How a tool says that it failed.
static FAILED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(r#""isError":true"#));
/// How much of either end of an answer is looked at.
const GLANCE: usize = 256;
/// How many requests are remembered.
const KEPT: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_failed_is_told_from_one_that_answered() {
        let outcome =
            |text: &str, code| super::outcome(&Frame::new(text.to_owned()).unwrap(), code);
        let failed = r#"{"result":{"content":[],"isError":true}}"#;
        assert_eq!(outcome(failed, None), Outcome::ToolFailed);
        let long = format!(
            r#"{{"result":{{"isError":true,"x":"{}"}}}}"#,
            "y".repeat(9_000)
        );
        assert_eq!(outcome(&long, None), Outcome::ToolFailed);
        assert_eq!(
            outcome(r#"{"result":{"isError":false}}"#, None),
            Outcome::Done
        );
        assert_eq!(outcome(r#"{"error":{}}"#, Some(-1)), Outcome::Error(-1));
    }

    fn request(method: &str) -> RequestSummary {
        RequestSummary {
            server: None,
            by: "n".to_owned(),
            person: None,
            method: method.to_owned(),
            tool: None,
            parent: None,
        }
    }

    #[test]
    fn the_list_forgets_its_oldest_and_tells_of_its_newest() {
        let activity = Arc::new(Activity::default());
        let changes = activity.changes();
        for at in 0..KEPT + 3 {
            let ticket = activity.begin(request(&at.to_string()));
            assert_eq!(activity.under_way(), 1);
            ticket.end(Outcome::Done);
        }
        assert_eq!(activity.under_way(), 0);
        let recent = activity.recent();
        assert_eq!(recent.len(), KEPT);
        assert_eq!(recent[0].request.method, (KEPT + 2).to_string());
        assert_eq!(recent.last().unwrap().request.method, "3");
        assert!(changes.has_changed().unwrap());
    }

    #[test]
    fn an_abandoned_request_is_recorded_and_the_first_outcome_counts() {
        let activity = Arc::new(Activity::default());
        drop(activity.begin(request("a")));
        let ticket = activity.begin(request("b"));
        ticket.end(Outcome::Error(-32602));
        ticket.end(Outcome::Done);
        drop(ticket);
        let outcomes: Vec<Outcome> = activity.recent().iter().map(|it| it.outcome).collect();
        assert_eq!(outcomes, [Outcome::Error(-32602), Outcome::Abandoned]);
    }
}
