//! What an entry resolves to.

use std::fmt;

use keyway_secret::Secret;

use super::ResolveNote;
use crate::address::Address;
use crate::declared::{Helper, Transport};
use crate::environment::{Origin, Scope};
use crate::headers::is_credential_header;
use crate::method::Method;
use crate::source::Location;
use crate::template::Template;

/// A server with every variable filled in: what connecting starts from.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// The name in the file.
    pub name: String,
    /// Where the entry stands.
    pub declared_at: Location,
    /// How frames travel.
    pub transport: Transport,
    /// How it is authenticated to.
    pub method: Method,
    /// What to reach or to start.
    pub endpoint: SpecEndpoint,
    /// Variables for the process or the helper.
    pub env: Vec<(String, Resolved)>,
    /// The values that its variables were filled with, so that reports can mask them.
    pub values: Vec<Secret<String>>,
    /// Milliseconds a call may take.
    pub timeout_ms: Option<u64>,
    /// What a person may want to know, though nothing is wrong.
    pub notes: Vec<ResolveNote>,
}

impl ServerSpec {
    /// Lets the process or the helper have a variable that the person granted, if it has a value
    /// that no process inherits: one of an env file, or one that is kept. What the entry itself sets
    /// stays as it is.
    pub fn grant(&mut self, name: &str, scope: &Scope<'_>) {
        let is_inherited = scope.origin(name).is_none_or(|it| it == Origin::Process);
        if is_inherited || self.env.iter().any(|(own, _)| own == name) {
            return;
        }
        if let Some(value) = scope.lookup(name) {
            let template = Template::parse(&format!("${{{name}}}"));
            self.values.push(value.clone());
            let location = Box::new(self.declared_at.clone());
            let granted = Resolved {
                template,
                value,
                location,
            };
            self.env.push((name.to_owned(), granted));
        }
    }
}

/// What a resolved entry reaches or starts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SpecEndpoint {
    /// The address is empty: the person has not configured it.
    NotConfigured,
    /// A server somewhere else.
    Remote(Box<RemoteSpec>),
    /// A process on this machine.
    Local(LocalSpec),
}

/// A remote server.
#[derive(Debug, Clone)]
pub struct RemoteSpec {
    /// Where it is.
    pub address: Address,
    /// The address as written.
    pub template: Template,
    /// The headers to send with every request.
    pub headers: Vec<(String, Resolved)>,
    /// The program that prints more of them.
    pub helper: Option<Helper>,
    /// String members of `oauth`.
    pub oauth: Vec<(String, Resolved)>,
    /// Scopes to ask for; empty to follow the server.
    pub scopes: Vec<String>,
    /// The port for the browser to come back to.
    pub callback_port: Option<u16>,
}

/// A local process.
#[derive(Debug, Clone)]
pub struct LocalSpec {
    /// The program.
    pub command: Resolved,
    /// Its arguments.
    pub args: Vec<Resolved>,
    /// Where it starts.
    pub cwd: Option<Resolved>,
}

/// A value and the template it came from; shows the template.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub(super) template: Template,
    pub(super) value: Secret<String>,
    pub(super) location: Box<Location>,
}

impl Resolved {
    /// Returns the value for the one place that uses it.
    #[must_use]
    pub const fn value(&self) -> &Secret<String> {
        &self.value
    }

    /// Returns where the file says it; of a variable that the person granted, where the entry is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Returns the variables that it is made of, each once.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for variable in self.template.variables() {
            if !names.contains(&variable.name) {
                names.push(variable.name.clone());
            }
        }
        names
    }

    /// Returns what the file says.
    #[must_use]
    pub const fn template(&self) -> &Template {
        &self.template
    }
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.template.fmt(f)
    }
}

impl RemoteSpec {
    /// Returns where a tenant, workspace or organisation is sent, and the variable that says which.
    #[must_use]
    pub fn tenant(&self) -> Option<(String, String)> {
        let in_headers = self.headers.iter().find_map(|(name, value)| {
            let feeding = value.variables().into_iter().next()?;
            let is_tenant = !is_credential_header(name) && names_tenant(name);
            is_tenant.then(|| (format!("`{name}`"), feeding))
        });
        in_headers.or_else(|| {
            let mut all = self.template.variables();
            let found = all.find(|variable| names_tenant(&variable.name))?;
            Some(("the address".to_owned(), found.name.clone()))
        })
    }
}

fn names_tenant(name: &str) -> bool {
    let mut parts = name.split(['-', '_']);
    parts.any(|part| TENANTS.iter().any(|known| part.eq_ignore_ascii_case(known)))
}

const TENANTS: &[&str] = &[
    "account",
    "organisation",
    "organization",
    "org",
    "project",
    "team",
    "tenant",
    "workspace",
];
