//! What a gateway that runs knows beyond the files and the vault.

use keyway::examination::Survey;
use keyway_code::State;
use keyway_gateway::control_client::servers;

use crate::error::CliError;
use crate::vault::folders;

/// Adds how a running gateway sees servers of which nothing stands in the way here.
pub(super) fn add(survey: &mut Survey<'_>) -> Result<(), CliError> {
    let mut known = servers(&folders()?.runtime.join("gateway.sock"));
    for server in &mut survey.servers {
        let found = &mut server.diagnosis;
        if found.state.state != State::Pending || found.state.reason.is_some() {
            continue;
        }
        let id = found.id();
        if let Some(live) = known.iter_mut().find(|live| live.id == id) {
            (found.state, found.code) = (live.state, live.code);
            found.since = live.since.take();
        }
    }
    Ok(())
}
