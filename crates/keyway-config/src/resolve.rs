//! Turns a [`DeclaredServer`] into a [`ServerSpec`] by filling in its variables.
//!
//! Nothing is sent or started unless every field resolved. Each value remembers its template, which
//! is all that is ever shown of it.

mod error;
mod spec;

use keyway_secret::Secret;

use crate::address::{Address, AddressError};
use crate::declared::{
    DeclaredServer, Endpoint, Field, Local, NamedField, OAuth, Remote, Transport,
};
use crate::environment::{Scope, is_host_variable};
use crate::headers::{MAX_HEADERS, MAX_VALUE_BYTES, is_token, is_transport_owned};
use crate::method::{Method, is_blank};
use crate::oauth_rules::{self, OAuthFault};
use crate::template::{Foreign, Template};
use crate::usage;

pub use self::error::{NoteKind, ResolveError, ResolveFault, ResolveNote};
pub use self::spec::{LocalSpec, RemoteSpec, Resolved, ServerSpec, SpecEndpoint};

/// Fills in every variable of an entry.
///
/// # Errors
///
/// Returns everything that stands in the way, in the order of the fields.
pub fn resolve(
    server: &DeclaredServer,
    scope: &Scope<'_>,
) -> Result<ServerSpec, Vec<ResolveError>> {
    let mut resolver = Resolver {
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
        resolver.errors.push(ResolveError {
            fault: kind.into(),
            span,
            pointer,
        });
    }
    if let Endpoint::Remote(remote) = &server.endpoint
        && resolver.is_empty(&remote.url)
    {
        return Ok(not_configured(server, remote));
    }
    let env = resolver.env(&server.env);
    let (endpoint, method) = match &server.endpoint {
        Endpoint::Local(local) => (resolver.local(local), Method::local(env.len())),
        Endpoint::Remote(remote) => resolver.remote(remote, server.transport),
    };
    match endpoint {
        Some(endpoint) if resolver.errors.is_empty() => Ok(ServerSpec {
            name: server.name.clone(),
            transport: server.transport,
            method,
            endpoint,
            env,
            values: values(server, scope),
            timeout_ms: server.timeout_ms,
            notes: resolver.notes,
        }),
        _ => Err(resolver.errors),
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
    scope: &'a Scope<'a>,
    errors: Vec<ResolveError>,
    notes: Vec<ResolveNote>,
}

impl Resolver<'_> {
    fn local(&mut self, local: &Local) -> Option<SpecEndpoint> {
        let command = self.plain(&local.command, Foreign::Keep);
        let args: Vec<_> = local
            .args
            .iter()
            .map(|field| self.plain(field, Foreign::Keep))
            .collect();
        let cwd = local
            .cwd
            .as_ref()
            .map(|field| self.plain(field, Foreign::Refuse));
        Some(SpecEndpoint::Local(LocalSpec {
            command: command?,
            args: args.into_iter().collect::<Option<_>>()?,
            cwd: cwd.map_or(Some(None), |cwd| cwd.map(Some))?,
        }))
    }

    fn remote(&mut self, remote: &Remote, transport: Transport) -> (Option<SpecEndpoint>, Method) {
        let headers = self.headers(&remote.headers);
        let names = headers.iter().map(|(name, _)| name.as_str());
        let method = Method::remote(remote, transport, names);
        let template = remote.url.template.clone();
        let address = Address::resolve(&template, transport, self.scope);
        let address = address.map_err(|error| self.address_error(&remote.url, error));
        let (oauth, scopes, callback_port) = self.oauth(&remote.oauth);
        let spec = address.ok().map(|address| {
            let helper = remote.helper.clone();
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
        let strings = self.env(&fields.strings);
        let scopes = fields
            .scopes
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
        (strings, words, fields.callback_port)
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
            if carries_nothing(&name, &resolved) {
                self.note(&header.value, NoteKind::EmptyHeaderDropped);
            } else if is_header_value(resolved.value.expose()) {
                headers.push((name, resolved));
            } else {
                self.error(&header.value, ResolveFault::HeaderValue { name });
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
                self.error(&field.value, ResolveFault::ControlCharacter);
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
            self.error(field, ResolveFault::ControlCharacter);
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

    fn error(&mut self, field: &Field, fault: ResolveFault) {
        let (span, pointer) = (field.span, field.pointer.clone());
        self.errors.push(ResolveError {
            fault,
            span,
            pointer,
        });
    }

    fn note(&mut self, field: &Field, kind: NoteKind) {
        let (span, pointer) = (field.span, field.pointer.clone());
        self.notes.push(ResolveNote {
            kind,
            span,
            pointer,
        });
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

/// Visible ASCII with single blanks inside, as every server understands it (threat D5).
fn is_header_value(value: &str) -> bool {
    value.len() <= MAX_VALUE_BYTES && value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests;
