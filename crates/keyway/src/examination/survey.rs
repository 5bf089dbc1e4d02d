//! What is known of servers without a request: files, variables, approvals and stored sign-ins.

use keyway_approval::runs_program;
use keyway_code::{Code, Reason, ServerState, Stage, State};
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::method::Method;
use keyway_config::resolve::{SpecEndpoint, resolve};
use keyway_lint::mask;
use keyway_mcp::explain::naming;

use super::rules;
use crate::approval::{ApprovalStore, Question};
use crate::diagnosis::{Diagnosis, Finding, Variable};
use crate::host::{Error, Host};
use crate::load::Loaded;
use crate::settings::Confinement;
use crate::sign_in::Accounts;
use crate::status::{self, ServerStatus};

/// The servers of plugins, as they are without a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Survey<'a> {
    /// The servers, plugin by plugin and in the order of the files.
    pub servers: Vec<Surveyed<'a>>,
    /// What explains failed servers, and files that give none; tokens in it are masked.
    pub findings: Vec<Diagnostic>,
}

/// One server of a [`Survey`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Surveyed<'a> {
    /// What is known of it.
    pub diagnosis: Diagnosis,
    loaded: &'a Loaded,
    status: ServerStatus<'a>,
}

impl<'a> Survey<'a> {
    /// Looks at files and variables.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Load`] if the env file cannot be read.
    pub fn of(plugins: &[&'a Loaded], host: &Host) -> Result<Self, Error> {
        let (mut servers, mut findings) = (Vec::new(), Vec::new());
        for &loaded in plugins {
            let variables = host.variable_scope(loaded)?;
            let scope = variables.scope();
            let found = status::of(&loaded.plugin, &scope);
            let mut explaining = rules::explaining(&loaded.plugin, scope, &found);
            // A rule may quote a name that was made of a token.
            mask::in_diagnostics(&mut explaining);
            let plugin = loaded.plugin.name();
            servers.extend(found.into_iter().map(|status| Surveyed {
                diagnosis: diagnose(&plugin, &status, &explaining),
                loaded,
                status,
            }));
            findings.extend(explaining);
        }
        Ok(Self { servers, findings })
    }

    /// Adds what is wrong with helpers that cannot be run: to approve them would not help.
    pub fn add_helper_faults(&mut self) {
        let Self { servers, findings } = self;
        for server in servers.iter_mut().filter(|it| it.waits_for_approval()) {
            let name = server.status.entry.name.as_str();
            let mut faults = rules::of_helpers(&server.loaded.plugin);
            // A rule may quote a name that was made of a token.
            mask::in_diagnostics(&mut faults);
            let mut faults = faults.into_iter();
            let own = |fault: &Diagnostic| fault.server.as_deref() == Some(name);
            let Some(mut fault) = faults.find(own) else {
                continue;
            };
            fault.severity = Severity::Error;
            let found = server.diagnosis.clone();
            let found = rules::with_finding(found, Stage::Token, &fault);
            server.diagnosis = Diagnosis {
                state: fault.code.state(),
                ..found
            };
            findings.push(fault);
        }
    }

    /// Says whether the vault knows more about a server: an approval, or a sign-in.
    #[must_use]
    pub fn needs_vault(&self) -> bool {
        let mut servers = self.servers.iter();
        servers.any(|server| server.waits_for_approval() || server.uses_oauth())
    }

    /// Adds what has to be approved where nothing is stored yet, so that nothing can be.
    pub fn add_questions(&mut self, host: &Host) {
        for server in &mut self.servers {
            if server.waits_for_approval() {
                server.diagnosis.question = server.question(host);
            }
        }
    }

    /// Adds approvals and sign-ins.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHome`] where nothing is stored, [`Error::Store`] if it cannot be read.
    pub fn add_stored(&mut self, host: &Host, accounts: &Accounts) -> Result<(), Error> {
        let vault = accounts.vault().ok_or(Error::NoHome)?;
        let host = &host.with_approvals_of(accounts, vault);
        let store = host.approval_store().ok_or(Error::NoHome)?;
        for server in &mut self.servers {
            if server.waits_for_approval() {
                server.add_approval(host, store)?;
            }
            if server.uses_oauth() {
                server.add_sign_in(host, accounts)?;
            }
        }
        Ok(())
    }
}

impl Surveyed<'_> {
    /// Says whether using the server starts a program: its own, or a helper.
    #[must_use]
    pub fn runs_program(&self) -> bool {
        let server = self.status.entry.server.as_ref();
        server.is_ok_and(runs_program)
    }

    /// Returns what its programs are kept from, as the person decided; `None` if it runs none.
    #[must_use]
    pub fn confinement(&self, host: &Host) -> Option<Confinement> {
        let server = self.status.entry.server.as_ref().ok()?;
        runs_program(server).then(|| host.confinement(self.loaded, server))
    }

    fn waits_for_approval(&self) -> bool {
        self.diagnosis.state.reason == Some(Reason::PendingTrust)
    }

    fn uses_oauth(&self) -> bool {
        self.diagnosis.method == Some(Method::OAuth)
    }

    fn add_approval(&mut self, host: &Host, store: &dyn ApprovalStore) -> Result<(), Error> {
        let Some(question) = self.question(host) else {
            return Ok(());
        };
        let approval = store.find(&question.source, &question.server)?;
        let is_approved = approval.is_some_and(|approval| approval.covers(&question.digest));
        if is_approved || host.is_approved_for_this_run(&question) {
            self.diagnosis.clear_approval();
        } else {
            self.diagnosis.question = Some(question.compared_with(store));
        }
        Ok(())
    }

    fn question(&self, host: &Host) -> Option<Question> {
        let server = self.status.entry.server.as_ref().ok()?;
        let variables = host.variable_scope_of(self.loaded, server).ok()?;
        host.question(self.loaded, server, &variables)
    }

    /// Adds the sign-in; one that has ended makes the server wait for a person.
    fn add_sign_in(&mut self, host: &Host, accounts: &Accounts) -> Result<(), Error> {
        let Ok(server) = &self.status.entry.server else {
            return Ok(());
        };
        let variables = host.variable_scope(self.loaded)?;
        let root = variables.host_variables().source();
        let spec = resolve(server, &variables.scope());
        let Ok(SpecEndpoint::Remote(remote)) = spec.map(|spec| spec.endpoint) else {
            return Ok(());
        };
        let plugin = &self.diagnosis.plugin.clone();
        let key = accounts.key(plugin, &server.name, root, &remote);
        let found = accounts.status(&key)?;
        if let Some(kept) = found.as_ref().filter(|kept| kept.ended) {
            let fault = kept.fault().map(|fault| format!(": {fault}"));
            let code = Code::RefreshFailed;
            self.diagnosis.state = code.state();
            self.diagnosis = self.diagnosis.clone().with(Finding {
                code,
                message: format!("the stored sign-in has ended{}", fault.unwrap_or_default()),
                hint: naming(code.hint(), None, &server.name),
            });
        }
        #[cfg(feature = "vault")]
        if found.is_none() {
            let moved = accounts.moved(&key)?;
            self.diagnosis.moved_to = moved.map(|moved| moved.fingerprint);
        }
        #[cfg(feature = "vault")]
        {
            self.diagnosis.unstored_sign_in = accounts.unstored_sign_in(&key);
        }
        let is_open = || accounts.is_known_open(plugin, &server.name, &remote);
        if found.is_none() && is_open() {
            self.diagnosis.method = Some(Method::None);
        }
        self.diagnosis.sign_in = found;
        Ok(())
    }
}

fn diagnose(plugin: &str, status: &ServerStatus<'_>, findings: &[Diagnostic]) -> Diagnosis {
    let entry = status.entry;
    let mut found = Diagnosis::new(plugin, entry.name.as_str());
    let source = &status.document.source;
    let declared_at = source.locate(entry.name_span, &entry.pointer);
    found.declared_at = Some(declared_at.clone());
    found.transport = status.transport;
    found.method = status.method;
    found.state = ServerState::without_reason(status.state);
    found.state.reason = status.reason;
    let variables = status.variables.iter().map(|variable| Variable {
        name: variable.name.to_owned(),
        is_set: variable.is_set,
        origin: variable.origin,
        has_default: variable.has_default,
    });
    found.variables = variables.collect();
    let server = entry.name.clone();
    match (status.state, status.reason) {
        (State::Disabled, _) => {
            let declared_at = Box::new(declared_at);
            of_error(
                found,
                &Error::Disabled {
                    server,
                    declared_at,
                },
            )
        }
        (_, Some(Reason::NotConfigured)) => {
            let hint = empty_url(&found.variables);
            let found = found.with(Finding {
                code: Code::NotConfigured,
                message: "its `url` is empty".to_owned(),
                hint,
            });
            Diagnosis {
                stage: Stage::Rules,
                exit: Code::NotConfigured.exit(),
                ..found
            }
        }
        (_, Some(Reason::PendingTrust)) => of_error(found, &Error::pending(server, declared_at)),
        (State::Failed, _) => failed(found, status, findings),
        _ => found,
    }
}

/// Adds what an error says of a server that is not used.
fn of_error(mut found: Diagnosis, error: &Error) -> Diagnosis {
    let code = error.code();
    found.stage = code.stage().unwrap_or(Stage::File);
    found.code = Some(code);
    found.message = error.to_string();
    found.hint = error.hint();
    found.exit = error.exit();
    found
}

fn failed(found: Diagnosis, status: &ServerStatus<'_>, findings: &[Diagnostic]) -> Diagnosis {
    let finding = findings
        .iter()
        .find(|finding| rules::stops(finding, status));
    let own = |finding: &&Diagnostic| finding.server.as_ref() == Some(&status.entry.name);
    let Some(finding) = finding.or_else(|| findings.iter().find(own)) else {
        return found;
    };
    let stage = match finding.code {
        Code::UnresolvedVariable | Code::UnusableValue => Stage::Variables,
        _ if status.document.is_usable() => Stage::Rules,
        _ => Stage::File,
    };
    let mut found = rules::with_finding(found, stage, finding);
    let mut missing = found.variables.iter();
    let unset = missing.find(|variable| !variable.is_set && !variable.has_default);
    if let Some(unset) = unset.filter(|_| finding.code == Code::UnresolvedVariable) {
        let hint = found.hint.unwrap_or_default();
        let name = &unset.name;
        found.hint = Some(format!("{hint}, or keep it: keyway env set {name}"));
    }
    found
}

/// Says how an address that is empty gets filled in.
fn empty_url(variables: &[Variable]) -> String {
    let mut optional = variables.iter();
    let found = optional.find(|variable| !variable.is_set && variable.has_default);
    match found {
        Some(variable) => {
            let name = &variable.name;
            format!("set the address: export {name}=https://…; or write it into `url` of the entry")
        }
        None => "write the address into `url` of the entry".to_owned(),
    }
}
