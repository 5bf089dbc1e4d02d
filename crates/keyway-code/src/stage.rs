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
}
