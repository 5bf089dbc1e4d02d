//! What the servers saw: which credential came, and what became of it. Never the credential.

use std::sync::{Arc, Mutex, PoisonError};

/// What the servers of one demo saw, in order.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Seen>>>);

/// One line of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The server.
    pub server: &'static str,
    /// What happened there.
    pub event: Event,
}

/// What happened at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A request had the right credential.
    Accepted,
    /// A request had none, or a wrong one.
    Refused,
    /// A tool was called.
    Called,
    /// A client registered itself.
    Registered,
    /// A person agreed on the consent page.
    Consented,
    /// A code became tokens.
    SignedIn,
    /// A refresh token became new tokens.
    Refreshed,
    /// A refresh token came a second time, and its whole family ended.
    Reused,
    /// Tokens were given back.
    Revoked,
}

impl Event {
    /// Returns what happened, in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Accepted => "a request had the right credential",
            Self::Refused => "a request was refused: no credential, or a wrong one",
            Self::Called => "a tool was called",
            Self::Registered => "a client registered itself",
            Self::Consented => "Allow was pressed",
            Self::SignedIn => "a code was exchanged for tokens",
            Self::Refreshed => "an expired token was renewed",
            Self::Reused => "a refresh token came twice: all of its tokens ended",
            Self::Revoked => "signed out: the tokens were revoked",
        }
    }
}

impl Journal {
    /// Writes a line.
    pub(crate) fn note(&self, server: &'static str, event: Event) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MOST {
            seen.push(Seen { server, event });
        }
    }

    /// Returns what was seen after the first `known` lines.
    #[must_use]
    pub fn after(&self, known: usize) -> Vec<Seen> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().skip(known).copied().collect()
    }

    /// Returns how often something happened at a server.
    #[must_use]
    pub fn count(&self, server: &str, event: Event) -> usize {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |seen: &&Seen| seen.server == server && seen.event == event;
        seen.iter().filter(is_meant).count()
    }
}

/// A demo that runs all day is not to fill the memory.
const MOST: usize = 100_000;
