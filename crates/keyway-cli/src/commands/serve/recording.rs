//! Where requests are recorded while the gateway runs: the list of the dashboard, a collector of
//! traces, and the audit of the database.

use keyway::Host;
use keyway_dashboard::activity::Activity;
use keyway_gateway::database::Database;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::timeouts::AUDIT_FLUSH_TIMEOUT;
use crate::traces::{self, Exporting};

/// What is on its way out.
#[derive(Debug)]
pub(super) struct Recording {
    traces: Option<Exporting>,
    audit: Option<(oneshot::Sender<()>, JoinHandle<u64>)>,
}

impl Recording {
    /// Starts to record requests, wherever the variables and the settings ask for it. Has to be called
    /// inside a Tokio runtime.
    pub(super) fn begin(
        host: &Host,
        database: Option<&Database>,
    ) -> Result<(Activity, Self), CliError> {
        let (activity, traces) = traces::begin(host)?;
        let Some(database) = database else {
            let audit = None;
            return Ok((activity, Self { traces, audit }));
        };
        let (calls, writer) = database.audit_calls();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(writer.run(async { drop(stopped.await) }));
        let audit = Some((stop, task));
        Ok((activity.with_sink(calls), Self { traces, audit }))
    }

    /// Sends what is left; whatever does not answer is not waited for, and calls that are missing in
    /// the audit are told.
    pub(super) async fn end(self, context: &CommandContext) {
        if let Some((stop, task)) = self.audit {
            let _ended_before = stop.send(());
            let written = timeout(AUDIT_FLUSH_TIMEOUT, task).await;
            let missing = match written {
                Ok(Ok(0)) => None,
                Ok(Ok(1)) => Some("the last call is".to_owned()),
                Ok(Ok(count)) => Some(format!("the last {count} calls are")),
                Ok(Err(_)) | Err(_) => Some("some of the last calls may be".to_owned()),
            };
            if let Some(calls) = missing {
                let why = "the database could not be reached";
                context.print_aside(&format!("warning: {calls} missing in the audit: {why}\n"));
            }
        }
        if let Some(traces) = self.traces {
            traces.end().await;
        }
    }
}
