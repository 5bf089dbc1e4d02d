//! How a server is: the one form in which commands, the dashboard and MCP errors tell it.

mod credential;
mod finding;
mod next;
mod refine;
mod summary;
mod talk;

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "callback")]
use keyway_auth::AuthError;
use keyway_auth::HttpRefusal;
pub use keyway_auth::lasting;
#[cfg(feature = "callback")]
use keyway_auth::oauth::OAuthError;
use keyway_auth::oauth::{SignIn, UnstoredSignIn};
#[cfg(feature = "callback")]
use keyway_auth::ports::Redirect;
use keyway_code::{Code, Exit, Fixer, Reason, ServerState, Stage, State};
use keyway_config::declared::Transport;
use keyway_config::environment::Origin;
use keyway_config::method::Method;
use keyway_config::resolve::ServerSpec;
use keyway_config::source::Location;
use keyway_lint::mask::in_name;
use keyway_mcp::declaration_site::DeclarationSite;
pub use keyway_mcp::explain::SourcePlace;
use keyway_mcp::explain::{Explainer, explain, explain_session, naming};
use keyway_mcp::session::{Era, SessionError};
#[cfg(feature = "callback")]
use keyway_transport::CallbackListener;
use serde_json::value::RawValue;

pub use self::credential::credential_variables;
use self::credential::refused_at;
pub use self::finding::Finding;
pub use self::refine::{Evidence, Speaks, refine, refine_session};
use crate::approval::Question;

/// How a server is, from what its file says to a full examination.
///
/// ```text
/// Survey ──────────▶ known without a request ──OnlineCheck──▶ examined
/// Error::diagnosis ──────▲  a call, `run` or the gateway failed
/// ```
///
/// Its text is the message, so that it stands among the causes of an error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The plugin; empty where the file belongs to none, or where only the error is known.
    pub plugin: String,
    /// The server.
    pub server: String,
    /// Where the entry is.
    pub declared_at: Option<Location>,
    /// Where in a file the fault is, if a file is at fault.
    pub fault_at: Option<Location>,
    /// How frames travel; `None` if the entry cannot be read.
    pub transport: Option<Transport>,
    /// How the server is authenticated to; `None` if the entry cannot be read.
    pub method: Option<Method>,
    /// How far the server came.
    pub stage: Stage,
    /// The state and its reason.
    pub state: ServerState,
    /// Since when it is in that state, where a gateway saw it change; as RFC 3339 writes it.
    pub since: Option<String>,
    /// The code of what is wrong; `None` if nothing is known to be.
    pub code: Option<Code>,
    /// What is wrong, with its causes, in one line; names variables, never values.
    pub message: String,
    /// The next command, or what to change.
    pub hint: Option<String>,
    /// How a command ends that fails with it.
    pub exit: Exit,
    /// What a refusal over HTTP said.
    pub http: Option<HttpRefusal>,
    /// What a program said before it ended, redacted.
    pub last_lines: Vec<String>,
    /// The variables that the person supplies; never their values.
    pub variables: Vec<Variable>,
    /// The stored sign-in, with its expiry.
    pub sign_in: Option<SignIn>,
    /// The fingerprint of the vault's key that the sign-in was moved to, or the address of the
    /// database.
    pub moved_to: Option<String>,
    /// A process that has a new sign-in in memory alone, because the vault does not take it.
    pub unstored_sign_in: Option<UnstoredSignIn>,
    /// What has to be approved, as far as it was looked up that it is not.
    pub question: Option<Question>,
    /// What its programs are kept from; `None` if it runs none, or it was not looked up.
    pub protection: Option<String>,
    /// What it offered when it was examined.
    pub offer: Option<Offer>,
    /// What would be better, although it works.
    pub advice: Option<Box<Finding>>,
}

/// A variable of an entry; never its value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether it has a value that is not empty.
    pub is_set: bool,
    /// Where it has its value from.
    pub origin: Option<Origin>,
    /// Whether the entry does without it.
    pub has_default: bool,
}

impl Variable {
    /// A variable of which only that it is set, or not, is known.
    #[must_use]
    pub const fn new(name: String, is_set: bool) -> Self {
        Self {
            name,
            is_set,
            origin: None,
            has_default: false,
        }
    }
}

/// What a server offered when it was connected to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Offer {
    /// The protocol that was spoken.
    pub era: Era,
    /// The protocol, and how much of what was listed, in words.
    pub summary: String,
    /// The tools among it, as the server describes them.
    pub tools: Vec<Box<RawValue>>,
}

impl Offer {
    /// Puts together what was listed.
    #[must_use]
    pub const fn new(era: Era, summary: String, tools: Vec<Box<RawValue>>) -> Self {
        Self {
            era,
            summary,
            tools,
        }
    }
}

impl Diagnosis {
    /// A server of which only the name is known.
    #[must_use]
    pub fn new(plugin: impl Into<String>, server: impl Into<String>) -> Self {
        Self {
            plugin: plugin.into(),
            server: server.into(),
            declared_at: None,
            fault_at: None,
            transport: None,
            method: None,
            stage: Stage::File,
            state: ServerState::without_reason(State::Pending),
            since: None,
            code: None,
            message: String::new(),
            hint: None,
            exit: Exit::Done,
            http: None,
            last_lines: Vec::new(),
            variables: Vec::new(),
            sign_in: None,
            moved_to: None,
            unstored_sign_in: None,
            question: None,
            protection: None,
            offer: None,
            advice: None,
        }
    }

    /// Says what is wrong with a session, from the error and the entry alone: nothing is asked.
    #[must_use]
    pub fn of_session(error: &SessionError, spec: &ServerSpec) -> Self {
        let mut found = Self::new("", spec.name.as_str());
        found.transport = Some(spec.transport);
        found.method = Some(spec.method);
        found.variables = credential_variables(spec)
            .into_iter()
            // An entry with a variable that is not set has no specification.
            .map(|name| Variable::new(name, true))
            .collect();
        found.declared_at = Some(spec.declared_at.clone());
        found.state = error.state();
        found.exit = error.exit();
        let refined = refine_session(error, Evidence::of(spec));
        let refined = refined.unwrap_or_else(|| {
            let explained = explain_session(error);
            let hint = explained.hint.unwrap_or_default();
            Finding {
                code: explained.code,
                message: explained.message,
                hint: naming(&hint, None, &spec.name),
            }
        });
        found.with_fault(refined, spec)
    }

    /// The same with what was found out to be wrong, and where the entry has what is at fault.
    pub(crate) fn with_fault(self, finding: Finding, spec: &ServerSpec) -> Self {
        let fault_at = refused_at(spec, finding.code);
        let found = self.with(finding);
        Self { fault_at, ..found }
    }

    /// The same with what was found out to be wrong; the state stays as it is.
    #[must_use]
    pub fn with(mut self, finding: Finding) -> Self {
        let Finding {
            code,
            message,
            hint,
        } = finding;
        self.stage = code.stage().unwrap_or(self.stage);
        self.code = Some(code);
        self.message = message;
        self.hint = Some(hint);
        self
    }

    /// Takes away that the server waits for an approval, if it does.
    pub fn clear_approval(&mut self) {
        self.question = None;
        if self.state.reason == Some(Reason::PendingTrust) {
            self.state = ServerState::without_reason(State::Pending);
            self.code = None;
            self.message.clear();
            self.hint = None;
            self.exit = Exit::Done;
        }
    }

    /// Returns `<plugin>:<server>`; just the server where there is no plugin.
    #[must_use]
    pub fn id(&self) -> String {
        if self.plugin.is_empty() {
            return self.server.clone();
        }
        format!("{}:{}", self.plugin, self.server)
    }

    /// Returns the code of what keeps the server from working; none if it was switched off on
    /// purpose.
    #[must_use]
    pub fn fault(&self) -> Option<Code> {
        self.code.filter(|_| self.state.state != State::Disabled)
    }

    /// Returns who can fix it.
    #[must_use]
    pub fn fixable_by(&self) -> Option<Fixer> {
        self.code.map(Code::fixer)
    }

    /// Returns why it happens, as the page of the code says it.
    #[must_use]
    pub fn why(&self) -> Option<&'static str> {
        self.code.map(Code::why)
    }

    /// Returns where to look: the place of the fault, else the entry.
    #[must_use]
    pub fn place(&self) -> Option<&Location> {
        self.fault_at.as_ref().or(self.declared_at.as_ref())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnosis {}

/// Explains errors of a server to its client, with the commands that help wherever they are typed.
#[must_use]
pub fn explainer(spec: ServerSpec, site: DeclarationSite) -> Explainer {
    Arc::new(move |error| {
        let mut explained = explain(error);
        if let Some(found) = refine(error, Evidence::of(&spec)) {
            explained.code = found.code;
            explained.message = found.message;
            explained.hint = Some(found.hint);
        }
        explained.hint = explained.hint.map(|hint| site.word(&hint));
        let fault_at = refused_at(&spec, explained.code);
        let place = fault_at.as_ref().unwrap_or(&spec.declared_at);
        explained.source = Some(source_place(place));
        explained
    })
}

/// Names a place as formats show it; what looks like a secret in its pointer is masked.
#[must_use]
pub fn source_place(location: &Location) -> SourcePlace {
    SourcePlace::new(location, in_name(location.pointer.as_str()))
}

/// Finds out whether the browser could come back to a fixed port. Has to be called inside a Tokio
/// runtime.
///
/// # Errors
///
/// Returns that the port is taken.
#[cfg(feature = "callback")]
pub fn callback_port(port: u16) -> Result<(), AuthError> {
    let mut redirect = Redirect::default();
    redirect.port = Some(port);
    let bound = CallbackListener::bind(&redirect).map(drop);
    bound.map_err(|error| OAuthError::from(error).into())
}
