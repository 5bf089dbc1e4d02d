//! Which of the servers that wait for approval have it already.

use keyway::Host;
use keyway::approval::{EntryContext, Ledger, Question};
use keyway::load::Loaded;
use keyway::sign_in::Accounts;
use keyway::status::Reason;

use super::Listed;
use crate::error::CliError;

/// Takes the reason away from servers that were approved as they are now.
pub(super) fn look_up(
    servers: &mut [Listed<'_>],
    plugins: &[&Loaded],
    host: &Host,
    accounts: &Accounts,
) -> Result<(), CliError> {
    let vault = accounts.vault().ok_or(keyway::Error::NoHome)?.get()?;
    let ledger = Ledger::new(&vault, accounts.profile())?;
    for listed in servers.iter_mut().filter(|listed| waits(listed)) {
        let owner = listed.owner(plugins);
        let Some(question) = owner.and_then(|loaded| question(listed, loaded, host)) else {
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

fn question(listed: &Listed<'_>, loaded: &Loaded, host: &Host) -> Option<Question> {
    let server = listed.status.entry.server.as_ref().ok()?;
    let variables = host.variable_scope(loaded).ok()?;
    let context = EntryContext {
        plugin: &listed.plugin,
        root: &loaded.plugin.root,
        document: listed.status.document,
        host: variables.host_variables(),
    };
    Question::about(server, context, &variables.scope())
}
