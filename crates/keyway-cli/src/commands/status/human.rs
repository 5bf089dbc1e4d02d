//! The table for people, and below it what keeps servers from working.

use keyway::diagnosis::{Diagnosis, Variable};
use keyway_check::Report;
use keyway_code::Reason;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::environment::Origin;
use keyway_secret::{printable, server_argument};

use super::sign_in;
use super::vault::VaultReport;
use crate::context::CommandContext;
use crate::report::Verbosity;
use crate::report::counted;
use keyway_lint::mask::in_words;
use keyway_terminal::Table;

/// Renders the servers.
pub(super) fn render(
    servers: &[Diagnosis],
    report: &Report<'_>,
    (vault, context): (Option<&VaultReport>, &CommandContext),
) -> String {
    let mut text = if servers.is_empty() {
        let files = counted(report.file_count(), "file");
        format!("no servers in {files}\n")
    } else {
        context.render(&table(servers))
    };
    text.push_str(&sign_ins(servers));
    text.push_str(&protection(servers));
    text.push_str(&vault.map(VaultReport::in_words).unwrap_or_default());
    for finding in first_messages(servers, report) {
        text.push('\n');
        text.push_str(&message(finding));
    }
    if context.verbosity != Verbosity::Quiet {
        text.push_str(&pending_trust(servers));
    }
    text
}

/// Says how the servers are approved that wait for it.
fn pending_trust(servers: &[Diagnosis]) -> String {
    let waits = |found: &&Diagnosis| found.state.reason == Some(Reason::PendingTrust);
    let waiting: Vec<&Diagnosis> = servers.iter().filter(waits).collect();
    if waiting.is_empty() {
        return String::new();
    }
    let name = |it: &Diagnosis| in_words(&server_argument(&it.server));
    let names: Vec<String> = waiting.iter().map(|it| name(it)).collect();
    let digests = waiting.iter().filter_map(|it| {
        let digest = &it.question.as_ref()?.digest;
        Some(format!("  {}  --digest {digest}\n", name(it)))
    });
    let digests: String = digests.collect();
    let elsewhere = match digests.is_empty() {
        true => "",
        false => "; without a terminal, add",
    };
    format!(
        "
needs approval: such a server runs a program or sends a variable, and you have not approved that;
`keyway trust grant {}` shows what it would do and approves it{elsewhere}
{digests}",
        names.join(" ")
    )
}

fn table(servers: &[Diagnosis]) -> Table<5> {
    let mut table = Table::new(["SERVER", "TRANSPORT", "METHOD", "STATE", "VARIABLES"]);
    let several = servers.chunk_by(|a, b| a.plugin == b.plugin).count() > 1;
    for found in servers {
        let name = if several {
            found.id()
        } else {
            found.server.clone()
        };
        let variables: Vec<String> = found.variables.iter().map(variable).collect();
        table.push([
            in_words(&printable(&name)),
            found
                .transport
                .map_or("?", |found| found.as_str())
                .to_owned(),
            found.method.map_or("?", |found| found.as_str()).to_owned(),
            in_words(&printable(&found.summary())),
            if variables.is_empty() {
                "-".to_owned()
            } else {
                variables.join("\n")
            },
        ]);
    }
    table
}

/// Says who is signed in where.
fn sign_ins(servers: &[Diagnosis]) -> String {
    let kept = |listed: &Diagnosis| {
        let name = in_words(&printable(&listed.id()));
        let stored = match (&listed.sign_in, &listed.moved_to) {
            (Some(kept), _) => sign_in::line(&name, kept),
            (None, Some(to)) => {
                // The fingerprint of a vault's key has no scheme.
                let kind = if to.contains("://") {
                    "database"
                } else {
                    "vault"
                };
                format!("  {name}: moved to the {kind} {}\n", printable(to))
            }
            (None, None) => String::new(),
        };
        let unstored = listed.unstored_sign_in;
        let unstored = unstored.map(|unstored| sign_in::unstored_line(&name, unstored));
        stored + &unstored.unwrap_or_default()
    };
    let lines: String = servers.iter().map(kept).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\nsigned in:\n{lines}")
}

/// Says once what holds for all programs, or of each server what holds for its own.
fn protection(servers: &[Diagnosis]) -> String {
    let mut found: Vec<(&Diagnosis, &str)> = Vec::new();
    for listed in servers {
        found.extend(listed.protection.as_deref().map(|words| (listed, words)));
    }
    let is_same = found
        .windows(2)
        .all(|pair| matches!(pair, [(_, a), (_, b)] if a == b));
    match found.first() {
        None => String::new(),
        Some((_, words)) if is_same => format!("\nprotection from programs: {words}\n"),
        Some(_) => {
            let line = |(listed, words): &(&Diagnosis, &str)| {
                let id = in_words(&printable(&listed.id()));
                format!("protection from programs of `{id}`: {words}\n")
            };
            let lines: String = found.iter().map(line).collect();
            format!("\n{lines}")
        }
    }
}

fn variable(variable: &Variable) -> String {
    let name = in_words(&printable(&variable.name));
    match (variable.is_set, variable.has_default) {
        (true, _) => match variable.origin {
            Some(Origin::File | Origin::Plugin) => format!("{name} set, in a file"),
            Some(Origin::Vault) => format!("{name} set, in the vault"),
            _ => format!("{name} set"),
        },
        (false, true) => format!("{name} unset, has a default"),
        (false, false) => format!("{name} missing"),
    }
}

/// Returns what is wrong with files, of each failed server the first thing, and warnings.
fn first_messages<'a>(servers: &[Diagnosis], report: &'a Report<'_>) -> Vec<&'a Diagnostic> {
    let found = report.diagnostics();
    let mut chosen: Vec<usize> = Vec::new();
    for listed in servers {
        chosen.extend(found.iter().position(|one| explains(one, listed)));
    }
    let about_files = found.iter().enumerate();
    chosen.extend(
        about_files
            .filter(|(_, one)| one.server.is_none() || one.severity == Severity::Warning)
            .map(|(at, _)| at),
    );
    chosen.sort_unstable();
    chosen.dedup();
    chosen.iter().filter_map(|&at| found.get(at)).collect()
}

/// Says whether a finding is the one that a diagnosis was made of.
fn explains(finding: &Diagnostic, found: &Diagnosis) -> bool {
    let is_own = finding.server.as_ref().is_none_or(|it| *it == found.server);
    is_own && found.code == Some(finding.code) && found.fault_at == finding.location
}

fn message(finding: &Diagnostic) -> String {
    let (severity, code) = (finding.severity, finding.code);
    let server = finding.server.as_ref();
    let server = server.map(|name| format!("`{}`: ", in_words(&printable(name))));
    let mut text = format!(
        "{severity}[{code}]: {}{}\n",
        server.unwrap_or_default(),
        printable(&finding.message)
    );
    if let Some(place) = &finding.location {
        let (line, column) = (place.start.line, place.start.column);
        text.push_str(&format!(
            "  --> {}:{line}:{column}\n",
            printable(&place.file)
        ));
    }
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("  help: {}\n", printable(hint)));
    }
    text
}
