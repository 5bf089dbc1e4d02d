//! One thing that an approval is over: what is shown is what is hashed, stored and compared.

use std::collections::HashSet;

use keyway_config::environment::is_host_variable;
use keyway_secret::{escaped, escaped_word, hint_of};

use crate::hash::{Hash, Hasher};
use crate::hidden::{hide_in_address, hide_in_command};

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
    /// The digest of a value that is not shown, or of which only the beginning is.
    pub(crate) masked: Option<Hash>,
    /// Filled in from the person's own variables: another value stands beside this one.
    pub(crate) is_persons: bool,
    /// Parts of a command line that are shown whatever they look like. For a person alone.
    readable: HashSet<String>,
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
            readable: HashSet::new(),
        }
    }

    /// A literal of the file, of which only the beginning is shown if it is a credential.
    pub(crate) fn literal(kind: FactKind, name: &str, value: &str, is_credential: bool) -> Self {
        match is_credential {
            true => Self::new(kind, name, hint_of(value)).counting(value),
            false => Self::new(kind, name, value),
        }
    }

    /// A value that may be the person's, of which nothing is shown. Nor is a digest of it alone, from
    /// which a short one could be guessed.
    pub(crate) fn unseen(kind: FactKind, name: &str, value: &str) -> Self {
        Self::new(kind, name, "").counting(value)
    }

    /// The same with a whole text that counts, of which not all is shown.
    pub(crate) fn counting(mut self, whole: &str) -> Self {
        self.masked = Some(Hasher::of(b"literal", whole.as_bytes()));
        self
    }

    pub(crate) fn with_caution(mut self, caution: Option<impl Into<String>>) -> Self {
        self.caution = caution.map(Into::into);
        self
    }

    pub(crate) const fn of_person(mut self, is_persons: bool) -> Self {
        self.is_persons = is_persons;
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
        // What is a credential as a whole is hidden; all of it counts.
        let text = self.whole_text();
        match self.kind {
            FactKind::Runs => hide_in_command(&text, &self.readable),
            FactKind::Reaches | FactKind::OAuth | FactKind::Weakens => hide_in_address(&text),
            _ => text,
        }
    }

    fn whole_text(&self) -> String {
        let Self { name, value, .. } = self;
        match self.kind {
            // Its words are quoted one by one.
            FactKind::Runs => value.clone(),
            FactKind::Program => format!("{} is {}", escaped_word(name), escaped_word(value)),
            FactKind::Folder | FactKind::EnvFile => escaped_word(value),
            FactKind::Env => format!("{}={}", escaped(name), escaped_word(value)),
            FactKind::Value if is_host_variable(name) => format!(
                "${{{}}} is {}, the folder that you work in",
                escaped(name),
                escaped_word(value)
            ),
            FactKind::Value if self.masked.is_some() && value.is_empty() => format!(
                "${{{}}}, which is not shown, from a file that the plugin chose",
                escaped(name)
            ),
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

/// Which part of the facts a digest is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Everything.
    All,
    /// What the plugin decides, whatever the person's own variables say.
    OfPlugin,
}
