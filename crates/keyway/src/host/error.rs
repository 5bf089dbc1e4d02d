//! Why a server could not be used.

mod hint;

use keyway_auth::{AuthError, HelperFault};
use keyway_code::{Code, Exit, Stage};
use keyway_config::method::Method;
use keyway_config::resolve::{ResolveError, ResolveErrors, ServerSpec};
use keyway_config::source::Location;
use keyway_mcp::session::SessionError;
use keyway_mcp::states::ServerProblem;
use keyway_secret::printable;
use keyway_store::StoreError;
use keyway_transport::TransportError;
use thiserror::Error;

use crate::approval::Question;
use crate::connect::ConnectError;
use crate::diagnosis::{Diagnosis, source_place};
use crate::env_filter::may_be_missed;
use crate::error::LoadError;

/// Why a server could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// There is no entry of that name.
    #[error("there is no server `{name}`")]
    UnknownServer {
        /// The name, fit to print.
        name: String,
        /// One that is spelled much like it.
        near: Option<String>,
    },
    /// There are several servers, or none.
    #[error("{}", if names.is_empty() { "no servers here" } else { "several servers here" })]
    WhichServer {
        /// Their names.
        names: Vec<String>,
    },
    /// The server is switched off.
    #[error("server `{}` is disabled in its file", printable(server))]
    Disabled {
        /// Its name.
        server: String,
        /// Where its entry is.
        declared_at: Box<Location>,
    },
    /// The person has not approved the entry.
    #[error("`{}` is not approved; nothing was run or sent", printable(server))]
    NotApproved {
        /// Its name.
        server: String,
        /// What has to be approved, and what of it changed; `None` if that was not looked up.
        question: Option<Box<Question>>,
        /// Where its entry is.
        declared_at: Box<Location>,
    },
    /// The entry cannot be filled in.
    #[error("server `{}` cannot be used: {errors}", printable(server))]
    Unresolved {
        /// Its name.
        server: String,
        /// Every field that stands in the way.
        errors: ResolveErrors,
    },
    /// There is no folder to keep anything in.
    #[error("no home folder to store approvals in; set `HOME`")]
    NoHome,
    /// What is kept could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The network settings cannot be used, or the entry cannot be connected to as it is.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// There is nothing to connect to, or this build lacks what it takes.
    #[error("server `{}` cannot be used", printable(server))]
    Unusable {
        /// Its name.
        server: String,
        /// Where its entry is.
        declared_at: Box<Location>,
        /// Why.
        #[source]
        error: ConnectError,
    },
    /// The server was reached, but something went wrong.
    #[error("server `{}` failed", printable(server))]
    Talk {
        /// Its name.
        server: Box<str>,
        /// How it is authenticated to.
        method: Method,
        /// How its program ended, if one did.
        ended: Option<Box<ChildEnd>>,
        /// What went wrong.
        error: SessionError,
        /// What is known about it without asking again.
        #[source]
        diagnosis: Box<Diagnosis>,
    },
    /// The server does not use OAuth.
    #[error("server `{}` does not use OAuth", printable(server))]
    NotOAuth {
        /// Its name.
        server: String,
        /// How it is authenticated to instead.
        method: Method,
    },
    /// A sign-in or a sign-out failed.
    #[error("sign-in for server `{}` failed", printable(server))]
    SignIn {
        /// Its name.
        server: String,
        /// Why.
        #[source]
        error: AuthError,
    },
    /// The process could not be protected before it reads secrets.
    #[error("cannot protect this process from other processes of the same user")]
    Harden {
        /// What the system says.
        source: std::io::Error,
    },
    /// The person gave up.
    #[error("cancelled")]
    Cancelled,
}

/// How a program of a server ended.
#[derive(Debug)]
pub struct ChildEnd {
    /// Variables of the shell that it may have missed.
    missed: Vec<String>,
    /// What it said last.
    lines: Vec<String>,
}

/// What is known of a program when it fails.
#[derive(Default)]
pub(super) struct ChildOutput {
    /// Names of variables that it did not get.
    pub(super) withheld: Vec<String>,
    /// What it wrote to standard error, if it is a helper.
    pub(super) lines: Vec<String>,
}

impl Error {
    /// An entry that was not approved, with what has to be.
    pub(super) fn not_approved(question: Question, declared_at: &Location) -> Self {
        Self::NotApproved {
            server: question.server.clone(),
            question: Some(Box::new(question)),
            declared_at: Box::new(declared_at.clone()),
        }
    }

    /// An entry that waits for an approval, as far as its file says.
    #[cfg(all(feature = "callback", feature = "vault"))]
    pub(crate) fn pending(server: String, declared_at: Location) -> Self {
        Self::NotApproved {
            server,
            question: None,
            declared_at: Box::new(declared_at),
        }
    }

    /// Says of a server that it could not be connected to.
    pub(super) fn not_connected(
        spec: &ServerSpec,
        output: ChildOutput,
        error: ConnectError,
    ) -> Self {
        match error {
            ConnectError::Transport(error) => Self::start(spec, output, error.into()),
            error => Self::Unusable {
                server: spec.name.clone(),
                declared_at: Box::new(spec.declared_at.clone()),
                error,
            },
        }
    }

    /// Wraps an error of a session.
    #[must_use]
    pub fn talk(spec: &ServerSpec, error: SessionError) -> Self {
        Self::Talk {
            server: spec.name.as_str().into(),
            method: spec.method,
            ended: None,
            diagnosis: Box::new(Diagnosis::of_session(&error, spec)),
            error,
        }
    }

    /// Wraps an error of a session that was just to begin: a program that ended may have missed a
    /// variable.
    pub(super) fn start(spec: &ServerSpec, output: ChildOutput, error: SessionError) -> Self {
        let lines = match &error {
            SessionError::Transport(TransportError::ChildEnded { last_lines, .. }) => {
                last_lines.clone()
            }
            SessionError::Transport(error) if has_ended_by_itself(error) => output.lines,
            _ => Vec::new(),
        };
        Self::Talk {
            server: spec.name.as_str().into(),
            method: spec.method,
            ended: Some(Box::new(ChildEnd {
                missed: may_be_missed(&output.withheld, &lines),
                lines,
            })),
            diagnosis: Box::new(Diagnosis::of_session(&error, spec)),
            error,
        }
    }

    /// Returns the code used in every format.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Load(LoadError::BadBundle { .. }) => Code::BadBundle,
            Self::Load(_) => Code::UnreadableFile,
            Self::UnknownServer { .. } => Code::UnknownServer,
            Self::WhichServer { .. } => Code::WrongUsage,
            Self::Disabled { .. } => Code::Disabled,
            Self::NotApproved { .. } => Code::PendingTrust,
            Self::Unresolved { errors, .. } => {
                let first = errors.iter().next();
                first.map_or(Code::ConfigError, ResolveError::code)
            }
            Self::Store(error) => error.code(),
            Self::Connect(error) | Self::Unusable { error, .. } => error.code(),
            Self::Talk {
                error, diagnosis, ..
            } => diagnosis.code.unwrap_or_else(|| error.code()),
            Self::SignIn { error, .. } => error.code(),
            Self::Cancelled => Code::Cancelled,
            Self::NoHome | Self::NotOAuth { .. } | Self::Harden { .. } => Code::ConfigError,
        }
    }

    /// Returns how a command ends that fails with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Talk {
                error: SessionError::Transport(TransportError::Refused { status: 401, .. }),
                method: Method::OAuth,
                ..
            } => Exit::SignInNeeded,
            Self::Talk { error, .. } => error.exit(),
            Self::Connect(ConnectError::Transport(error)) => error.exit(),
            Self::SignIn { error, .. } => error.exit(),
            error => error.code().exit(),
        }
    }

    /// Returns the server that it is about.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Talk { server, .. } => Some(server),
            Self::NotApproved { server, .. }
            | Self::Disabled { server, .. }
            | Self::Unusable { server, .. }
            | Self::Unresolved { server, .. } => Some(server),
            _ => None,
        }
    }

    /// Returns where in a file it is.
    #[must_use]
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Unresolved { errors, .. } => errors.iter().next().map(|first| &first.location),
            Self::Talk { diagnosis, .. } => diagnosis.fault_at.as_ref(),
            _ => None,
        }
    }

    /// Returns where the entry is that it is about.
    fn declared_at(&self) -> Option<&Location> {
        match self {
            Self::NotApproved { declared_at, .. }
            | Self::Disabled { declared_at, .. }
            | Self::Unusable { declared_at, .. } => Some(declared_at),
            Self::Talk { diagnosis, .. } => diagnosis.declared_at.as_ref(),
            _ => None,
        }
    }

    /// Returns what a refusal over HTTP said, of the server or of its authorization server.
    #[must_use]
    pub fn http_refusal(&self) -> Option<keyway_auth::HttpRefusal> {
        match self {
            Self::SignIn { error, .. } => error.http_refusal(),
            other => other.transport()?.http_refusal(),
        }
    }

    /// Returns what a session said, where one had begun.
    #[must_use]
    pub const fn session(&self) -> Option<&SessionError> {
        match self {
            Self::Talk { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Returns what the transport said, where it had a say.
    #[must_use]
    pub const fn transport(&self) -> Option<&TransportError> {
        match self {
            Self::Connect(ConnectError::Transport(error))
            | Self::Talk {
                error: SessionError::Transport(error),
                ..
            } => Some(error),
            _ => None,
        }
    }

    /// Returns what a program said before it ended, redacted.
    #[must_use]
    pub fn last_lines(&self) -> &[String] {
        match self {
            Self::Talk {
                error: SessionError::Transport(TransportError::ChildEnded { last_lines, .. }),
                ..
            } => last_lines,
            Self::Talk {
                ended: Some(ended), ..
            } => &ended.lines,
            _ => &[],
        }
    }

    /// Says in which state this leaves a server that is served with others.
    #[must_use]
    pub fn problem(&self) -> ServerProblem {
        let mut problem = match self {
            Self::Connect(ConnectError::Transport(error)) => return ServerProblem::from(error),
            Self::SignIn { error, .. } => return ServerProblem::from(error),
            Self::Talk {
                error, diagnosis, ..
            } => {
                let mut problem = ServerProblem::from(error);
                problem.code = self.code();
                problem.message.clone_from(&diagnosis.message);
                problem
            }
            error => ServerProblem::new(error.code(), error.to_string()),
        };
        problem.hint = self.hint();
        let place = self.location().or_else(|| self.declared_at());
        problem.source = place.map(source_place).map(Box::new);
        problem
    }

    /// Says how this leaves the server, from the error alone: nothing is asked.
    #[must_use]
    pub fn diagnosis(&self) -> Diagnosis {
        let server = self.server().unwrap_or_default();
        self.diagnosis_of(Diagnosis::new("", server), Stage::Connect)
    }

    /// The same, added to what is known of the server; it came to `stage`, unless the code says
    /// another.
    #[must_use]
    pub fn diagnosis_of(&self, known: Diagnosis, stage: Stage) -> Diagnosis {
        let mut found = known;
        if let Self::Talk { diagnosis, .. } = self {
            found.transport = found.transport.or(diagnosis.transport);
            found.method = found.method.or(diagnosis.method);
            if found.variables.is_empty() {
                found.variables = diagnosis.variables.clone();
            }
        }
        let code = self.code();
        found.stage = code.stage().unwrap_or(stage);
        found.state = self.problem().state;
        found.code = Some(code);
        found.message = chain(self);
        found.hint = self.hint();
        found.exit = self.exit();
        found.fault_at = self.location().cloned();
        found.declared_at = found.declared_at.or_else(|| self.declared_at().cloned());
        found.http = self.http_refusal();
        found.last_lines = self.last_lines().to_vec();
        found
    }
}

/// Writes an error with everything behind it in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        text = format!("{text}: {below}");
        cause = below.source();
    }
    printable(&text)
}

/// Says whether a program of the server ended by itself.
const fn has_ended_by_itself(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::ChildEnded { .. }
            | TransportError::Auth(AuthError::Helper {
                fault: HelperFault::Exit { .. } | HelperFault::Empty | HelperFault::Output { .. },
                ..
            })
    )
}
