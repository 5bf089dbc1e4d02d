//! How frames travel, and the words for it in a file.

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

/// How frames travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A child process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The older HTTP with server-sent events.
    Sse,
    /// WebSocket.
    Ws,
}

impl Transport {
    /// Every transport.
    pub const ALL: &[Self] = &[Self::Stdio, Self::Http, Self::Sse, Self::Ws];

    /// Returns the canonical value of `type`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Ws => "ws",
        }
    }

    /// Says whether the server is a process on this machine.
    #[must_use]
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Stdio)
    }

    /// Says whether a server can be signed in to with OAuth: a credential that is renewed has to
    /// reach it with each request. A WebSocket sends headers once, a process gets none.
    #[must_use]
    pub const fn supports_oauth(self) -> bool {
        match self {
            Self::Http | Self::Sse => true,
            Self::Stdio | Self::Ws => false,
        }
    }

    /// Says what it is, for editors and docs.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Stdio => "A process on this machine, started by `command`",
            Self::Http => "Streamable HTTP at `url`",
            Self::Sse => "The older HTTP with server-sent events at `url`",
            Self::Ws => "WebSocket at `url`",
        }
    }

    /// Reads a value of `type`, aliases included.
    #[must_use]
    pub fn from_type(text: &str) -> Option<(Self, TypeOrigin)> {
        if let Some(&(_, transport)) = TYPE_ALIASES.iter().find(|(alias, _)| *alias == text) {
            return Some((transport, TypeOrigin::Alias));
        }
        let canonical = Self::ALL
            .iter()
            .find(|transport| transport.as_str() == text)?;
        Some((*canonical, TypeOrigin::Declared))
    }

    /// Guesses the transport of an address that comes without `type`.
    #[must_use]
    pub fn from_url(url: &str) -> Self {
        let scheme = url
            .split_once(':')
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        let path = url.split(['?', '#']).next().unwrap_or_default();
        match scheme.as_deref() {
            Some("ws" | "wss") => Self::Ws,
            _ if path.trim_end_matches('/').ends_with("/sse") => Self::Sse,
            _ => Self::Http,
        }
    }
}

/// How the transport of an entry was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeOrigin {
    /// `type` has its canonical value.
    Declared,
    /// `type` has another host's word for it.
    Alias,
    /// There is no `type`; a `command` needs none.
    FromCommand,
    /// There is no `type`; it was guessed from the address.
    FromUrl,
}

/// Other hosts' words for a transport, read but not written.
pub const TYPE_ALIASES: &[(&str, Transport)] = &[
    ("streamable-http", Transport::Http),
    ("streamable_http", Transport::Http),
    ("streamableHttp", Transport::Http),
    ("remote", Transport::Http),
    ("websocket", Transport::Ws),
    ("local", Transport::Stdio),
];
