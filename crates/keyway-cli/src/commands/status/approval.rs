//! Which of the servers that wait for approval have it already.

use keyway::load::Loaded;
use keyway::sign_in::Accounts;
use keyway::status::Reason;
use keyway::trust::{Ledger, Question, Surroundings as Around};

use super::Listed;
use crate::error::CliError;
use crate::surroundings::Surroundings;

/// Takes the reason away from servers that were approved as they are now.
pub(super) fn look_up(
    servers: &mut [Listed<'_>],
    plugins: &[&Loaded],
    surroundings: &Surroundings,
    accounts: &Accounts,
) -> Result<(), CliError> {
    let vault = accounts.vault.get()?;
    let ledger = Ledger::new(&vault, &accounts.profile)?;
    for listed in servers.iter_mut().filter(|listed| waits(listed)) {
        let owner = listed.owner(plugins);
        let Some(question) = owner.and_then(|loaded| question(listed, loaded, surroundings)) else {
            continue;
        };
        let approval = ledger.find(&question.source, &question.server)?;
        if approval.is_some_and(|approval| approval.covers(&question.digest)) {
            listed.status.reason = None;
        } else {
            listed.question = Some(question);
        }
    }
    Ok(())
}

/// Says whether a server waits for approval.
pub(super) fn waits(listed: &Listed<'_>) -> bool {
    listed.status.reason == Some(Reason::PendingTrust)
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
