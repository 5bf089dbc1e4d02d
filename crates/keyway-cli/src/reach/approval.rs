//! Asks the person whether an entry may be used, where there is a person.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use keyway::trust::{KeySources, Vault};
use keyway::trust::{Ledger, Question};
use keyway_secret::printable;

use super::ReachError;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::session::Session;

/// Returns the variables granted to an approved entry, asking first if it is not approved.
pub(super) fn require(
    session: &Session,
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
    if !io::stdin().is_terminal() || !ask(session, question) {
        return Err(refused().into());
    }
    ledger.approve(question)?;
    let granted = ledger.find(&question.source, &question.server)?;
    Ok(granted.map(|approval| approval.grants).unwrap_or_default())
}

/// Opens the vault; it is made at first use.
pub(crate) fn open_vault() -> Result<Vault, CliError> {
    let folders = ProcessEnvironment::folders().ok_or(ReachError::NoHome)?;
    Ok(Vault::open(&folders, KeySources::default())?)
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
    for sent in &question.sends {
        let (name, to) = (printable(&sent.variable), printable(&sent.to));
        text.push_str(&format!(
            "  sends  ${{{name}}} as {} to {to}\n",
            printable(&sent.becomes)
        ));
    }
    for weak in &question.weakens {
        text.push_str(&format!("  weakens the sign-in: {}\n", printable(weak)));
    }
    text
}

fn ask(session: &Session, question: &Question) -> bool {
    session.print_aside(&describe(question));
    session.print_aside("Allow this? [y/N] ");
    let _lost = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
