//! What stands in the way of an entry, and what is worth knowing of one that resolved.

use crate::address::AddressError;
use crate::headers::MAX_HEADERS;
use crate::oauth_rules::OAuthFaultKind;
use crate::source::{Pointer, Span};
use crate::template::ExpandError;

/// Something worth knowing about a resolved entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveNote {
    /// What.
    pub kind: NoteKind,
    /// Where.
    pub span: Span,
    /// The field.
    pub pointer: Pointer,
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

/// A field that could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct ResolveError {
    /// Why.
    pub fault: ResolveFault,
    /// Where.
    pub span: Span,
    /// The field.
    pub pointer: Pointer,
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
    /// A header's name is not one, or stands twice.
    #[error("header name `{name}` is not valid, or is used twice")]
    HeaderName {
        /// As written.
        name: String,
    },
    /// A header's value is too long or holds what a header cannot hold.
    #[error(
        "the value of header `{name}` has a character that headers cannot hold, or is too long"
    )]
    HeaderValue {
        /// The header.
        name: String,
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
    #[error("the value has a line break or a NUL character")]
    ControlCharacter,
}
