//! The fields of the contract as data: one table for reading, suggestions, the schema and the docs.

/// A field of an entry or of its `oauth` object.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FieldSpec {
    /// Its key.
    pub name: &'static str,
    /// Which entries it belongs to.
    pub applies_to: AppliesTo,
    /// What its value is.
    pub kind: FieldKind,
    /// What it means, in one sentence for editors and docs.
    pub meaning: &'static str,
}

impl FieldSpec {
    /// Says whether the value is one string.
    #[must_use]
    pub const fn is_string(&self) -> bool {
        matches!(
            self.kind,
            FieldKind::Template | FieldKind::Address | FieldKind::Reference | FieldKind::Choice(_)
        )
    }
}

/// Which entries a field belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AppliesTo {
    /// Entries with `url`.
    Remote,
    /// Entries with `command`.
    Local,
    /// All entries.
    Both,
}

/// What the value of a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// A string that may hold variables.
    Template,
    /// A string that holds an address, with or without variables.
    Address,
    /// A string that is nothing but one variable without a default.
    Reference,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The transport.
    Transport,
    /// A string; also read is another host's array of a program and its arguments.
    Program,
    /// A program and its arguments: an array of strings that is not empty.
    CommandLine,
    /// An array of strings.
    List,
    /// An object of strings; a number or a boolean is read as its text.
    Map,
    /// An object of header values, which are strings for every host.
    Headers,
    /// A whole number of milliseconds.
    Milliseconds,
    /// A port.
    Port,
    /// `true` or `false`.
    Flag,
    /// The `headersHelper` string or object.
    Helper,
    /// The `oauth` object, or `false`.
    OAuth,
    /// A string of words or an array of strings.
    Words,
    /// Anything: kept on rewrite, never shown, never an error.
    Note,
}

/// The fields of a server entry.
pub const ENTRY: &[FieldSpec] = &[
    spec(
        "type",
        Both,
        Transport,
        "How to talk to the server: `http`, `sse`, `ws` or `stdio`",
    ),
    spec(
        "url",
        Remote,
        Address,
        "Address of the server, `https` or `wss`; a variable in the host is one label",
    ),
    spec(
        "headers",
        Remote,
        Headers,
        "Headers sent with every request to this server, filled from `${VAR}`",
    ),
    spec(
        "headersHelper",
        Remote,
        Helper,
        "Program that prints headers as one JSON object when a connection is made",
    ),
    spec(
        "oauth",
        Remote,
        OAuth,
        "Settings for automatic OAuth, or `false` to switch it off; usually absent",
    ),
    spec("command", Local, Program, "Program that starts the server"),
    spec(
        "args",
        Local,
        List,
        "Arguments of the program; visible to every user of the machine",
    ),
    spec(
        "env",
        Both,
        Map,
        "Variables for the process, or for the headers helper of a remote server",
    ),
    spec(
        "cwd",
        Local,
        Template,
        "Folder in which the program starts; the plugin root if absent",
    ),
    spec(
        "envFile",
        Both,
        Template,
        "File with more variables; must not be committed",
    ),
    spec("timeout", Both, Milliseconds, "How long one call may take"),
    spec("disabled", Both, Flag, "Switches the server off"),
    spec(
        "enabled",
        Both,
        Flag,
        "Switches the server off when `false`",
    ),
    spec("alwaysLoad", Both, Note, "Read by other hosts"),
    spec("description", Both, Note, "A note for people"),
    spec("name", Both, Note, "A note for people"),
    spec("title", Both, Note, "A note for people"),
    spec("note", Both, Note, "A note for people"),
    spec("icon", Both, Note, "Read by other hosts"),
    spec("tools", Both, Note, "Read by other hosts"),
    spec("autoApprove", Both, Note, "Read by other hosts"),
    spec("alwaysAllow", Both, Note, "Read by other hosts"),
    spec(
        "trust",
        Both,
        Note,
        "Read by other hosts; only the person can approve an entry",
    ),
];

/// The members of an `oauth` object.
pub const OAUTH: &[FieldSpec] = &[
    spec(
        "clientId",
        Remote,
        Template,
        "Client registered with the authorization server beforehand",
    ),
    spec(
        "clientSecret",
        Remote,
        Reference,
        "Secret of that client, only as a `${VAR}`",
    ),
    spec(
        "scopes",
        Remote,
        Words,
        "Scopes to ask for instead of those the server names",
    ),
    spec(
        "callbackPort",
        Remote,
        Port,
        "Port that the browser is redirected to; any free one if absent",
    ),
    spec(
        "redirectUri",
        Remote,
        Address,
        "Where the browser is redirected to, on this machine",
    ),
    spec(
        "authServerMetadataUrl",
        Remote,
        Address,
        "Metadata of the authorization server",
    ),
    spec(
        "authorizationUrl",
        Remote,
        Address,
        "Authorization endpoint, together with `tokenUrl`",
    ),
    spec(
        "tokenUrl",
        Remote,
        Address,
        "Token endpoint, together with `authorizationUrl`",
    ),
    spec(
        "resource",
        Remote,
        Template,
        "Resource indicator, or `omit`; takes effect once approved",
    ),
    spec(
        "pkce",
        Remote,
        Choice(&["assume-s256"]),
        "`assume-s256` for a server that supports PKCE without saying so; takes effect once approved",
    ),
];

/// The members of the object form of `headersHelper`.
pub const HELPER: &[FieldSpec] = &[
    spec("command", Remote, CommandLine, "Program and arguments"),
    spec(
        "refresh",
        Remote,
        Choice(&["connection", "request"]),
        "When it is run again: for every `connection`, or for every `request`",
    ),
    spec(
        "ttlMs",
        Remote,
        Milliseconds,
        "How long the headers stay valid",
    ),
    spec(
        "timeoutMs",
        Remote,
        Milliseconds,
        "How long the program may take",
    ),
];

/// Other hosts' keys for `url`, read but not written.
pub const URL_SPELLINGS: &[&str] = &["serverUrl", "httpUrl"];

/// The two members of `oauth` of which neither may stand alone.
pub const OAUTH_ENDPOINTS: [&str; 2] = ["authorizationUrl", "tokenUrl"];

use AppliesTo::{Both, Local, Remote};
use FieldKind::{
    Address, Choice, CommandLine, Flag, Headers, Helper, List, Map, Milliseconds, Note, OAuth,
    Port, Program, Reference, Template, Transport, Words,
};

const fn spec(
    name: &'static str,
    applies_to: AppliesTo,
    kind: FieldKind,
    meaning: &'static str,
) -> FieldSpec {
    FieldSpec {
        name,
        applies_to,
        kind,
        meaning,
    }
}
