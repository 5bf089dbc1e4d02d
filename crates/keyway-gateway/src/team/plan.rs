//! An entry as one person uses it, and what that person, or an admin, has to do first.

use std::fmt::Write as _;

use keyway::approval::{Question, decides_about_code};
use keyway::settings::SandboxProfile;
use keyway::store::StoreError;
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_code::{Code, ServerState, State};
use keyway_config::environment::{Environment as _, is_host_variable};
use keyway_config::usage::{self, FieldRole};
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_secret::printable;

use super::Team;
use crate::gateway::{PersonEntry, PersonVariable, SetBy};

/// What a person has to do before an entry works for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Set variables.
    Variables,
    /// Agree to where their own values lead.
    Approval,
}

/// Why an entry cannot be used for a person.
#[derive(Debug)]
pub(crate) struct Obstacle {
    pub(crate) problem: ServerProblem,
    /// Set if the person can remove it on a page of their own.
    pub(crate) need: Option<Need>,
}

impl Team {
    /// Plans an entry for a person. Blocks while files and stores are read.
    pub(crate) fn plan(
        &self,
        plugin: &Plugin,
        server: &str,
        person: &Person,
    ) -> Result<Approved<Plan>, Obstacle> {
        let tenant = plugin.host();
        // As the tenant fills it in: what the admins approved, and in whose hands it changed since.
        let shared = plugin.plan(server)?;
        if let Some(question) = shared.question()
            && !is_approved(tenant, question)?
        {
            return Err(not_approved(plugin, server, question));
        }
        let runs_program = |question: &Question| question.confinement().is_some();
        let is_program = shared.question().is_some_and(runs_program);
        let use_ = self.own_values(plugin, server, person, is_program)?;
        let host = self.host_of_values(tenant, person, &use_)?;
        let own = host.plugin(plugin.loaded().clone()).plan(server)?;
        if let Some(question) = own.question().filter(|it| runs_program(it)) {
            check_programs(tenant, plugin, server, question)?;
        }
        match own.find_approval() {
            Ok(Some(approved)) => Ok(approved),
            Ok(None) => Err(self.to_agree(server, own.question())),
            // What no person can set right is worded as the error that it is.
            Err(Error::Unresolved { errors, .. })
                if matches!(use_, OwnValues::Alone(_))
                    || errors
                        .iter()
                        .all(|it| it.code() == Code::UnresolvedVariable) =>
            {
                let fields = errors.iter().map(|error| error.to_string());
                let fields: Vec<_> = fields.collect();
                Err(self.to_set(server, &fields.join("; "), &use_))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Describes an entry to a person. Blocks while files and stores are read.
    pub(crate) fn entry(
        &self,
        plugin: &Plugin,
        server: &str,
        person: &Person,
    ) -> Result<PersonEntry, Error> {
        let (_, declared) = plugin.entry(Some(server))?;
        // A value that may not be used is not shown as one that is set for all.
        let is_program = plugin
            .plan(server)?
            .question()
            .is_some_and(|it| it.confinement().is_some());
        let use_ = self.own_values(plugin, server, person, is_program);
        let use_ = use_.unwrap_or(OwnValues::Beside);
        let host = self.host_of_values(plugin.host(), person, &use_)?;
        let scope = host.variable_scope(plugin.loaded())?;
        let own = self.variables(person)?.all()?;
        let mut variables: Vec<PersonVariable> = Vec::new();
        for (role, field) in usage::fields(declared) {
            for variable in field.template.variables() {
                let name = &variable.name;
                if is_host_variable(name) {
                    continue;
                }
                let known = variables.iter_mut().find(|it| it.name == *name);
                if let Some(known) = known {
                    known.fields.push(role.describe());
                    continue;
                }
                let stored_name = scope.kept_name(name);
                let is_own = own.iter().any(|(own, _)| *own == stored_name);
                let has_value = || scope.get(name).is_some_and(|it| !it.expose().is_empty());
                let set_by = match () {
                    () if is_own => SetBy::Person,
                    () if has_value() => SetBy::Tenant,
                    () if variable.default.is_some() => SetBy::Default,
                    () => SetBy::NotSet,
                };
                variables.push(PersonVariable {
                    name: name.clone(),
                    stored_name,
                    fields: vec![role.describe()],
                    set_by,
                });
            }
        }
        let obstacle = self.plan(plugin, server, person).err();
        let is_asked = obstacle.is_some_and(|it| it.need == Some(Need::Approval));
        let question = match is_asked {
            true => self.question(plugin, server, person)?,
            false => None,
        };
        Ok(PersonEntry {
            variables,
            question,
        })
    }

    /// Stores what a person agreed to, if it is what was shown; returns whether it was. Blocks.
    pub(crate) fn agree(
        &self,
        plugin: &Plugin,
        server: &str,
        (person, digest): (&Person, &str),
    ) -> Result<bool, Error> {
        let obstacle = self.plan(plugin, server, person).err();
        if obstacle.is_none_or(|it| it.need != Some(Need::Approval)) {
            return Ok(false);
        }
        let question = self.question(plugin, server, person)?;
        let Some(question) = question.filter(|it| it.digest.to_string() == digest) else {
            return Ok(false);
        };
        // The answer of this person, to this very question, in their own browser.
        let agreed = question.dangerous_answer(keyway::approval::Answer::Yes);
        let host = self.host(plugin.host(), person)?;
        match agreed {
            Some(agreed) => host.store_approval(&agreed).map(|()| true),
            None => Ok(false),
        }
    }

    fn question(
        &self,
        plugin: &Plugin,
        server: &str,
        person: &Person,
    ) -> Result<Option<Question>, Error> {
        let shared = plugin.plan(server)?;
        let is_program = shared
            .question()
            .is_some_and(|it| it.confinement().is_some());
        let Ok(use_) = self.own_values(plugin, server, person, is_program) else {
            return Ok(None);
        };
        let host = self.host_of_values(plugin.host(), person, &use_)?;
        host.plugin(plugin.loaded().clone()).question(server)
    }

    /// Decides what a person's own values may do in an entry. Values that are set for all go only where
    /// admins let them go: a person whose value has a say in that gets none of them.
    fn own_values(
        &self,
        plugin: &Plugin,
        server: &str,
        person: &Person,
        is_program: bool,
    ) -> Result<OwnValues, Obstacle> {
        let (_, declared) = plugin.entry(Some(server))?;
        let fields = usage::fields(declared);
        let deciding = |role| match role {
            // Sent to where the rest of the entry leads.
            FieldRole::Header(_) => is_program,
            _ => true,
        };
        let mut deciding = fields.iter().filter(|(role, _)| deciding(*role)).peekable();
        if deciding.peek().is_none() {
            return Ok(OwnValues::Beside);
        }
        let scope = plugin.host().variable_scope(plugin.loaded())?;
        let own = self.variables(person)?.all()?;
        let mut found = OwnValues::Beside;
        for (role, field) in deciding {
            for variable in field.template.variables() {
                let name = &variable.name;
                let stored_name = scope.kept_name(name);
                if is_host_variable(name) || !own.iter().any(|(own, _)| *own == stored_name) {
                    continue;
                }
                if is_program && decides_what_runs(*role) {
                    return Err(decides(server, name, *role));
                }
                if matches!(found, OwnValues::Beside) {
                    found = OwnValues::Alone(name.clone());
                }
            }
        }
        Ok(found)
    }

    /// Returns the host of one person, with the values that they may use.
    fn host_of_values(
        &self,
        tenant: &Host,
        person: &Person,
        use_: &OwnValues,
    ) -> Result<Host, StoreError> {
        let host = self.host(tenant, person)?;
        Ok(match use_ {
            OwnValues::Beside => host,
            OwnValues::Alone(_) => host.with_variables_of([self.variables(person)?]),
        })
    }

    fn to_set(&self, server: &str, fields: &str, use_: &OwnValues) -> Obstacle {
        let server = printable(server);
        let mut message =
            format!("`{server}` cannot be used with the variables as they are: {fields}");
        if let OwnValues::Alone(name) = use_ {
            let name = printable(name);
            let why = format!(
                " (your own `{name}` decides where they go, so those that are set for all are not used)"
            );
            message.push_str(&why);
        }
        self.on_page(Code::UnresolvedVariable, message, Need::Variables)
    }

    fn to_agree(&self, server: &str, question: Option<&Question>) -> Obstacle {
        let mut message = format!(
            "your own variables lead `{}` elsewhere than your admins approved",
            printable(server)
        );
        let facts = question.iter().flat_map(|it| &it.facts);
        let reached = facts.filter(|fact| fact.kind == keyway::approval::FactKind::Reaches);
        for fact in reached {
            // Writing to a string cannot fail.
            let _ = write!(message, ": {}", fact.text());
        }
        self.on_page(Code::PendingTrust, message, Need::Approval)
    }

    fn on_page(&self, code: Code, message: String, need: Need) -> Obstacle {
        let mut problem = ServerProblem::new(code, message);
        // Whatever the code says elsewhere, here only the person can help.
        problem.state = ServerState::without_reason(State::NeedsAuth);
        problem.hint = Some(match self.page() {
            Some(page) => format!("on your own page: {page}"),
            None => "an admin sets it for all with `keyway env set NAME`, or names a client in \
                     `browser_clients`, so that you can set your own"
                .to_owned(),
        });
        Obstacle {
            problem,
            need: self.page().is_some().then_some(need),
        }
    }
}

/// What a person's own values may do in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OwnValues {
    /// They are used before those that are set for all.
    Beside,
    /// This one has a say in where values go, so that no value of all is used with it.
    Alone(String),
}

/// Says whether a field decides which program runs, or what code it loads. No person decides that.
fn decides_what_runs(role: FieldRole<'_>) -> bool {
    match role {
        FieldRole::Command | FieldRole::Argument(_) | FieldRole::Cwd | FieldRole::EnvFile => true,
        FieldRole::Env(name) => decides_about_code(name),
        _ => false,
    }
}

fn decides(server: &str, variable: &str, role: FieldRole<'_>) -> Obstacle {
    let message = format!(
        "your own `{}` would decide what runs on the gateway for `{}` ({})",
        printable(variable),
        printable(server),
        role.describe()
    );
    ServerProblem::new(Code::Forbidden, message)
        .with_hint("remove it on your page of variables; an admin can set it for all")
        .into()
}

/// Says whether admins approved what is asked, or everything for this run.
fn is_approved(host: &Host, question: &Question) -> Result<bool, StoreError> {
    if host.dangerous_approves_all() || host.is_approved_for_this_run(question) {
        return Ok(true);
    }
    let Some(store) = host.approval_store() else {
        return Ok(false);
    };
    let found = store.find(&question.source, &question.server)?;
    Ok(found.is_some_and(|found| found.covers(&question.digest)))
}

/// Refuses programs that the admins did not approve for people as they are now, word for word.
fn check_programs(
    tenant: &Host,
    plugin: &Plugin,
    server: &str,
    question: &Question,
) -> Result<(), Obstacle> {
    let store = tenant.approval_store();
    let found = store.map(|store| store.find(&question.source, &question.server));
    let found = found.transpose()?.flatten();
    let is_for_people = found.is_some_and(|found| found.is_for_people(question));
    let confinement = question.confinement().map(|it| it.profile);
    if is_for_people && confinement == Some(SandboxProfile::Confine) {
        return Ok(());
    }
    let message = format!(
        "`{}` runs a program on the gateway, and no admin approved that program for people",
        printable(server)
    );
    let site = plugin.declaration_site(server).without_path();
    let grant = site.word("keyway trust grant SERVER --for-people");
    let hint = format!("an admin can look at it and approve it: {grant}");
    Err(ServerProblem::new(Code::Forbidden, message)
        .with_hint(hint)
        .into())
}

fn not_approved(plugin: &Plugin, server: &str, question: &Question) -> Obstacle {
    let message = format!("no admin approved `{}` as it is now", printable(server));
    let site = plugin.declaration_site(server).without_path();
    let digest = question.digest;
    // A program needs both, and one approval can be both.
    let grant = match question.confinement() {
        Some(_) => format!("keyway trust grant SERVER --for-people --digest {digest}"),
        None => format!("keyway trust grant SERVER --digest {digest}"),
    };
    let hint = format!(
        "an admin can look at it and approve it: {}",
        site.word(&grant)
    );
    ServerProblem::new(Code::PendingTrust, message)
        .with_hint(hint)
        .into()
}

impl From<ServerProblem> for Obstacle {
    fn from(problem: ServerProblem) -> Self {
        Self {
            problem,
            need: None,
        }
    }
}

impl From<Error> for Obstacle {
    fn from(error: Error) -> Self {
        problem_for_person(&error).into()
    }
}

/// Words an error for a person of another machine: without places of this one, and without a hint that
/// names some.
pub(crate) fn problem_for_person(error: &Error) -> ServerProblem {
    let mut problem = error.problem();
    problem.source = None;
    problem.hint = problem.hint.filter(|hint| !hint.contains(" --config "));
    problem
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}
