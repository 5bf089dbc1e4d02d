//! A server entry as its author declared it: typed fields, every one with its template and place.
//!
//! Nothing is expanded here. An entry that breaks the contract's grammar never becomes a
//! [`DeclaredServer`]; what is wrong with it is an [`EntryFault`].

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

mod read;

use std::ops::Range;

use crate::environment::Scope;
use crate::json;
use crate::source::{Location, Pointer, Source, Span};
use crate::template::Template;

pub(crate) use self::read::{ITEM_KEYS, read_entry, read_registry};
pub use crate::transport::{TYPE_ALIASES, Transport, TypeOrigin};

/// A server entry that follows the grammar of the contract.
#[derive(Debug, Clone)]
pub struct DeclaredServer {
    /// The name chosen by the author.
    pub name: String,
    /// Where the name is.
    pub name_span: Span,
    /// Where the entry's object stands.
    pub span: Span,
    /// The pointer of the entry's object.
    pub pointer: Pointer,
    /// The file it stands in.
    pub source: Source,
    /// The transport.
    pub transport: Transport,
    /// How the transport was found.
    pub type_origin: TypeOrigin,
    /// Switched off by `disabled: true` or `enabled: false`.
    pub disabled: bool,
    /// What to reach or to start.
    pub endpoint: Endpoint,
    /// Variables for the process, or for the helper of a remote server.
    pub env: Vec<NamedField>,
    /// A file with more variables.
    pub env_file: Option<Field>,
    /// Milliseconds a call may take.
    pub timeout_ms: Option<u64>,
    /// What was read although this contract writes it differently.
    pub spellings: Vec<Spelling>,
}

impl DeclaredServer {
    /// Returns where a field of this entry stands, as a diagnostic shows it.
    #[must_use]
    pub fn locate(&self, field: &Field) -> Location {
        self.source.locate(field.span, &field.pointer)
    }

    /// Returns where the entry stands, as a diagnostic shows it: at its name.
    #[must_use]
    pub fn declared_at(&self) -> Location {
        self.source.locate(self.name_span, &self.pointer)
    }

    /// Returns what this entry is expanded against: the variables around it, and those of the env
    /// file that it names itself.
    #[must_use]
    pub fn scope<'a>(&self, around: &Scope<'a>) -> Scope<'a> {
        let written = self.env_file.as_ref().map(|file| file.template.as_str());
        around.with_env_file(written)
    }
}

/// Something that was understood although it is another host's way to write it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spelling {
    /// What.
    pub kind: SpellingKind,
    /// Where.
    pub span: Span,
    /// The field.
    pub pointer: Pointer,
}

/// The other ways to write a field that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpellingKind {
    /// Another key.
    Key {
        /// As written.
        written: &'static str,
        /// Ours.
        canonical: &'static str,
    },
    /// The program and its arguments in one array.
    CommandArray,
    /// A number or a boolean where a string belongs.
    BareValue {
        /// What it is.
        found: &'static str,
    },
}

/// What an entry reaches or starts.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// A server somewhere else.
    Remote(Box<Remote>),
    /// A process on this machine.
    Local(Local),
}

/// The fields of a remote entry.
#[derive(Debug, Clone)]
pub struct Remote {
    /// The address; an empty one means that the person has not configured it.
    pub url: Field,
    /// Headers in the order of the file.
    pub headers: Vec<NamedField>,
    /// The program that prints headers.
    pub helper: Option<Helper>,
    /// The `oauth` field.
    pub oauth: OAuth,
}

/// The fields of a local entry.
#[derive(Debug, Clone)]
pub struct Local {
    /// The program.
    pub command: Field,
    /// Its arguments.
    pub args: Vec<Field>,
    /// Where it starts, the plugin root if absent.
    pub cwd: Option<Field>,
}

/// A string of the file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Field {
    /// What it says.
    pub template: Template,
    /// Where it stands, quotes included.
    pub span: Span,
    /// Its pointer.
    pub pointer: Pointer,
}

impl Field {
    /// Returns where a range of the decoded string stands in the file.
    #[must_use]
    pub fn span_of(&self, source: &Source, range: &Range<usize>) -> Span {
        json::span_inside(source.text(), self.span, range)
    }
}

/// A member whose key the author chose: a header or a variable.
#[derive(Debug, Clone)]
pub struct NamedField {
    /// The key.
    pub name: String,
    /// Where the key stands.
    pub name_span: Span,
    /// The value.
    pub value: Field,
}

/// The `headersHelper` field.
#[derive(Debug, Clone)]
pub struct Helper {
    /// What is run.
    pub command: HelperCommand,
    /// When it is run again.
    pub refresh: Refresh,
    /// Milliseconds its output stays good.
    pub ttl_ms: Option<u64>,
    /// Milliseconds it may take.
    pub timeout_ms: Option<u64>,
    /// Where the field stands.
    pub span: Span,
    /// Its pointer.
    pub pointer: Pointer,
}

/// The three ways to write a helper.
#[derive(Debug, Clone)]
pub enum HelperCommand {
    /// A string that begins like a path: run directly, never by a shell.
    Program(Field),
    /// Any other string: a shell command line.
    Shell(Field),
    /// The object form: a program and its arguments.
    Words(Vec<Field>),
}

impl HelperCommand {
    /// Returns the text that names the program.
    #[must_use]
    pub fn first(&self) -> Option<&Field> {
        match self {
            Self::Program(field) | Self::Shell(field) => Some(field),
            Self::Words(words) => words.first(),
        }
    }
}

/// When a helper is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// At every connect and reconnect.
    Connection,
    /// For every request.
    Request,
}

/// The `oauth` field.
#[derive(Debug, Clone)]
pub enum OAuth {
    /// Not there: automatic.
    Automatic,
    /// `false`: never.
    Off,
    /// An object.
    Configured(Box<OAuthFields>),
}

/// The members of an `oauth` object.
#[derive(Debug, Clone, Default)]
pub struct OAuthFields {
    /// String members by their key, as listed in [`crate::fields::OAUTH`].
    pub strings: Vec<NamedField>,
    /// `scopes`, split.
    pub scopes: Vec<Field>,
    /// `callbackPort`.
    pub callback_port: Option<u16>,
    /// Where the object stands.
    pub span: Span,
}

impl OAuthFields {
    /// Returns a string member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&NamedField> {
        self.strings.iter().find(|field| field.name == key)
    }
}

/// Why an entry is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryFault {
    /// Its value is not an object.
    NotAnObject {
        /// What it is instead.
        found: &'static str,
    },
    /// Its name is empty, too long or has control characters.
    BadName,
    /// It has neither `url` nor `command`.
    NoEndpoint,
    /// It has both `url` and `command`.
    TwoEndpoints,
    /// Its `command` is empty.
    EmptyCommand {
        /// Where.
        span: Span,
    },
    /// Its `type` is not a transport.
    UnknownType {
        /// As written.
        found: String,
        /// Where.
        span: Span,
    },
    /// Its `type` needs the other of `url` and `command`.
    TypeWithoutItsField {
        /// The transport.
        transport: Transport,
        /// Where `type` stands.
        span: Span,
    },
    /// A field has a value of the wrong kind.
    WrongKind {
        /// The field's pointer.
        pointer: Pointer,
        /// Where.
        span: Span,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A variable of the process has a name that no environment can hold as it is written: with a
    /// `=` in it, it would set another variable than the one that is shown.
    BadVariableName {
        /// The pointer of its value.
        pointer: Pointer,
        /// Where the name is.
        span: Span,
    },
    /// A key appears twice, so that readers disagree about what it says.
    RepeatedKey,
    /// The file has more entries than a file may have.
    TooMany,
}

/// The shortest `timeout` that is honoured.
pub const SHORTEST_TIMEOUT_MS: u64 = 1000;
