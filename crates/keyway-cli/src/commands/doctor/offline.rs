//! The stages that need no network: file, rules, variables, trust.

use keyway::status::{self, Reason, ServerStatus, State};
use keyway::{Approved, Plan, Plugin};
use keyway_code::{Code, Exit, Stage};
use keyway_config::diagnostic::Diagnostic;
use keyway_config::environment::Scope;
use keyway_mcp::states::Standing;

use super::fault::{Fault, Verdict};
use crate::commands::status::explain::{diagnostics, stops};
use crate::report::Report;

/// A server, ready to be connected to or found out already.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) outcome: Result<Box<Approved<Plan>>, Verdict>,
}

/// Examines every server of a plugin as far as nothing is run or sent.
pub(super) fn examine(plugin: &Plugin, scope: Scope<'_>) -> Vec<Candidate> {
    let loaded = plugin.loaded().as_ref();
    let servers = status::of(&loaded.plugin, &scope);
    let findings = diagnostics(&loaded.plugin, scope, &servers);
    // A rule may quote a name that somebody made of a token; a report masks it.
    let report = Report::new(std::slice::from_ref(loaded), findings, &[]);
    let findings = report.diagnostics();
    let examined = servers.iter().map(|server| {
        let outcome = match standing(server, findings) {
            Some(verdict) => Err(verdict),
            None => ready(server, plugin),
        };
        let name = server.entry.name.clone();
        Candidate { name, outcome }
    });
    let mut candidates: Vec<Candidate> = examined.collect();
    if candidates.is_empty() {
        candidates.extend(findings.first().map(|finding| Candidate {
            name: NO_SERVER.to_owned(),
            outcome: Err(faulty(Fault::of_finding(Stage::File, finding))),
        }));
    }
    candidates
}

fn standing(server: &ServerStatus<'_>, findings: &[Diagnostic]) -> Option<Verdict> {
    match (server.state, server.reason) {
        (State::Disabled, _) => Some(Verdict::Off),
        (_, Some(Reason::NotConfigured)) => Some(faulty(Fault {
            stage: Stage::Rules,
            code: Code::NotConfigured,
            message: "its `url` is empty".to_owned(),
            hint: empty_url(server),
            exit: Exit::Failed,
            standing: Standing::new(State::Pending, Reason::NotConfigured),
            place: None,
            http: None,
            lines: Vec::new(),
        })),
        (State::Failed, _) => {
            let found = findings.iter().find(|finding| stops(finding, server));
            let own = |finding: &&Diagnostic| finding.server.as_ref() == Some(&server.entry.name);
            let found = found.or_else(|| findings.iter().find(own))?;
            let stage = match found.code {
                Code::UnresolvedVariable | Code::UnusableValue => Stage::Variables,
                _ if server.document.is_usable() => Stage::Rules,
                _ => Stage::File,
            };
            let mut fault = Fault::of_finding(stage, found);
            let is_unset = found.code == Code::UnresolvedVariable;
            if let Some(name) = unset(server).filter(|_| is_unset) {
                fault.hint = format!("{}, or keep it: keyway env set {name}", fault.hint);
            }
            Some(faulty(fault))
        }
        _ => None,
    }
}

/// Says how an address that is empty gets filled in.
fn empty_url(server: &ServerStatus<'_>) -> String {
    let mut optional = server.variables.iter();
    let found = optional.find(|variable| !variable.is_set && variable.has_default);
    match found {
        Some(variable) => {
            let name = variable.name;
            format!("set the address: export {name}=https://…; or write it into `url` of the entry")
        }
        None => "write the address into `url` of the entry".to_owned(),
    }
}

fn unset<'a>(server: &ServerStatus<'a>) -> Option<&'a str> {
    let mut missing = server.variables.iter();
    let found = missing.find(|variable| !variable.is_set && !variable.has_default)?;
    Some(found.name)
}

fn ready(server: &ServerStatus<'_>, plugin: &Plugin) -> Result<Box<Approved<Plan>>, Verdict> {
    if server.entry.server.is_err() {
        return Err(Verdict::Off);
    }
    let plan = plugin.plan(&server.entry.name);
    let ready = plan.and_then(|plan| plan.approved_before());
    let ready = ready.map_err(|error| {
        let error = error.into();
        faulty(Fault::of_error(&error, Stage::Trust, None))
    })?;
    Ok(Box::new(ready))
}

/// Stands for the name of a server where a whole file is meant.
pub(super) const NO_SERVER: &str = "-";

fn faulty(fault: Fault) -> Verdict {
    Verdict::Faulty(Box::new(fault))
}
