//! Requests of this process, recorded where the standard variables and the database say.

use keyway::Host;
use keyway::connect::ConnectError;
use keyway_dashboard::activity::Activity;
use keyway_dashboard::traces::{TraceSettings, traces};
use keyway_database::Database;
use keyway_gateway::recording::Recording;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// Starts to record requests, to export them if the variables ask for it, and to write calls to the
/// audit of a database.
pub(crate) fn begin(
    host: &Host,
    database: Option<&Database>,
) -> Result<(Activity, Recording), CliError> {
    let (mut activity, mut recording) = (Activity::default(), Recording::default());
    if let Some(settings) = TraceSettings::read(ProcessEnvironment::text)? {
        let (tracer, export) = traces(settings);
        let client = export.client(host.http()).map_err(ConnectError::from)?;
        recording.export(export, client);
        activity = activity.with_sink(tracer);
    }
    if let Some(database) = database {
        activity = recording.audit(activity, database);
    }
    Ok((activity, recording))
}
