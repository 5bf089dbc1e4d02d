//! Asks the person whether an entry may be used, where there is a person.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use keyway::events::{Events, Kind};
use keyway::trust::{Ledger, Question};
use keyway_secret::printable;

use super::ReachError;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::vault::open_vault;

/// Returns the variables granted to an approved entry, asking first if it is not approved and
/// somebody may be asked.
pub(super) fn require(
    events: &Events,
    asking: Option<&CommandContext>,
    question: &Question,
    profile: &str,
) -> Result<Vec<String>, CliError> {
    let vault = open_vault()?;
    let ledger = Ledger::new(&vault, profile)?;
    let approval = ledger.find(&question.source, &question.server)?;
    if let Some(approval) = approval.filter(|approval| approval.covers(&question.digest)) {
        return Ok(approval.grants);
    }
    let refused = || ReachError::NotTrusted {
        server: question.server.clone(),
    };
    let server = Some(question.server.as_str());
    events.emit(Kind::TrustRequested, server, None);
    if question.files.are_too_large() {
        events.emit(Kind::TrustDecided, server, Some("pending-trust"));
        return Err(too_large(question).into());
    }
    let agrees = |context| io::stdin().is_terminal() && ask(context, question);
    if !asking.is_some_and(agrees) {
        events.emit(Kind::TrustDecided, server, Some("pending-trust"));
        return Err(refused().into());
    }
    approve(&ledger, question)?;
    events.emit(Kind::TrustDecided, server, None);
    let granted = ledger.find(&question.source, &question.server)?;
    Ok(granted.map(|approval| approval.grants).unwrap_or_default())
}

/// Records that a person approved an entry, if that can be said of it.
pub(crate) fn approve(ledger: &Ledger<'_>, question: &Question) -> Result<(), CliError> {
    if ledger.approve(question)? {
        return Ok(());
    }
    Err(too_large(question).into())
}

fn too_large(question: &Question) -> ReachError {
    let server = question.server.clone();
    ReachError::TooLarge { server }
}

/// Returns the variables granted to an entry that was approved as it is now; `None` if it was not.
///
/// Where nothing is kept yet, nothing is made; and what cannot be read grants nothing.
pub(crate) fn granted(question: &Question, profile: &str) -> Option<Vec<String>> {
    let find = || {
        let folders = ProcessEnvironment::folders()?;
        let mut kept = std::fs::read_dir(folders.data).ok()?;
        kept.next()?.ok()?;
        let vault = open_vault().ok()?;
        let ledger = Ledger::new(&vault, profile).ok()?;
        ledger.find(&question.source, &question.server).ok()?
    };
    let covering = find().filter(|approval| approval.covers(&question.digest));
    covering.map(|approval| approval.grants)
}

/// Says what an entry would do, whole and without what could hide a part of it.
pub(crate) fn describe(question: &Question) -> String {
    let id = printable(&format!("{}:{}", question.plugin, question.server));
    let mut text = format!(
        "`{id}` in {}\n",
        printable(&question.source.to_string_lossy())
    );
    if let Some(command) = &question.runs {
        text.push_str(&format!("  runs   {}\n", printable(command)));
    }
    if let Some(code) = &question.inline_code {
        let code = printable(code);
        text.push_str(&format!(
            "         !! what follows `{code}` is a program itself: read it to its end\n"
        ));
    }
    for sent in &question.sends {
        let (name, to) = (printable(&sent.variable), printable(&sent.to));
        text.push_str(&format!(
            "  sends  ${{{name}}} {} to {to}\n",
            printable(&sent.how())
        ));
    }
    for weak in &question.weakens {
        text.push_str(&format!("  weakens the sign-in: {}\n", printable(weak)));
    }
    text
}

fn ask(context: &CommandContext, question: &Question) -> bool {
    context.print_aside(&describe(question));
    context.print_aside("Allow this? [y/N] ");
    let _lost = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
