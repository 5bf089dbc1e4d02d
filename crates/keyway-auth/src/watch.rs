//! Who is told what happens to servers and their credentials; nobody, unless somebody asked.
//!
//! Happenings are for programs, notes for a person who looks for a fault. Neither ever holds a
//! value: names, hosts, codes, lengths and times only.

use std::fmt;
use std::sync::Arc;

/// Takes what happens. Called from wherever it happens, so it must not wait for anything.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Is told what happened to a server or to its credential.
    fn happened(&self, server: &str, happening: Happening);

    /// Says whether anybody reads notes about a topic.
    fn wants(&self, topic: Topic) -> bool;

    /// Takes one line about a topic, fit to print.
    fn note(&self, topic: Topic, server: Option<&str>, line: &str);
}

/// What happened to a server or to its credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// A server answered.
    Connected,
    /// A server cannot be talked to, or not any more.
    NotConnected {
        /// Why.
        code: &'static str,
    },
    /// A person has to sign in, and nobody is asked.
    Required {
        /// Why.
        code: &'static str,
    },
    /// A sign-in began.
    Started,
    /// A sign-in gave a token.
    Completed,
    /// A sign-in gave none, or the server refused the credential.
    Failed {
        /// Why.
        code: &'static str,
    },
    /// A token was renewed by this process.
    Refreshed,
    /// A token could not be renewed.
    RefreshFailed {
        /// Why.
        code: &'static str,
    },
    /// A sign-in was deleted.
    Cleared,
    /// A helper printed headers.
    HelperRan,
    /// A helper printed none.
    HelperFailed {
        /// Why.
        code: &'static str,
    },
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// Files, entries and variables.
    Config,
    /// Signing in and renewing.
    OAuth,
    /// Headers helpers.
    Helper,
    /// Requests, connections and processes.
    Transport,
}

impl Topic {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Config, Self::OAuth, Self::Helper, Self::Transport];

    /// Returns the word used everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::OAuth => "oauth",
            Self::Helper => "helper",
            Self::Transport => "transport",
        }
    }
}

/// What is told of one server; costs one branch where nobody listens.
#[derive(Debug, Clone, Default)]
pub struct Watch(Option<Watching>);

#[derive(Debug, Clone)]
struct Watching {
    observer: Arc<dyn Observer>,
    server: Arc<str>,
}

impl Watch {
    /// Tells `observer` about a server.
    #[must_use]
    pub fn new(observer: Arc<dyn Observer>, server: &str) -> Self {
        let server = server.into();
        Self(Some(Watching { observer, server }))
    }

    /// Says whether anybody listens at all.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Tells what happened.
    pub fn happened(&self, happening: Happening) {
        if let Some(watching) = &self.0 {
            watching.observer.happened(&watching.server, happening);
        }
    }

    /// Tells whoever reads about the topic; the line is made only for them.
    pub fn note(&self, topic: Topic, line: impl FnOnce() -> String) {
        if let Some(watching) = &self.0
            && watching.observer.wants(topic)
        {
            let line = keyway_secret::printable(&line());
            watching.observer.note(topic, Some(&watching.server), &line);
        }
    }
}
