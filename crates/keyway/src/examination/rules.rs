//! Why a server failed, in the words of the rules. Findings that stop nothing are left to `check`,
//! except for whitespace around a value: only what reads the values can see it.

use std::sync::Arc;

use keyway_code::{Code, Exit, Reason, ServerState, Stage};
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::edit::Applicability;
use keyway_config::environment::Scope;
use keyway_config::plugin::Plugin;
use keyway_config::resolve::ResolveFault;
use keyway_config::template::ExpandError;
use keyway_lint::{Context, lint};

use crate::diagnosis::Diagnosis;
use crate::status::{ServerStatus, State};

/// Returns what explains the failed servers and the files that give none, in the order of the files.
pub(super) fn explaining(
    plugin: &Plugin,
    scope: Scope<'_>,
    servers: &[ServerStatus<'_>],
) -> Vec<Diagnostic> {
    let context = Context::new(plugin).with_scope(scope);
    let mut found = lint(&context);
    name_slips(&mut found);
    found.retain(|finding| {
        let is_stray_blank =
            finding.code == Code::UnusableValue && finding.severity == Severity::Warning;
        is_about_a_file(finding) || is_stray_blank || servers.iter().any(|s| stops(finding, s))
    });
    for server in servers
        .iter()
        .filter(|server| server.state == State::Failed)
    {
        if !found.iter().any(|finding| stops(finding, server)) {
            found.extend(unexplained(server));
        }
    }
    found
}

/// Returns which helpers cannot be run as they are declared.
pub(super) fn of_helpers(plugin: &Plugin) -> Vec<Diagnostic> {
    let mut found = lint(&Context::new(plugin));
    found.retain(|finding| finding.code == Code::HelperNotExecutable);
    found
}

/// Returns why files and entries are left out, whatever the variables are; one reason for each.
pub(super) fn left_out(plugin: &Plugin) -> Vec<Diagnostic> {
    let context = Context::new(plugin);
    let mut found = lint(&context);
    name_slips(&mut found);
    found.retain(|finding| finding.severity == Severity::Error && leaves_out(plugin, finding));
    let mut told: Vec<(Arc<str>, Option<String>)> = Vec::new();
    found.retain(|finding| {
        let file = finding
            .location
            .as_ref()
            .map(|place| Arc::clone(&place.file));
        let about = (file.unwrap_or_default(), finding.server.clone());
        let is_news = !told.contains(&about);
        told.push(about);
        is_news
    });
    found
}

/// Says whether a finding is a reason to leave out a file or an entry.
fn leaves_out(plugin: &Plugin, finding: &Diagnostic) -> bool {
    let Some(place) = &finding.location else {
        return false;
    };
    let mut documents = plugin.documents.iter();
    let document = documents.find(|document| document.source.path() == &*place.file);
    let Some(document) = document.filter(|document| document.is_usable()) else {
        return UNUSABLE.contains(&finding.code) || is_about_a_file(finding);
    };
    let is_skipped = |name: &String| {
        let mut entries = document.entries.iter();
        entries.any(|entry| entry.name == *name && entry.server.is_err())
    };
    match &finding.server {
        Some(name) => SKIPPED.contains(&finding.code) && is_skipped(name),
        None => is_about_a_file(finding),
    }
}

/// What an entry lacks may be there under a name that is not quite right.
fn name_slips(found: &mut [Diagnostic]) {
    let slips = found
        .iter()
        .filter(|finding| finding.code == Code::UnknownField);
    let slips: Vec<(Option<String>, String)> = slips
        .filter_map(|slip| {
            let near = slip.hint.as_ref()?;
            Some((slip.server.clone(), format!("{}: {near}", slip.message)))
        })
        .collect();
    for finding in found
        .iter_mut()
        .filter(|found| found.code == Code::InvalidEntry)
    {
        let slip = slips.iter().find(|(server, _)| *server == finding.server);
        if let (Some((_, slip)), Some(hint)) = (slip, &finding.hint) {
            finding.hint = Some(format!("{slip}; otherwise {hint}"));
        }
    }
}

/// Says whether a finding is a reason for this server to fail.
pub(super) fn stops(finding: &Diagnostic, server: &ServerStatus<'_>) -> bool {
    let Some(place) = &finding.location else {
        return false;
    };
    let is_error = finding.severity == Severity::Error && !STOPS_NOTHING.contains(&finding.code);
    if !is_error || server.state != State::Failed || &*place.file != server.document.source.path() {
        return false;
    }
    if server.errors.is_empty() {
        let is_own = finding.server.as_ref() == Some(&server.entry.name);
        let of_file = !server.document.is_usable() && UNUSABLE.contains(&finding.code);
        return of_file || (is_own && SKIPPED.contains(&finding.code));
    }
    let mut errors = server.errors.iter();
    errors.any(|error| {
        // A variable that is not set is what stops the server, however the file refers to it.
        let is_unset = matches!(error.fault, ResolveFault::Expand(ExpandError::Unset { .. }));
        let is_about_syntax = finding.code == Code::ForeignVariableSyntax;
        error.location.pointer == place.pointer && !(is_unset && is_about_syntax)
    })
}

/// Adds what a rule found to be wrong with a server.
pub(super) fn with_finding(mut found: Diagnosis, stage: Stage, finding: &Diagnostic) -> Diagnosis {
    found.stage = stage;
    found.state = UNUSABLE_ENTRY;
    found.code = Some(finding.code);
    found.message = finding.message.clone();
    found.hint = Some(match (&finding.hint, &finding.fix) {
        (Some(hint), _) => hint.clone(),
        (None, Some(fix)) if fix.applicability == Applicability::Unsafe => {
            "keyway check --fix --unsafe-fixes".to_owned()
        }
        (None, Some(_)) => "keyway check --fix".to_owned(),
        (None, None) => "correct that place; then keyway doctor".to_owned(),
    });
    found.exit = Exit::Failed;
    found.fault_at = finding.location.clone();
    found
}

fn is_about_a_file(finding: &Diagnostic) -> bool {
    let is_note = finding.severity == Severity::Info;
    finding.server.is_none() && !is_note && ABOUT_FILES.contains(&finding.code)
}

/// Words a fault that no rule speaks about.
fn unexplained(server: &ServerStatus<'_>) -> Option<Diagnostic> {
    if let Some(error) = server.errors.first() {
        return Some(error.diagnostic(&server.entry.name));
    }
    let source = &server.document.source;
    let location = source.locate(server.entry.name_span, &server.entry.pointer);
    let message = "the entry cannot be used".to_owned();
    let diagnostic = Diagnostic::new(Code::ConfigError, Severity::Error, message);
    Some(
        diagnostic
            .with_server(Some(server.entry.name.clone()))
            .with_location(location),
    )
}

/// The state of a server whose entry cannot be used.
const UNUSABLE_ENTRY: ServerState = ServerState::new(State::Failed, Reason::ConfigError);

/// Errors that must be fixed, but that keep no server from working here: a value that is written
/// down, and what only the file's own host refuses.
const STOPS_NOTHING: &[Code] = &[
    Code::LiteralDefault,
    Code::LiteralSecret,
    Code::MissingField,
    Code::SecretInDocs,
    Code::UrlMissingType,
];

/// Why a file is not used at all.
const UNUSABLE: &[Code] = &[Code::DuplicateKey, Code::InvalidJson];

/// Why an entry is skipped.
const SKIPPED: &[Code] = &[Code::DuplicateKey, Code::InvalidEntry, Code::UnknownType];

/// Why a file lists fewer servers than one might expect.
const ABOUT_FILES: &[Code] = &[
    Code::BadReference,
    Code::DuplicateKey,
    Code::ForeignWrapper,
    Code::InvalidEntry,
    Code::InvalidJson,
    Code::UnsupportedSchema,
];
