//! A remote server in a client's file, reached by the client itself or by a bridge.

use keyway_secret::Secret;

/// What an entry turned out to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Recognised {
    /// Something else: a program of its own.
    Other,
    /// A remote server, reached by the client itself or by a bridge.
    Remote(Remote),
    /// A remote server with something that has no counterpart.
    Unsupported {
        /// What it is.
        option: String,
    },
}

/// A remote server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Remote {
    /// Its address, which may hold a credential.
    pub(super) url: Secret<String>,
    /// The headers that were given.
    pub(super) headers: Vec<(String, Secret<String>)>,
    /// The transport, in the words of our own entries.
    pub(super) transport: &'static str,
    /// The text members of its settings of OAuth, by the contract's names.
    pub(super) oauth: Vec<(String, Secret<String>)>,
    /// The scopes to ask for.
    pub(super) scopes: Vec<String>,
    /// The port that the browser comes back to.
    pub(super) callback_port: Option<u16>,
}

impl Remote {
    /// Makes one without a credential.
    #[must_use]
    pub fn new(url: impl Into<String>, transport: &'static str) -> Self {
        Self {
            url: Secret::new(url.into()),
            headers: Vec::new(),
            transport,
            oauth: Vec::new(),
            scopes: Vec::new(),
            callback_port: None,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: Secret<String>) -> Self {
        self.headers.push((name.into(), value));
        self
    }

    /// Returns the address, which may hold a credential.
    #[must_use]
    pub const fn url(&self) -> &Secret<String> {
        &self.url
    }

    /// Says whether nothing is sent but the request: the server asks for a sign-in, or for nothing.
    #[must_use]
    pub const fn has_no_headers(&self) -> bool {
        self.headers.is_empty()
    }
}
