//! What may stand in a `url`, and what a variable in it may do: fill in a value, never restructure.
//!
//! The template is split into scheme, host, port, path and query *before* anything is filled in,
//! and each value is held to the grammar of the component it stands in. Then the result is parsed
//! and must have the structure that the template had (threats D1 to D3).

mod component;

use keyway_secret::Secret;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Host, Url};

use self::component::{MARKER, Parts, Shape, Structure};
use crate::declared::Transport;
use crate::environment::Scope;
use crate::template::{ExpandError, Part, Template, Variable};

/// An address with every variable filled in.
#[derive(Debug, Clone)]
pub struct Address {
    url: Secret<String>,
    origin: String,
    is_loopback: bool,
}

impl Address {
    /// Fills in `template` and holds the result to the rules for `transport`.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is broken. No name is looked up before that.
    pub fn resolve(
        template: &Template,
        transport: Transport,
        scope: &Scope<'_>,
    ) -> Result<Self, AddressError> {
        build(template, transport, &|variable| {
            variable.value_in(scope).map(Some)
        })
    }

    /// Holds `template` to the rules as far as they can be judged without its variables.
    ///
    /// # Errors
    ///
    /// Returns the first rule that no value could satisfy, or that a default breaks. The address
    /// itself is `None` where nothing can be said before the variables are known.
    pub fn check(template: &Template, transport: Transport) -> Result<Option<Self>, AddressError> {
        let default = |variable: &Variable| {
            Ok(variable
                .default
                .clone()
                .filter(|text| !text.is_empty())
                .map(Secret::new))
        };
        match build(template, transport, &default) {
            Ok(address) => Ok(Some(address)),
            Err(AddressError::NotKnownYet) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the same place as another transport would name it: `ws` and `wss` for a WebSocket,
    /// `http` and `https` for the others.
    #[must_use]
    pub fn over(&self, transport: Transport) -> Option<Self> {
        let (scheme, rest) = self.url.expose().split_once("://")?;
        let is_encrypted = matches!(scheme, "https" | "wss");
        let scheme = match (transport, is_encrypted) {
            (Transport::Ws, true) => "wss",
            (Transport::Ws, false) => "ws",
            (Transport::Http | Transport::Sse | Transport::Stdio, true) => "https",
            (Transport::Http | Transport::Sse | Transport::Stdio, false) => "http",
        };
        let (_, place) = self.origin.split_once("://")?;
        Some(Self {
            url: Secret::new(format!("{scheme}://{rest}")),
            origin: format!("{scheme}://{place}"),
            is_loopback: self.is_loopback,
        })
    }

    /// Returns the whole address for the one place that connects.
    #[must_use]
    pub const fn url(&self) -> &Secret<String> {
        &self.url
    }

    /// Returns scheme, host and port, to be shown when a person decides about trust.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Says whether the address is on this machine.
    #[must_use]
    pub const fn is_loopback(&self) -> bool {
        self.is_loopback
    }
}

/// Which rule an address breaks. Names variables, never their values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// A variable is unset, or the template has another host's syntax.
    #[error(transparent)]
    Expand(#[from] ExpandError),
    /// The scheme and the host are missing.
    #[error("the address is not absolute; it must begin with `https://` or `wss://`")]
    NotAbsolute,
    /// The scheme does not fit the transport.
    #[error("`{scheme}` is not an address for transport `{}`", transport.as_str())]
    WrongScheme {
        /// As written.
        scheme: String,
        /// The entry's transport.
        transport: Transport,
    },
    /// A variable stands in the scheme.
    #[error("variable `{name}` is in the scheme, which must be literal")]
    VariableInScheme {
        /// Its name.
        name: String,
    },
    /// `user:password@` in front of the host.
    #[error("the address carries user info in front of the host")]
    UserInfo,
    /// `#…` behind the address.
    #[error("the address has a fragment, which servers never see")]
    Fragment,
    /// A blank, a backslash or a control character.
    #[error("the address contains a space, a backslash or a control character")]
    BadCharacter,
    /// The host or the port is not valid.
    #[error("the host or port of the address is not valid")]
    BadHost,
    /// The host is written in a form that readers normalise differently.
    #[error("the host is written in an unusual form; its plain form is `{plain}`")]
    UnusualHost {
        /// How it should be written.
        plain: String,
    },
    /// A variable that holds a credential would become part of a name that is looked up.
    #[error("variable `{name}` looks like a credential and is part of the host")]
    CredentialInHost {
        /// Its name.
        name: String,
    },
    /// The value is more than one label of a host name.
    #[error("the value of `{name}` is not one label of a host name (letters, digits, hyphens)")]
    HostValue {
        /// The variable.
        name: String,
    },
    /// The value is not a port.
    #[error("the value of `{name}` is not a port")]
    PortValue {
        /// The variable.
        name: String,
    },
    /// The value would climb out of the path.
    #[error("the value of `{name}` would change the path")]
    PathValue {
        /// The variable.
        name: String,
    },
    /// A line break would reach the server in an encoded form.
    #[error("the value of `{name}` has a line break or a NUL character")]
    LineBreak {
        /// The variable.
        name: String,
    },
    /// The value of a variable that stands for the whole beginning is not a plain address.
    #[error("the value of `{name}` is not a plain address (scheme, host, path and nothing else)")]
    BaseValue {
        /// The variable.
        name: String,
    },
    /// The path has `.` or `..` in it.
    #[error("the path has `.` or `..` in it")]
    DotSegment,
    /// Neither encrypted nor on this machine.
    #[error("the address is not encrypted")]
    Insecure,
    /// Used inside [`Address::check`]: without the variables nothing can be said.
    #[error("the address is not known before its variables are")]
    NotKnownYet,
}

impl AddressError {
    /// Returns the variable whose value breaks the rule.
    #[must_use]
    pub const fn variable(&self) -> Option<&String> {
        match self {
            Self::HostValue { name }
            | Self::PortValue { name }
            | Self::PathValue { name }
            | Self::LineBreak { name }
            | Self::BaseValue { name } => Some(name),
            Self::Expand(_)
            | Self::NotAbsolute
            | Self::WrongScheme { .. }
            | Self::VariableInScheme { .. }
            | Self::UserInfo
            | Self::Fragment
            | Self::BadCharacter
            | Self::BadHost
            | Self::UnusualHost { .. }
            | Self::CredentialInHost { .. }
            | Self::DotSegment
            | Self::Insecure
            | Self::NotKnownYet => None,
        }
    }
}

/// Gives the value of a variable, or `None` where it is not known.
type Lookup<'a> = &'a dyn Fn(&Variable) -> Result<Option<Secret<String>>, ExpandError>;

fn build(
    template: &Template,
    transport: Transport,
    lookup: Lookup<'_>,
) -> Result<Address, AddressError> {
    let (skeleton, variables) = skeleton(template)?;
    if skeleton
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return Err(AddressError::BadCharacter);
    }
    let (structure, text) = match component::split(&skeleton)? {
        Shape::Whole(parts) => {
            let text = fill_whole(&parts, &variables, lookup)?;
            (parts.structure(), text)
        }
        Shape::Base { rest } => fill_base(rest, &variables, lookup)?,
        Shape::VariableInScheme => {
            let name = variables
                .first()
                .map(|variable| variable.name.clone())
                .unwrap_or_default();
            return Err(AddressError::VariableInScheme { name });
        }
    };
    finish(text, &structure, transport)
}

/// Replaces each variable by [`MARKER`], so that the structure can be seen without values.
fn skeleton(template: &Template) -> Result<(String, Vec<&Variable>), AddressError> {
    let mut skeleton = String::new();
    let mut variables = Vec::new();
    for part in template.parts() {
        match part {
            Part::Literal { text, .. } if text.contains(MARKER) => {
                return Err(AddressError::BadCharacter);
            }
            Part::Literal { text, .. } => skeleton.push_str(text),
            Part::Variable(variable) => {
                skeleton.push(MARKER);
                variables.push(variable);
            }
            Part::Foreign { range } => {
                let text = template
                    .as_str()
                    .get(range.clone())
                    .unwrap_or_default()
                    .to_owned();
                return Err(ExpandError::Foreign { text }.into());
            }
        }
    }
    Ok((skeleton, variables))
}

/// Fills in an address whose scheme is written out.
fn fill_whole(
    parts: &Parts<'_>,
    variables: &[&Variable],
    lookup: Lookup<'_>,
) -> Result<Secret<String>, AddressError> {
    let mut remaining = variables.iter();
    let mut text = format!("{}://", parts.scheme);
    for (component, piece) in parts.components() {
        text.push_str(component.prefix());
        let is_alone = piece.len() == MARKER.len_utf8();
        for c in piece.chars() {
            match (c, remaining.as_slice().first()) {
                (MARKER, Some(variable)) => {
                    remaining.next();
                    let value = lookup(variable)?;
                    text.push_str(component.fit(variable, value.as_ref(), is_alone)?.expose());
                }
                (c, _) => text.push(c),
            }
        }
    }
    Ok(Secret::new(text))
}

/// Fills in an address that begins with a variable holding a whole base address (threat D3).
fn fill_base(
    rest: &str,
    variables: &[&Variable],
    lookup: Lookup<'_>,
) -> Result<(Structure, Secret<String>), AddressError> {
    let Some((base, others)) = variables.split_first() else {
        return Err(AddressError::NotAbsolute);
    };
    let name = || base.name.clone();
    if component::is_credential_variable(&base.name) {
        return Err(AddressError::CredentialInHost { name: name() });
    }
    let value = lookup(base)?.ok_or(AddressError::NotKnownYet)?;
    let plain = value.expose().strip_suffix('/').unwrap_or(value.expose());
    let bad = || AddressError::BaseValue { name: name() };
    let unusual = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '\\' | '?' | MARKER);
    if plain.contains(unusual) {
        return Err(bad());
    }
    let Ok(Shape::Whole(parts)) = component::split(plain) else {
        return Err(bad());
    };
    let whole = component::split_tail(parts, rest)?;
    let text = fill_whole(&whole, others, lookup)?;
    Ok((
        Structure {
            host_is_literal: false,
            ..whole.structure()
        },
        text,
    ))
}

/// Parses the filled-in text and requires the structure that the template had.
fn finish(
    text: Secret<String>,
    structure: &Structure,
    transport: Transport,
) -> Result<Address, AddressError> {
    let scheme = structure.scheme.to_ascii_lowercase();
    let fits = match transport {
        Transport::Http | Transport::Sse => matches!(scheme.as_str(), "http" | "https"),
        Transport::Ws => matches!(scheme.as_str(), "ws" | "wss"),
        Transport::Stdio => false,
    };
    if !fits {
        return Err(AddressError::WrongScheme { scheme, transport });
    }
    let url = Url::parse(text.expose()).map_err(|_| AddressError::BadHost)?;
    let (Some(host), Some(written)) = (url.host(), component::host_of(text.expose())) else {
        return Err(AddressError::BadHost);
    };
    // No server listens there, though a URL may say it.
    if url.port() == Some(0) {
        return Err(AddressError::BadHost);
    }
    // A host in another script is written as people read it; everything else as it is sent.
    if written.is_ascii() && !written.eq_ignore_ascii_case(&host.to_string()) {
        let plain = structure.host_is_literal.then(|| host.to_string());
        return Err(
            plain.map_or(AddressError::BadHost, |plain| AddressError::UnusualHost {
                plain,
            }),
        );
    }
    let structure_kept = url.scheme() == scheme
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    if !structure_kept {
        return Err(AddressError::BadHost);
    }
    if url.path().matches('/').count() != structure.segments.max(1) {
        return Err(AddressError::DotSegment);
    }
    let is_loopback = is_loopback(&host);
    if matches!(scheme.as_str(), "http" | "ws") && !is_loopback {
        return Err(AddressError::Insecure);
    }
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    Ok(Address {
        origin: format!("{scheme}://{host}{port}"),
        url: text,
        is_loopback,
    })
}

/// Exactly `localhost` or a loopback literal; nothing that only looks like it.
fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Everything but RFC 3986 `unreserved` is encoded.
pub(crate) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[cfg(test)]
mod tests;
