//! One thing that an approval is over: what is shown is what is hashed, stored and compared.

use std::collections::HashSet;

use keyway_config::headers::is_credential_header;
use keyway_lint::mask;
use keyway_secret::{escaped, escaped_word, hint_of};

use crate::hash::{Hash, Hasher};
use crate::hidden::{hide_in_address, hide_in_command, is_token};

/// One thing that a person approves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// What kind of thing it is.
    pub kind: FactKind,
    /// Which one of its kind: the name of a variable, a header or a field; empty if there is one.
    pub name: String,
    /// What the plugin decided about it, as it is shown.
    pub value: String,
    /// What is easily overlooked about it, for a person alone.
    pub caution: Option<String>,
    /// The digest of a value of which only the beginning is shown.
    pub(crate) masked: Option<Hash>,
    /// Filled in from the person's own variables: another value stands beside this one.
    pub(crate) is_persons: bool,
    /// It may run, so that nothing of it is masked. For a person alone.
    is_code: bool,
    /// What is shown in the place of `value`, although that is masked. For a person alone.
    unmasked: Option<String>,
    /// Parts of a command line that are shown whatever they look like. For a person alone.
    readable: HashSet<String>,
}

/// How a value of a variable is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueUse {
    /// It decides which code runs, or may be run itself.
    Code,
    /// It is in the place of a credential.
    Credential,
    /// Anything else.
    Plain,
}

/// What a [`Fact`] is about, in the order in which facts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FactKind {
    /// The command line.
    Runs,
    /// The program that the command line leads to, where the plugin decides about it.
    Program,
    /// The working folder.
    Folder,
    /// A variable of the process.
    Env,
    /// The file with more variables.
    EnvFile,
    /// A value out of a file that the plugin chose.
    Value,
    /// A variable that the person lets the program have, besides those that the entry declares.
    Gets,
    /// Where requests go.
    Reaches,
    /// A variable of the person's that leaves.
    Sends,
    /// A header without a variable.
    Header,
    /// A setting of the sign-in.
    OAuth,
    /// A setting that weakens the sign-in.
    Weakens,
    /// What the program is kept from.
    Confinement,
    /// Which files are part of the approval.
    Files,
}

impl FactKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Runs,
        Self::Program,
        Self::Folder,
        Self::Env,
        Self::EnvFile,
        Self::Value,
        Self::Gets,
        Self::Reaches,
        Self::Sends,
        Self::Header,
        Self::OAuth,
        Self::Weakens,
        Self::Confinement,
        Self::Files,
    ];

    /// Returns the word in front of a fact, which is also its name in a stored approval.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Program => "program",
            Self::Folder => "in",
            Self::Env => "env",
            Self::EnvFile => "env file",
            Self::Value => "value",
            Self::Gets => "gets",
            Self::Reaches => "reaches",
            Self::Sends => "sends",
            Self::Header => "header",
            Self::OAuth => "oauth",
            Self::Weakens => "weakens",
            Self::Confinement => "isolation",
            Self::Files => "files",
        }
    }

    pub(crate) fn from_label(label: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|kind| kind.label() == label).copied()
    }
}

impl Fact {
    pub(crate) fn new(kind: FactKind, name: &str, value: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            value: value.into(),
            caution: None,
            masked: None,
            is_persons: false,
            is_code: false,
            unmasked: None,
            readable: HashSet::new(),
        }
    }

    /// A value of a variable. Of what has the shape of a token only the beginning is shown; what may
    /// be a program is shown whole.
    pub(crate) fn variable(kind: FactKind, name: &str, value: &str, used: ValueUse) -> Self {
        let looks_secret = mask::looks_secret(value);
        let shown = match used {
            ValueUse::Code if is_token(value) && looks_secret && ends_as_credential(name) => {
                hint_of(value)
            }
            ValueUse::Code => {
                let mut fact = Self::new(kind, name, value);
                fact.is_code = true;
                return fact;
            }
            ValueUse::Credential if is_token(value) => hint_of(value),
            ValueUse::Plain if is_token(value) && looks_secret => hint_of(value),
            _ if looks_secret => mask::in_literal(value),
            _ => return Self::new(kind, name, value),
        };
        let mut fact = Self::new(kind, name, shown);
        fact.masked = Some(Hasher::of(b"literal", value.as_bytes()));
        fact
    }

    /// A literal of the file that is sent and never run, of which only the beginning is shown if it may be a credential.
    pub(crate) fn literal(kind: FactKind, name: &str, value: &str, is_credential: bool) -> Self {
        if !is_credential && !mask::looks_secret(value) {
            return Self::new(kind, name, value);
        }
        let mut fact = Self::new(kind, name, hint_of(value));
        fact.masked = Some(Hasher::of(b"literal", value.as_bytes()));
        fact
    }

    pub(crate) fn with_caution(mut self, caution: Option<impl Into<String>>) -> Self {
        self.caution = caution.map(Into::into);
        self
    }

    pub(crate) const fn of_person(mut self, is_persons: bool) -> Self {
        self.is_persons = is_persons;
        self
    }

    /// The same with all of its value shown; what counts of it stays what it was.
    pub(crate) fn with_unmasked(mut self, value: Option<&str>) -> Self {
        self.unmasked = value.map(str::to_owned);
        self
    }

    /// The same with parts of its command line that are shown whatever they look like.
    pub(crate) fn with_readable(mut self, parts: HashSet<String>) -> Self {
        self.readable = parts;
        self
    }

    /// Returns what follows the label, in which every character can be seen.
    #[must_use]
    pub fn text(&self) -> String {
        // Of what looks like a credential only the beginning is shown; all of it counts.
        let text = self.whole_text();
        match self.kind {
            _ if self.is_code || self.unmasked.is_some() => text,
            FactKind::Runs | FactKind::Program => hide_in_command(&text, &self.readable),
            FactKind::Reaches => hide_in_address(&text),
            _ => mask::in_words(&text),
        }
    }

    fn whole_text(&self) -> String {
        let Self { name, .. } = self;
        let value = self.unmasked.as_ref().unwrap_or(&self.value);
        match self.kind {
            // Its words are quoted one by one.
            FactKind::Runs => value.clone(),
            FactKind::Program => format!("{} is {}", escaped_word(name), escaped_word(value)),
            FactKind::Folder | FactKind::EnvFile => escaped_word(value),
            FactKind::Env => format!("{}={}", escaped(name), escaped_word(value)),
            FactKind::Value => format!(
                "${{{}}} is {}, from a file that the plugin chose",
                escaped(name),
                escaped_word(value)
            ),
            FactKind::Gets => format!("${{{}}} {}", escaped(name), escaped(value)),
            FactKind::Reaches => format!("{} ({})", escaped(value), escaped_word(name)),
            FactKind::Sends => format!("${{{}}} {}", escaped(name), escaped(value)),
            FactKind::Header => format!("{}: {}", escaped(name), escaped_word(value)),
            FactKind::OAuth => format!("{} = {}", escaped(name), escaped_word(value)),
            FactKind::Weakens => format!("the sign-in: {}", escaped(value)),
            FactKind::Confinement | FactKind::Files => escaped(value),
        }
    }

    /// Adds what counts of it to a digest.
    pub(crate) fn hash(&self, hasher: &mut Hasher, which: Which) {
        let Self {
            kind,
            name,
            value,
            // For a person alone; it follows from the rest.
            caution: _,
            masked,
            is_persons,
            is_code: _,
            unmasked: _,
            readable: _,
        } = self;
        hasher.field(b"kind", kind.label().as_bytes());
        hasher.field(b"name", name.as_bytes());
        if *is_persons && which == Which::OfPlugin {
            return;
        }
        hasher.field(b"value", value.as_bytes());
        if let Some(masked) = masked {
            hasher.field(b"masked", masked);
        }
    }
}

/// Says whether the last part of a name is one of a credential: `GIT_TOKEN` is, and
/// `GIT_CONFIG_KEY_0` is not.
fn ends_as_credential(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    is_credential_header(last)
}

/// Which part of the facts a digest is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Everything.
    All,
    /// What the plugin decides, whatever the person's own variables say.
    OfPlugin,
}
