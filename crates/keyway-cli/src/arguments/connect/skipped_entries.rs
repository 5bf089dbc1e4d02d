//! What is worth a line although the command goes on: files and entries that are left out, in the words of the rules that `keyway check` has for them.

use keyway::Plan;
use keyway::examination::{SkippedEntry, skipped};
use keyway::load::Loaded;
use keyway_config::diagnostic::Severity;
use keyway_secret::printable;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Verbosity;

/// Tells of what is left out while other servers are used.
pub(crate) fn tell_skipped(context: &CommandContext, loaded: &Loaded) {
    if context.verbosity == Verbosity::Quiet {
        return;
    }
    let found = skipped(loaded);
    for one in found.iter().take(MOST_NOTES) {
        let line = printable(&one.to_string());
        context.print_aside(&format!("note: {line}; skipping it\n"));
    }
    if let Some(more @ 1..) = found.len().checked_sub(MOST_NOTES) {
        context.print_aside(&format!("note: {more} more: run keyway check\n"));
    }
}

/// Warns of values that are used although they look wrong.
pub(crate) fn tell_notes(context: &CommandContext, plan: &Plan) {
    if context.verbosity == Verbosity::Quiet {
        return;
    }
    for note in plan.notes() {
        let found = note.diagnostic(plan.server());
        if found.severity == Severity::Warning {
            let hint = found.hint.unwrap_or_default();
            let line = format!("server `{}`: {}; {hint}", plan.server(), found.message);
            context.print_aside(&format!("warning: {}\n", printable(&line)));
        }
    }
}

/// Words the error for plugins without any server that can be used.
pub(crate) fn no_server<'a>(plugins: impl IntoIterator<Item = &'a Loaded>) -> CliError {
    let found: Vec<SkippedEntry> = plugins.into_iter().flat_map(skipped).collect();
    let more = found.len().saturating_sub(1);
    let Some(mut first) = found.into_iter().next() else {
        return keyway::Error::WhichServer { names: Vec::new() }.into();
    };
    if more > 0 {
        let hint = first.hint.take().unwrap_or_default();
        first.hint = Some(format!("{hint}; keyway check lists the other problems"));
    }
    CliError::SkippedEntry(Box::new(first))
}

const MOST_NOTES: usize = 8;
