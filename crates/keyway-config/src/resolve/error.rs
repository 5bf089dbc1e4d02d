//! What stands in the way of an entry, and what is worth knowing of one that resolved.

use std::fmt;
use std::ops::Deref;

use keyway_code::Code;
use keyway_secret::printable;

use crate::address::AddressError;
use crate::diagnostic::{Diagnostic, Severity};
use crate::headers::{MAX_HEADERS, MAX_VALUE_BYTES};
use crate::oauth_rules::OAuthFaultKind;
use crate::source::Location;
use crate::template::ExpandError;

/// Something worth knowing about a resolved entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolveNote {
    /// What.
    pub kind: NoteKind,
    /// The field in words, such as "header `X-Api-Key`".
    pub field: String,
    /// Where the field stands.
    pub location: Location,
}

/// What is worth knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// A header that came out empty is not sent.
    EmptyHeaderDropped,
    /// A value begins or ends with a blank.
    BlankAround,
}

impl ResolveNote {
    /// Returns the note in the form that every command prints.
    #[must_use]
    pub fn diagnostic(&self, server: &str) -> Diagnostic {
        let (code, severity, message, hint) = match self.kind {
            NoteKind::EmptyHeaderDropped => (
                Code::EmptyHeaderDropped,
                Severity::Info,
                "the header is empty, so it is not sent".to_owned(),
                "set its variable if the server needs it",
            ),
            NoteKind::BlankAround => (
                Code::UnusableValue,
                Severity::Warning,
                format!("the value of {} begins or ends with whitespace", self.field),
                "export the variable again without the whitespace",
            ),
        };
        Diagnostic {
            server: Some(server.to_owned()),
            location: Some(self.location.clone()),
            hint: Some(hint.to_owned()),
            ..Diagnostic::new(code, severity, message)
        }
    }
}

/// Why an entry cannot be used: every field that stands in the way, in the order of the fields.
///
/// There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveErrors {
    server: String,
    errors: Vec<ResolveError>,
}

impl ResolveErrors {
    pub(super) const fn new(server: String, errors: Vec<ResolveError>) -> Self {
        Self { server, errors }
    }

    /// Returns the name of the entry.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the first variable that is not set.
    #[must_use]
    pub fn unset_variable(&self) -> Option<&str> {
        self.errors.iter().find_map(ResolveError::unset_variable)
    }

    /// Returns all of them in the form that every command prints.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let errors = self.errors.iter();
        errors.map(|error| error.diagnostic(&self.server)).collect()
    }

    /// Returns the errors alone.
    #[must_use]
    pub fn into_vec(self) -> Vec<ResolveError> {
        self.errors
    }
}

impl Deref for ResolveErrors {
    type Target = [ResolveError];

    fn deref(&self) -> &[ResolveError] {
        &self.errors
    }
}

impl IntoIterator for ResolveErrors {
    type Item = ResolveError;
    type IntoIter = std::vec::IntoIter<ResolveError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl<'a> IntoIterator for &'a ResolveErrors {
    type Item = &'a ResolveError;
    type IntoIter = std::slice::Iter<'a, ResolveError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.iter()
    }
}

impl fmt::Display for ResolveErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ResolveErrors {}

/// A field that could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} ({field})")]
#[non_exhaustive]
pub struct ResolveError {
    /// Why.
    pub fault: ResolveFault,
    /// The field in words, such as "header `X-Api-Key`".
    pub field: String,
    /// Where the field stands.
    pub location: Location,
}

impl ResolveError {
    /// Returns the code, which is that of the rule of `keyway check` about the same fault.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.fault.code()
    }

    /// Returns the variable that is not set, if that is the reason.
    #[must_use]
    pub fn unset_variable(&self) -> Option<&str> {
        match &self.fault {
            ResolveFault::Expand(ExpandError::Unset { name, .. }) => Some(name),
            _ => None,
        }
    }

    /// Returns the names that are set and look like the variable that is not.
    #[must_use]
    pub fn near_names(&self) -> &[String] {
        match &self.fault {
            ResolveFault::Expand(ExpandError::Unset { near, .. }) => near,
            _ => &[],
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match &self.fault {
            ResolveFault::Expand(ExpandError::Unset { name, near }) => Some(match near.first() {
                Some(near) => {
                    format!("`{near}` is set; is that the one? otherwise: export {name}=…")
                }
                None => format!("export {name}=…"),
            }),
            ResolveFault::HeaderValue { variable, .. }
            | ResolveFault::ControlCharacter { variable } => {
                variable.as_ref().map(|name| without_line_breaks(name))
            }
            ResolveFault::Address(AddressError::LineBreak { name }) => {
                Some(without_line_breaks(name))
            }
            ResolveFault::Address(error) => error
                .variable()
                .map(|name| format!("correct it, or look at what set it: export {name}=…")),
            ResolveFault::Placeholder => {
                Some("write a `${VARIABLE}` instead, which each person sets".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the error in the form that every command prints.
    #[must_use]
    pub fn diagnostic(&self, server: &str) -> Diagnostic {
        Diagnostic {
            server: Some(server.to_owned()),
            location: Some(self.location.clone()),
            hint: self.hint(),
            ..Diagnostic::new(self.code(), Severity::Error, self.fault.to_string())
        }
    }
}

fn without_line_breaks(name: &str) -> String {
    format!(
        "take line breaks out of it: export {name}=\"$(printf %s \"${name}\" | tr -d '\\r\\n')\""
    )
}

/// Why a field could not be resolved. Names variables, never their values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveFault {
    /// A variable is unset, or the syntax is another host's.
    #[error(transparent)]
    Expand(#[from] ExpandError),
    /// The address breaks a rule.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A header's name is not valid, or appears twice.
    #[error("header name `{}` is not valid, or is used twice", printable(name))]
    HeaderName {
        /// As written.
        name: String,
    },
    /// A header's value is too long or holds what a header cannot hold.
    #[error("{} {}", whose(variable.as_ref()), what.describe(name))]
    HeaderValue {
        /// The header.
        name: String,
        /// The variable whose value it is.
        variable: Option<String>,
        /// What is wrong with it.
        what: BadHeaderValue,
    },
    /// More headers than an entry may have.
    #[error("more than {MAX_HEADERS} headers")]
    TooManyHeaders,
    /// `env` sets what only the host may set.
    #[error("`env` defines `{name}`, which only the host may set")]
    HostVariable {
        /// The variable.
        name: String,
    },
    /// A setting of `oauth` breaks a rule.
    #[error(transparent)]
    OAuth(#[from] OAuthFaultKind),
    /// A line break or NUL where none can be.
    #[error("{} has a line break or a NUL character", whose(variable.as_ref()))]
    ControlCharacter {
        /// The variable whose value it is.
        variable: Option<String>,
    },
    /// The file holds text that only marks the place of a credential.
    #[error("a value is still a placeholder, so nothing is sent")]
    Placeholder,
}

/// What is wrong with the value of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadHeaderValue {
    /// It has a line break.
    LineBreak,
    /// It has another character that headers cannot hold.
    Character,
    /// It is longer than [`MAX_VALUE_BYTES`].
    TooLong,
}

impl BadHeaderValue {
    fn describe(self, header: &str) -> String {
        let header = printable(header);
        match self {
            Self::LineBreak => format!("has a line break, which header `{header}` cannot hold"),
            Self::Character => format!("has a character that header `{header}` cannot hold"),
            Self::TooLong => {
                format!("is too long for header `{header}`, which takes {MAX_VALUE_BYTES} bytes")
            }
        }
    }
}

impl ResolveFault {
    /// Returns the code, which is that of the rule of `keyway check` about the same fault.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Expand(ExpandError::Unset { .. }) => Code::UnresolvedVariable,
            Self::Expand(ExpandError::Foreign { .. }) => Code::ForeignVariableSyntax,
            Self::Address(AddressError::Expand(_)) => Code::UnresolvedVariable,
            Self::Address(AddressError::Insecure) => Code::InsecureUrl,
            Self::Address(AddressError::CredentialInHost { .. }) => Code::CredentialInHost,
            Self::Address(error) if error.variable().is_some() => Code::UnusableValue,
            Self::Address(_) => Code::InvalidUrl,
            Self::HeaderName { .. } | Self::TooManyHeaders => Code::InvalidHeader,
            Self::HeaderValue { .. } | Self::ControlCharacter { .. } => Code::UnusableValue,
            Self::HostVariable { .. } => Code::HostVariableRedefined,
            Self::OAuth(_) => Code::InvalidOauth,
            Self::Placeholder => Code::PlaceholderCredential,
        }
    }
}

fn whose(variable: Option<&String>) -> String {
    variable.map_or_else(
        || "the value".to_owned(),
        |name| format!("the value of `{name}`"),
    )
}
