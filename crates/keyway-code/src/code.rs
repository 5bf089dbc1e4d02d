//! What can be asked of a code.

use std::fmt;

use crate::table::Code;
use crate::{Exit, Fixer, Kind, ServerState, Stage};

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
