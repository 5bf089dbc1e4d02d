//! The steps between a file and a list of tools, in their order.

/// One step on the way to a server that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The file can be read and has the entry.
    File,
    /// The entry keeps the rules of the contract.
    Rules,
    /// Its variables are set.
    Variables,
    /// A person has approved it.
    Trust,
    /// The name of its host leads somewhere.
    Name,
    /// An encrypted connection comes about.
    Tls,
    /// Its health address answers.
    Health,
    /// It accepts the credential, or says what it wants.
    Challenge,
    /// It says where to sign in.
    Discovery,
    /// There is a client, or one can be registered.
    Registration,
    /// There is a token, or other headers.
    Token,
    /// It speaks MCP.
    Connect,
    /// It lists something.
    List,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: &[Self] = &[
        Self::File,
        Self::Rules,
        Self::Variables,
        Self::Trust,
        Self::Name,
        Self::Tls,
        Self::Health,
        Self::Challenge,
        Self::Discovery,
        Self::Registration,
        Self::Token,
        Self::Connect,
        Self::List,
    ];

    /// Returns the word used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Rules => "rules",
            Self::Variables => "variables",
            Self::Trust => "trust",
            Self::Name => "name",
            Self::Tls => "tls",
            Self::Health => "health",
            Self::Challenge => "challenge",
            Self::Discovery => "discovery",
            Self::Registration => "registration",
            Self::Token => "token",
            Self::Connect => "connect",
            Self::List => "list",
        }
    }

    /// Returns the step at which a code stops a server that was being connected to; `None` for
    /// codes that any later step may end with.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "pending-trust" | "vault" => Self::Trust,
            "name-not-found" => Self::Name,
            "certificate-expired" | "certificate-name" | "certificate-untrusted" | "tls-failed" => {
                Self::Tls
            }
            "admin-approval-needed"
            | "auth-rejected"
            | "clock-skew"
            | "forbidden"
            | "insufficient-scope"
            | "oauth-not-offered"
            | "token-expired"
            | "token-placeholder"
            | "whitespace-in-value"
            | "wrong-header-format"
            | "wrong-tenant" => Self::Challenge,
            "bad-metadata" | "issuer-mismatch" | "no-endpoint" | "no-metadata"
            | "pkce-unsupported" | "redirect-refused" | "resource-mismatch" => Self::Discovery,
            "dcr-unsupported" | "registration-refused" => Self::Registration,
            "auth-failed"
            | "authorization-server-error"
            | "callback-port-busy"
            | "client-authentication"
            | "helper-empty"
            | "helper-failed"
            | "helper-not-executable"
            | "helper-output"
            | "helper-timeout"
            | "network-error"
            | "no-assertion"
            | "no-browser"
            | "oauth-loop"
            | "other-account"
            | "refresh-failed"
            | "sign-in-required"
            | "token-refused" => Self::Token,
            _ => return None,
        })
    }
}
