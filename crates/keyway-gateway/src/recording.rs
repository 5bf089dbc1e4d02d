//! Where requests are recorded beside the list of the dashboard, while a gateway runs: a collector of
//! traces, and the audit of the database.

use std::sync::Arc;

use keyway_auth::ports::HttpClient;
use keyway_dashboard::activity::Activity;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::timeouts::{AUDIT_FLUSH_TIMEOUT, TRACES_FLUSH_TIMEOUT};
use keyway_dashboard::traces::Export;
use keyway_database::Database;

/// What is on its way out.
#[derive(Debug, Default)]
pub struct Recording {
    traces: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    audit: Option<(oneshot::Sender<()>, JoinHandle<u64>)>,
}

impl Recording {
    /// Starts to send spans. Must be called inside a runtime.
    pub fn export(&mut self, export: Export, client: Arc<dyn HttpClient>) {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(export.run(client, async { drop(stopped.await) }));
        self.traces = Some((stop, task));
    }

    /// Starts to write calls to the audit of a database. Must be called inside a runtime.
    #[must_use]
    pub fn audit(&mut self, activity: Activity, database: &Database) -> Activity {
        let (calls, writer) = database.audit_calls();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(writer.run(async { drop(stopped.await) }));
        self.audit = Some((stop, task));
        activity.with_sink(calls)
    }

    /// Sends what is left; whatever does not answer is not waited for. Returns a line about calls that
    /// are missing in the audit, if there are any.
    ///
    /// Cancel safety: what is left is lost.
    pub async fn end(self) -> Option<String> {
        let mut missing = None;
        if let Some((stop, task)) = self.audit {
            let _ended_before = stop.send(());
            missing = match timeout(AUDIT_FLUSH_TIMEOUT, task).await {
                Ok(Ok(0)) => None,
                Ok(Ok(1)) => Some("the last call is".to_owned()),
                Ok(Ok(count)) => Some(format!("the last {count} calls are")),
                Ok(Err(_)) | Err(_) => Some("some of the last calls may be".to_owned()),
            };
        }
        if let Some((stop, task)) = self.traces {
            let _ended_before = stop.send(());
            drop(timeout(TRACES_FLUSH_TIMEOUT, task).await);
        }
        let why = "the database could not be reached";
        missing.map(|calls| format!("warning: {calls} missing in the audit: {why}\n"))
    }
}
