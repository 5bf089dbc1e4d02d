//! Turns a [`DeclaredServer`] into a [`ServerSpec`] by filling in its variables.
//!
//! Nothing is sent or started unless every field resolved. Each value remembers its template, which
//! is all that is ever shown of it.

mod error;
mod spec;

use keyway_secret::{Secret, printable};

use crate::address::{Address, AddressError};
use crate::declared::{
    DeclaredServer, Endpoint, Field, Local, NamedField, OAuth, OAuthFields, Remote, Transport,
};
use crate::environment::{Scope, is_host_variable};
use crate::headers::{
    MAX_HEADERS, MAX_VALUE_BYTES, is_credential_header, is_token, is_transport_owned,
};
use crate::method::{Method, is_blank};
use crate::oauth_rules::{self, OAuthFault};
use crate::placeholder;
use crate::source::Location;
use crate::template::{Foreign, Template};
use crate::usage::{self, FieldRole};

pub use self::error::{
    BadHeaderValue, NoteKind, ResolveError, ResolveErrors, ResolveFault, ResolveNote,
};
pub use self::spec::{LocalSpec, RemoteSpec, Resolved, ServerSpec, SpecEndpoint};

/// Fills in every variable of an entry.
///
/// # Errors
///
/// Returns everything that stands in the way, in the order of the fields.
pub fn resolve(server: &DeclaredServer, scope: &Scope<'_>) -> Result<ServerSpec, ResolveErrors> {
    let scope = &server.scope(scope);
    let mut resolver = Resolver {
        server,
        roles: usage::fields(server),
        scope,
        errors: Vec::new(),
        notes: Vec::new(),
    };
    resolver.refuse_redefinitions(&server.env);
    for fault in oauth_rules::check(server) {
        let OAuthFault {
            kind,
            span,
            pointer,
        } = fault;
        let location = server.source.locate(span, &pointer);
        resolver.push(kind.into(), location);
    }
    if let Endpoint::Remote(remote) = &server.endpoint
        && resolver.is_empty(&remote.url)
    {
        return Ok(not_configured(server, remote));
    }
    if let Some(file) = &server.env_file {
        resolver.plain(file, Foreign::Refuse);
    }
    let env = resolver.env(&server.env);
    let (endpoint, method) = match &server.endpoint {
        Endpoint::Local(local) => (resolver.local(local), Method::local(env.len())),
        Endpoint::Remote(remote) => resolver.remote(remote, server.transport),
    };
    match endpoint {
        Some(endpoint) if resolver.errors.is_empty() => Ok(ServerSpec {
            name: server.name.clone(),
            declared_at: server.declared_at(),
            transport: server.transport,
            method,
            endpoint,
            env,
            values: values(server, scope),
            timeout_ms: server.timeout_ms,
            notes: resolver.notes,
        }),
        _ => Err(ResolveErrors::new(server.name.clone(), resolver.errors)),
    }
}

/// Returns the values of the variables that an entry names, as far as they are set.
fn values(server: &DeclaredServer, scope: &Scope<'_>) -> Vec<Secret<String>> {
    let names = usage::names(server).into_iter();
    names.filter_map(|name| scope.lookup(name)).collect()
}

/// An entry whose address is empty waits for its person; nothing else about it is looked at.
fn not_configured(server: &DeclaredServer, remote: &Remote) -> ServerSpec {
    let names = remote.headers.iter().map(|header| header.name.as_str());
    ServerSpec {
        name: server.name.clone(),
        declared_at: server.declared_at(),
        transport: server.transport,
        method: Method::remote(remote, server.transport, names),
        endpoint: SpecEndpoint::NotConfigured,
        env: Vec::new(),
        values: Vec::new(),
        timeout_ms: server.timeout_ms,
        notes: Vec::new(),
    }
}

struct Resolver<'a> {
    server: &'a DeclaredServer,
    roles: Vec<(FieldRole<'a>, &'a Field)>,
    scope: &'a Scope<'a>,
    errors: Vec<ResolveError>,
    notes: Vec<ResolveNote>,
}

impl Resolver<'_> {
    fn local(&mut self, local: &Local) -> Option<SpecEndpoint> {
        let Local { command, args, cwd } = local;
        let command = self.plain(command, Foreign::Keep);
        let args: Vec<_> = args
            .iter()
            .map(|field| self.plain(field, Foreign::Keep))
            .collect();
        let cwd = cwd.as_ref().map(|field| self.plain(field, Foreign::Refuse));
        Some(SpecEndpoint::Local(LocalSpec {
            command: command?,
            args: args.into_iter().collect::<Option<_>>()?,
            cwd: cwd.map_or(Some(None), |cwd| cwd.map(Some))?,
        }))
    }

    fn remote(&mut self, remote: &Remote, transport: Transport) -> (Option<SpecEndpoint>, Method) {
        let Remote {
            url,
            headers,
            helper,
            oauth,
        } = remote;
        let headers = self.headers(headers);
        let names = headers.iter().map(|(name, _)| name.as_str());
        let method = Method::remote(remote, transport, names);
        let template = url.template.clone();
        if placeholder::in_address(&template, Some(self.scope)) {
            self.error(url, ResolveFault::Placeholder);
        }
        let address = Address::resolve(&template, transport, self.scope);
        let address = address.map_err(|error| self.address_error(url, error));
        let (oauth, scopes, callback_port) = self.oauth(oauth);
        let spec = address.ok().map(|address| {
            let helper = helper.clone();
            let spec = RemoteSpec {
                address,
                template,
                headers,
                helper,
                oauth,
                scopes,
                callback_port,
            };
            SpecEndpoint::Remote(Box::new(spec))
        });
        (spec, method)
    }

    /// Reports what is wrong with an address, of missing variables all and not just the first.
    fn address_error(&mut self, url: &Field, error: AddressError) {
        let AddressError::Expand(_) = error else {
            return self.error(url, error.into());
        };
        let missing = url.template.expand(self.scope, Foreign::Refuse);
        for error in missing.err().unwrap_or_default() {
            self.error(url, error.into());
        }
    }

    fn oauth(&mut self, oauth: &OAuth) -> (Vec<(String, Resolved)>, Vec<String>, Option<u16>) {
        let OAuth::Configured(fields) = oauth else {
            return (Vec::new(), Vec::new(), None);
        };
        let OAuthFields {
            strings,
            scopes,
            callback_port,
            span: _,
        } = &**fields;
        for field in strings.iter().map(|field| &field.value).chain(scopes) {
            if placeholder::in_oauth(&field.template, Some(self.scope)) {
                self.error(field, ResolveFault::Placeholder);
            }
        }
        let strings = self.env(strings);
        let scopes = scopes
            .iter()
            .filter_map(|field| self.plain(field, Foreign::Refuse));
        let words: Vec<String> = scopes
            .flat_map(|scope| {
                scope
                    .value
                    .expose()
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        (strings, words, *callback_port)
    }

    fn headers(&mut self, declared: &[NamedField]) -> Vec<(String, Resolved)> {
        let mut headers: Vec<(String, Resolved)> = Vec::with_capacity(declared.len());
        for (index, header) in declared.iter().enumerate() {
            let name = header.name.clone();
            if index >= MAX_HEADERS {
                self.error(&header.value, ResolveFault::TooManyHeaders);
                break;
            }
            let repeated = headers
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(&name));
            if repeated || !is_token(&name) {
                self.error(&header.value, ResolveFault::HeaderName { name });
                continue;
            }
            // Written by the transport itself; the linter warns that this one is ignored.
            if is_transport_owned(&name) {
                continue;
            }
            let Some(resolved) = self.expand(&header.value, Foreign::Refuse) else {
                continue;
            };
            let is_for_credentials = is_credential_header(&name);
            if carries_nothing(&name, &resolved) {
                self.note(&header.value, NoteKind::EmptyHeaderDropped);
            } else if let Some(what) = bad_value(resolved.value.expose()) {
                let variable = self.variable_with(&header.value, |text| bad_value(text).is_some());
                let fault = ResolveFault::HeaderValue {
                    name,
                    variable,
                    what,
                };
                self.error(&header.value, fault);
            } else if placeholder::in_header(
                &header.value.template,
                is_for_credentials,
                Some(self.scope),
            ) {
                self.error(&header.value, ResolveFault::Placeholder);
            } else {
                headers.push((name, resolved));
            }
        }
        headers
    }

    /// Passing on what the host sets anyway is harmless; anything else is refused.
    fn refuse_redefinitions(&mut self, declared: &[NamedField]) {
        for field in declared
            .iter()
            .filter(|field| is_host_variable(&field.name))
        {
            if field.value.template.as_str() != format!("${{{}}}", field.name) {
                let name = field.name.clone();
                self.error(&field.value, ResolveFault::HostVariable { name });
            }
        }
    }

    fn env(&mut self, declared: &[NamedField]) -> Vec<(String, Resolved)> {
        let mut values = Vec::with_capacity(declared.len());
        for field in declared {
            let value = self.expand(&field.value, Foreign::Refuse);
            if value
                .as_ref()
                .is_some_and(|value| value.value.expose().contains('\0'))
            {
                let variable = self.variable_with(&field.value, |text| text.contains('\0'));
                self.error(&field.value, ResolveFault::ControlCharacter { variable });
                continue;
            }
            values.extend(value.map(|value| (field.name.clone(), value)));
        }
        values
    }

    /// Fills in a value that must be one line.
    fn plain(&mut self, field: &Field, foreign: Foreign) -> Option<Resolved> {
        let resolved = self.expand(field, foreign)?;
        // A line break that the author wrote is theirs; one that a value brings is a surprise.
        let brought =
            !field.template.is_literal() && resolved.value.expose().contains(['\r', '\n']);
        if brought || resolved.value.expose().contains('\0') {
            let variable = self.variable_with(field, |text| text.contains(['\r', '\n', '\0']));
            self.error(field, ResolveFault::ControlCharacter { variable });
            return None;
        }
        Some(resolved)
    }

    fn expand(&mut self, field: &Field, foreign: Foreign) -> Option<Resolved> {
        match field.template.expand(self.scope, foreign) {
            Ok(value) => {
                let text = value.expose();
                if !field.template.is_literal()
                    && text.trim() != text
                    && !is_left_empty(&field.template, text)
                {
                    self.note(field, NoteKind::BlankAround);
                }
                Some(Resolved {
                    template: field.template.clone(),
                    value,
                    location: Box::new(self.server.locate(field)),
                })
            }
            Err(errors) => {
                for error in errors {
                    self.error(field, error.into());
                }
                None
            }
        }
    }

    /// Says whether a field comes out empty without any error.
    fn is_empty(&self, field: &Field) -> bool {
        let value = field.template.expand(self.scope, Foreign::Refuse);
        value.is_ok_and(|value| value.expose().is_empty())
    }

    /// Returns the variable of a field whose value is as `is_bad` says.
    fn variable_with(&self, field: &Field, is_bad: impl Fn(&str) -> bool) -> Option<String> {
        let mut variables = field.template.variables();
        let bad = variables.find(|variable| {
            let value = self.scope.lookup(&variable.name);
            value.is_some_and(|value| is_bad(value.expose()))
        });
        bad.map(|variable| variable.name.clone())
    }

    fn error(&mut self, field: &Field, fault: ResolveFault) {
        self.push(fault, self.server.locate(field));
    }

    fn push(&mut self, fault: ResolveFault, location: Location) {
        let field = self.field_at(&location);
        self.errors.push(ResolveError {
            fault,
            field,
            location,
        });
    }

    fn note(&mut self, field: &Field, kind: NoteKind) {
        let location = self.server.locate(field);
        let field = self.field_at(&location);
        self.notes.push(ResolveNote {
            kind,
            field,
            location,
        });
    }

    /// Names the field at a place; one that is not a string is named by its key.
    fn field_at(&self, location: &Location) -> String {
        let mut roles = self.roles.iter();
        let role = roles.find(|(_, field)| field.pointer == location.pointer);
        role.map_or_else(
            || {
                let key = location.pointer.segments().last().unwrap_or_default();
                format!("`{}`", printable(&key))
            },
            |(role, _)| role.describe(),
        )
    }
}

/// Says whether a header has nothing to say: it is empty, or an `Authorization` of any scheme whose
/// credential is.
fn carries_nothing(name: &str, resolved: &Resolved) -> bool {
    let value = resolved.value.expose();
    let only_scheme = || {
        name.eq_ignore_ascii_case("authorization")
            && is_left_empty(&resolved.template, value)
            && !value.trim().contains(' ')
    };
    is_blank(name, value) || only_scheme()
}

/// Says whether the variables of a template all came out empty.
fn is_left_empty(template: &Template, value: &str) -> bool {
    !template.is_literal() && value == template.literal_text()
}

/// Says what keeps a value from being a header's: it is visible ASCII with blanks inside, as every
/// server understands it (threat D5).
fn bad_value(value: &str) -> Option<BadHeaderValue> {
    if value.contains(['\r', '\n']) {
        return Some(BadHeaderValue::LineBreak);
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Some(BadHeaderValue::Character);
    }
    (value.len() > MAX_VALUE_BYTES).then_some(BadHeaderValue::TooLong)
}

#[cfg(test)]
mod tests;
