//! Which of the servers that wait for approval have it already.

use keyway::load::Loaded;
use keyway::status::Reason;
use keyway::trust::{Ledger, Question, Surroundings as Around};

use super::Listed;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::reach::default_profile;
use crate::session::Session;
use crate::surroundings::Surroundings;
use crate::vault::open_vault;

/// Takes the reason away from servers that were approved as they are now.
///
/// Nothing is kept before the first approval, and looking does not change that.
pub(super) fn look_up(
    servers: &mut [Listed<'_>],
    plugins: &[Loaded],
    surroundings: &Surroundings,
    session: &Session,
) -> Result<(), CliError> {
    let waits = |listed: &Listed<'_>| listed.status.reason == Some(Reason::PendingTrust);
    let is_kept = ProcessEnvironment::folders().is_some_and(|folders| folders.data.is_dir());
    if !is_kept || !servers.iter().any(waits) {
        return Ok(());
    }
    let vault = open_vault()?;
    let ledger = Ledger::new(&vault, &default_profile(session)?)?;
    for listed in servers.iter_mut().filter(|listed| waits(listed)) {
        let owner = listed.owner(plugins);
        let Some(question) = owner.and_then(|loaded| question(listed, loaded, surroundings)) else {
            continue;
        };
        let approval = ledger.find(&question.source, &question.server)?;
        if approval.is_some_and(|approval| approval.covers(&question.digest)) {
            listed.status.reason = None;
        }
    }
    Ok(())
}

fn question(listed: &Listed<'_>, loaded: &Loaded, surroundings: &Surroundings) -> Option<Question> {
    let server = listed.status.entry.server.as_ref().ok()?;
    let host = surroundings.host_variables(&loaded.plugin);
    let around = Around {
        plugin: &listed.plugin,
        root: &loaded.plugin.root,
        document: listed.status.document,
        host: &host,
    };
    surroundings.with_scope(loaded, |scope| Question::about(server, around, &scope))
}
