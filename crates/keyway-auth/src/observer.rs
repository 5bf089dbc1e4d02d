//! Events and debug notes about servers and their credentials, for an observer that the host sets.
//!
//! Events are for programs, notes for a person who looks for a fault. Neither ever holds a secret:
//! names, hosts, codes, lengths and times only.

use keyway_code::Code;
use std::fmt;
use std::sync::Arc;

/// Receives events and notes. Called on the task that causes them, so it must not block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Receives an event of a server or of its credential.
    fn emit(&self, server: &str, event: ServerEvent);

    /// Receives an event of a connection that serves a client, named as it introduced itself.
    fn emit_for_client(&self, server: &str, _client: &str, event: ServerEvent) {
        self.emit(server, event);
    }

    /// Says whether notes about a topic are wanted.
    fn wants(&self, topic: Topic) -> bool;

    /// Receives one line about a topic, fit to print.
    fn note(&self, topic: Topic, server: Option<&str>, line: &str);
}

/// An event of a server or of its credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A server answered.
    Connected,
    /// A server is not connected, or not any more.
    NotConnected {
        /// The code of the error.
        code: Code,
    },
    /// A person has to sign in, and no prompt is shown.
    Required {
        /// The code of the error.
        code: Code,
    },
    /// A sign-in began.
    Started,
    /// A sign-in gave a token.
    Completed,
    /// A sign-in gave none, or the server refused the credential.
    Failed {
        /// The code of the error.
        code: Code,
    },
    /// A token was renewed by this process.
    Refreshed,
    /// A token could not be renewed.
    RefreshFailed {
        /// The code of the error.
        code: Code,
    },
    /// A sign-in was deleted.
    Cleared,
    /// A helper printed headers.
    HelperRan,
    /// A helper printed none.
    HelperFailed {
        /// The code of the error.
        code: Code,
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

/// The observer of one server; costs one branch where there is none.
#[derive(Debug, Clone, Default)]
pub struct ServerObserver(Option<Observed>);

#[derive(Debug, Clone)]
struct Observed {
    observer: Arc<dyn Observer>,
    server: Arc<str>,
    client: Option<Arc<str>>,
}

impl ServerObserver {
    /// Tells `observer` about a server.
    #[must_use]
    pub fn new(observer: Arc<dyn Observer>, server: &str) -> Self {
        let server = server.into();
        Self(Some(Observed {
            observer,
            server,
            client: None,
        }))
    }

    /// Returns the observer of a connection that serves this client.
    #[must_use]
    pub fn for_client(&self, client: &str) -> Self {
        let mut observed = self.0.clone();
        if let Some(observed) = &mut observed {
            observed.client = Some(client.into());
        }
        Self(observed)
    }

    /// Says whether there is an observer.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Sends an event.
    pub fn emit(&self, event: ServerEvent) {
        if let Some(observed) = &self.0 {
            match &observed.client {
                Some(client) => observed
                    .observer
                    .emit_for_client(&observed.server, client, event),
                None => observed.observer.emit(&observed.server, event),
            }
        }
    }

    /// Sends a note; `line` is called only if notes about the topic are wanted.
    pub fn note(&self, topic: Topic, line: impl FnOnce() -> String) {
        if let Some(observed) = &self.0
            && observed.observer.wants(topic)
        {
            let line = keyway_secret::printable(&line());
            observed.observer.note(topic, Some(&observed.server), &line);
        }
    }
}
