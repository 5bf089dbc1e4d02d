//! What is known about a code, whatever caused it.

use crate::{Exit, ServerState, Stage};

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

impl Fixer {
    /// Returns the name used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::PluginAuthor => "plugin-author",
            Self::ServerOperator => "server-operator",
            Self::Network => "network",
            Self::Keyway => "keyway",
        }
    }
}
