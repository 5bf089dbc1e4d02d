//! The one diagnostic object: what is wrong, where, how bad, and what to do next.

use std::fmt;

use keyway_code::Code;

use crate::edit::Fix;
use crate::source::Location;

/// A finding about a file or an entry. Never holds the value of a variable or of a secret.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The rule or error.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The server it is about.
    pub server: Option<String>,
    /// Where it is; `None` for what concerns no place in a file.
    pub location: Option<Location>,
    /// One sentence without a full stop.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Another place that explains this one.
    pub related: Option<Related>,
    /// A change that would fix it.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Makes a finding about no place in particular.
    #[must_use]
    pub const fn new(code: Code, severity: Severity, message: String) -> Self {
        Self {
            code,
            severity,
            server: None,
            location: None,
            message,
            hint: None,
            related: None,
            fix: None,
        }
    }

    /// Says which server it is about.
    #[must_use]
    pub fn with_server(mut self, server: Option<String>) -> Self {
        self.server = server;
        self
    }

    /// Says where it is.
    #[must_use]
    pub fn with_location(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A second place that a diagnostic points to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Related {
    /// The place.
    pub location: Location,
    /// What is there.
    pub message: String,
}

impl Related {
    /// Makes a second place with what is there.
    #[must_use]
    pub fn new(location: Location, message: impl Into<String>) -> Self {
        Self {
            location,
            message: message.into(),
        }
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Works, but should be changed.
    Warning,
    /// Does not work, or must not be shipped.
    Error,
}

impl Severity {
    /// Returns the word used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
