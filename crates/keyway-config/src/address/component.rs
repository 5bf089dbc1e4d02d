//! The components of an address, split before values are known, and what each lets a value be.

use keyway_secret::Secret;

use super::{AddressError, ENCODED, utf8_percent_encode};
use crate::template::Variable;

/// Stands for a variable while the structure is looked at; a template that has it is refused.
pub(super) const MARKER: char = '\u{f8ff}';

/// The two shapes of an address.
pub(super) enum Shape<'a> {
    /// `scheme://host…`
    Whole(Parts<'a>),
    /// A variable, then the rest of a path and query.
    Base { rest: &'a str },
    /// A variable where only a scheme can stand.
    VariableInScheme,
}

/// An address in pieces; variables are markers.
pub(super) struct Parts<'a> {
    pub(super) scheme: &'a str,
    host: &'a str,
    port: Option<&'a str>,
    path: String,
    query: Option<&'a str>,
}

/// What must be the same after values are filled in.
pub(super) struct Structure {
    pub(super) scheme: String,
    pub(super) segments: usize,
    /// Whether the host may be shown: no variable had a part in it.
    pub(super) host_is_literal: bool,
}

/// A piece of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Host,
    Port,
    Path,
    Query,
}

impl Parts<'_> {
    /// Returns the pieces in the order of the text.
    pub(super) fn components(&self) -> impl Iterator<Item = (Component, &str)> {
        let port = self.port.map(|port| (Component::Port, port));
        let query = self.query.map(|query| (Component::Query, query));
        std::iter::once((Component::Host, self.host))
            .chain(port)
            .chain(std::iter::once((Component::Path, self.path.as_str())))
            .chain(query)
    }

    pub(super) fn structure(&self) -> Structure {
        Structure {
            scheme: self.scheme.to_owned(),
            segments: self.path.matches('/').count(),
            host_is_literal: !self.host.contains(MARKER),
        }
    }
}

impl Component {
    /// Returns what separates the component from the one before it.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Host | Self::Path => "",
            Self::Port => ":",
            Self::Query => "?",
        }
    }

    /// Turns a value into what may stand in this component; `None` is a value not known yet.
    pub(super) fn fit(
        self,
        variable: &Variable,
        value: Option<&Secret<String>>,
        is_alone: bool,
    ) -> Result<Secret<String>, AddressError> {
        let name = || variable.name.clone();
        if matches!(self, Self::Host | Self::Port) && is_credential_variable(&variable.name) {
            return Err(AddressError::CredentialInHost { name: name() });
        }
        let Some(value) = value else {
            return Ok(Secret::new(self.stand_in().to_owned()));
        };
        let text = value.expose();
        match self {
            Self::Host if is_host_value(text, is_alone) => Ok(value.clone()),
            Self::Host => Err(AddressError::HostValue { name: name() }),
            Self::Port
                if text
                    .parse::<u16>()
                    .is_ok_and(|port| port > 0 && is_digits(text)) =>
            {
                Ok(value.clone())
            }
            Self::Port => Err(AddressError::PortValue { name: name() }),
            Self::Path | Self::Query if text.contains(['\r', '\n', '\0']) => {
                Err(AddressError::LineBreak { name: name() })
            }
            Self::Path if matches!(text.as_str(), "." | "..") => {
                Err(AddressError::PathValue { name: name() })
            }
            Self::Path | Self::Query => {
                Ok(Secret::new(utf8_percent_encode(text, ENCODED).to_string()))
            }
        }
    }

    const fn stand_in(self) -> &'static str {
        match self {
            Self::Port => "8",
            _ => "x",
        }
    }
}

/// Splits an address into its pieces.
pub(super) fn split(text: &str) -> Result<Shape<'_>, AddressError> {
    if let Some(rest) = text.strip_prefix(MARKER) {
        return Ok(match rest.chars().next() {
            None | Some('/' | '?' | '#') => Shape::Base { rest },
            Some(_) => Shape::VariableInScheme,
        });
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(AddressError::NotAbsolute);
    };
    if scheme.contains(MARKER) {
        return Ok(Shape::VariableInScheme);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if authority.contains('@') {
        return Err(AddressError::UserInfo);
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if host.is_empty() || port.is_some_and(str::is_empty) {
        return Err(AddressError::BadHost);
    }
    let parts = Parts {
        scheme,
        host,
        port,
        path: String::new(),
        query: None,
    };
    Ok(Shape::Whole(split_tail(parts, tail)?))
}

/// Appends a path and a query to `parts`.
pub(super) fn split_tail<'a>(parts: Parts<'a>, tail: &'a str) -> Result<Parts<'a>, AddressError> {
    if tail.contains('#') {
        return Err(AddressError::Fragment);
    }
    let (path, query) = match tail.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (tail, None),
    };
    Ok(Parts {
        path: parts.path + path,
        query,
        ..parts
    })
}

/// Returns the host as written in a filled-in address.
pub(super) fn host_of(text: &str) -> Option<String> {
    match split(text).ok()? {
        Shape::Whole(parts) => Some(parts.host.to_owned()),
        _ => None,
    }
}

/// Says whether a variable's name tells that it holds a credential (threat D1).
pub(super) fn is_credential_variable(name: &str) -> bool {
    name.split('_').any(|part| {
        CREDENTIAL_PARTS
            .iter()
            .any(|known| part.eq_ignore_ascii_case(known))
    })
}

/// One label, or a whole host name where nothing else stands in the host (threat D2).
fn is_host_value(text: &str, is_alone: bool) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if is_alone {
        text.split('.').all(is_label)
    } else {
        is_label(text)
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

const CREDENTIAL_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "KEY",
    "APIKEY",
    "AUTH",
    "COOKIE",
    "PAT",
    "DSN",
    "CREDENTIAL",
    "CREDENTIALS",
];
