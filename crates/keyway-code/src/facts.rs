//! What is known about a code, whatever caused it.

use std::fmt;

use crate::{Code, Exit, ServerState, Stage};

/// One row of the table.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Facts {
    /// The code in kebab-case, as in every format; stable.
    pub text: &'static str,
    /// What happened, why, what to do, and an example, in Markdown.
    pub page: &'static str,
    /// Whether it is reported at run time only, or by a rule of `keyway check`.
    pub kind: Kind,
    /// The step at which it stops a server; `None` for codes that any step may end with.
    pub stage: Option<Stage>,
    /// The state that it leaves a server in.
    pub state: ServerState,
    /// How a command ends that fails with it.
    pub exit: Exit,
    /// Who can fix it.
    pub fixer: Fixer,
    /// Whether trying again later may help without a change.
    pub waiting_helps: bool,
    /// What to do next, where the error itself knows nothing better. `SERVER` and `PLUGIN` stand
    /// for the names.
    pub hint: &'static str,
}

/// Where a code is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// At run time.
    Error,
    /// By the rule of `keyway check` with this id; some of them at run time as well.
    Rule,
}

/// Who can fix an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fixer {
    /// The person who uses the server: a variable, an approval, a sign-in, this machine.
    Person,
    /// The author of the plugin: the entry, its program or its helper.
    PluginAuthor,
    /// The operator of the server or of its authorization server.
    ServerOperator,
    /// The network between.
    Network,
    /// Keyway itself.
    Keyway,
}

impl Code {
    /// Returns the code in kebab-case, as in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.facts().text
    }

    /// Returns the page, in Markdown.
    #[must_use]
    pub const fn page(self) -> &'static str {
        self.facts().page
    }

    /// Returns where the page is found below `docs/`.
    #[must_use]
    pub fn document(self) -> String {
        match self.facts().kind {
            Kind::Error => format!("errors/{self}.md"),
            Kind::Rule => format!("rules/{self}.md"),
        }
    }

    /// Returns the paragraph of the page that says why.
    #[must_use]
    pub fn why(self) -> &'static str {
        let mut parts = self.page().split("\n\n");
        let _heading = parts.find(|part| part.starts_with("## Why"));
        parts.next().unwrap_or_default().trim_end()
    }

    /// Returns the step at which it stops a server, if that is always the same.
    #[must_use]
    pub const fn stage(self) -> Option<Stage> {
        self.facts().stage
    }

    /// Returns the state that it leaves a server in.
    #[must_use]
    pub const fn state(self) -> ServerState {
        self.facts().state
    }

    /// Returns how a command ends that fails with it.
    #[must_use]
    pub const fn exit(self) -> Exit {
        self.facts().exit
    }

    /// Returns who can fix it.
    #[must_use]
    pub const fn fixer(self) -> Fixer {
        self.facts().fixer
    }

    /// Returns what to do next, where the error knows nothing better.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        self.facts().hint
    }

    /// Finds a code by its text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
