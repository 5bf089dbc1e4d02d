//! What was asked.

use std::time::Duration;

use serde::Serialize;

use crate::http::Request;

/// One request and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Seen {
    /// When, since the start.
    pub at: Duration,
    /// On which port.
    pub door: Door,
    /// The request.
    pub request: Request,
    /// The status that was answered.
    pub status: u16,
}

impl Seen {
    /// Returns a field of the body, if it is a form.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        self.request.field(name)
    }
}

/// Which port a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Door {
    /// The one of both servers.
    Main,
    /// The one that no client should ever reach.
    Elsewhere,
}
