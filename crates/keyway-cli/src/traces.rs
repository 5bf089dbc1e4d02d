//! Spans of this process, sent where the standard variables say.

use keyway::Host;
use keyway::connect::ConnectError;
use keyway_dashboard::activity::Activity;
use keyway_gateway::traces::{TraceSettings, traces};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::timeouts::TRACES_FLUSH_TIMEOUT;

/// Spans on their way out.
#[derive(Debug)]
pub(crate) struct Exporting {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Starts to record requests, and to export them if the variables ask for it.
pub(crate) fn begin(host: &Host) -> Result<(Activity, Option<Exporting>), CliError> {
    let activity = Activity::default();
    let Some(settings) = TraceSettings::read(ProcessEnvironment::text)? else {
        return Ok((activity, None));
    };
    let (tracer, export) = traces(settings);
    let client = export.client(host.http()).map_err(ConnectError::from)?;
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(export.run(client, async { drop(stopped.await) }));
    Ok((activity.with_sink(tracer), Some(Exporting { stop, task })))
}

impl Exporting {
    /// Sends what is left; a collector that does not answer is not waited for.
    pub(crate) async fn end(self) {
        let _ended_before = self.stop.send(());
        drop(tokio::time::timeout(TRACES_FLUSH_TIMEOUT, self.task).await);
    }
}
