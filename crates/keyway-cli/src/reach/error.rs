//! Why a server could not be used, with the exit code and what to do next.

use std::io;
use std::path::PathBuf;

use keyway::connect::ConnectError;
use keyway::connect::HelperFault;
use keyway::connect::TransportError;
use keyway::identity::IdentityError;
use keyway::sign_in::{AuthError, Fault};
use keyway::trust::VaultError;
use keyway::withheld::may_be_missed;
use keyway_config::method::Method;
use keyway_config::resolve::{ResolveError, ResolveErrors, ServerSpec};
use keyway_mcp::explain::{explain, explain_auth, explain_session, naming};
use keyway_mcp::session::SessionError;
use keyway_secret::{printable, shell_word};
use thiserror::Error;

use super::left_out::LeftOut;
use crate::exit::Exit;

/// Why a server could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ReachError {
    /// There are several servers, or none.
    #[error("{}", if names.is_empty() { "there is no server here" } else { "there are several servers here" })]
    WhichServer { names: Vec<String> },
    /// What is here cannot be used.
    #[error("{0}")]
    LeftOut(Box<LeftOut>),
    /// There are several servers, and all of them can be meant as well.
    #[error("there are several servers here")]
    OneOrAll { names: Vec<String> },
    /// The server is switched off.
    #[error("server `{}` is disabled in its file", printable(server))]
    Disabled { server: String },
    /// The person has not approved the entry.
    #[error("`{}` is not approved; nothing was run or sent", printable(server))]
    NotTrusted { server: String },
    /// The files of the entry are too large to be read for an approval.
    #[error(
        "`{}` cannot be approved: the files of its plugin that it names are above 256 MiB; nothing was run or sent",
        printable(server)
    )]
    TooLarge { server: String },
    /// The entry cannot be resolved.
    #[error("server `{}` cannot be used: {errors}", printable(server))]
    Unresolved {
        server: String,
        errors: ResolveErrors,
    },
    /// There is no place to keep anything.
    #[error("there is no home folder to keep approvals in")]
    NoHome,
    /// What is kept could not be read or written.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// No connection came about.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server was reached, but something went wrong.
    #[error("server `{}` failed", printable(server))]
    Talk {
        server: String,
        method: Method,
        /// How its program ended, if one did.
        ending: Option<Box<Ending>>,
        #[source]
        error: SessionError,
    },
    /// The server is not signed in to by OAuth.
    #[error("server `{}` is not signed in to by OAuth", printable(server))]
    NotOAuth { server: String, method: Method },
    /// Nobody is signed in.
    #[error("sign-in for server `{}` failed", printable(server))]
    SignIn {
        server: String,
        #[source]
        error: AuthError,
    },
    /// The process could not be protected before it reads secrets.
    #[error("this process cannot be kept from other processes of the same user")]
    Harden { source: io::Error },
    /// The client on standard input or output failed.
    #[error("cannot talk to the client")]
    Client { source: io::Error },
    /// The certificate of the client, or its key, cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// There is nothing to open the key with.
    #[error("`{}` is not set, so that the key cannot be opened", printable(name))]
    NoPassphrase { name: String },
    /// A file with arguments cannot be read.
    #[error("cannot read `{}`", path.display())]
    Arguments { path: PathBuf, source: io::Error },
    /// The server has no such tool.
    #[error("`{}` has no tool `{}`", printable(server), printable(tool))]
    UnknownTool {
        tool: String,
        server: String,
        near: Option<String>,
    },
    /// The tool takes other arguments; nothing was sent.
    #[error("`{}` cannot be called like this: {}", printable(tool), problems.join("; "))]
    BadArguments {
        tool: String,
        problems: Vec<String>,
        usage: String,
    },
    /// The person gave up.
    #[error("cancelled")]
    Cancelled,
}

/// How a program of a server ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Variables of the shell that it may have missed.
    missed: Vec<String>,
    /// What it said last.
    lines: Vec<String>,
}

/// What is known of a program when it fails.
pub(super) struct Said {
    /// Names of variables that it did not get.
    pub(super) withheld: Vec<String>,
    /// What it wrote to standard error, if it is a helper.
    pub(super) lines: Vec<String>,
}

impl ReachError {
    /// Wraps an error of a conversation.
    pub(crate) fn talk(spec: &ServerSpec, error: SessionError) -> Self {
        Self::Talk {
            server: spec.name.clone(),
            method: spec.method,
            ending: None,
            error,
        }
    }

    /// Wraps an error of a conversation that was just to begin: a program that ended may have
    /// missed a variable.
    pub(super) fn start(spec: &ServerSpec, said: Said, error: SessionError) -> Self {
        let lines = match &error {
            SessionError::Transport(TransportError::ChildEnded { last_lines, .. }) => {
                last_lines.clone()
            }
            SessionError::Transport(error) if may_have_missed(error) => said.lines,
            _ => Vec::new(),
        };
        Self::Talk {
            server: spec.name.clone(),
            method: spec.method,
            ending: Some(Box::new(Ending {
                missed: may_be_missed(&said.withheld, &lines),
                lines,
            })),
            error,
        }
    }

    /// Returns what a program said before it ended, redacted.
    pub(crate) fn last_lines(&self) -> &[String] {
        match self {
            Self::Talk {
                error: SessionError::Transport(TransportError::ChildEnded { last_lines, .. }),
                ..
            } => last_lines,
            Self::Talk {
                ending: Some(ending),
                ..
            } => &ending.lines,
            _ => &[],
        }
    }

    /// Returns the exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::WhichServer { .. }
            | Self::OneOrAll { .. }
            | Self::UnknownTool { .. }
            | Self::BadArguments { .. } => Exit::Usage,
            Self::NotTrusted { .. } | Self::TooLarge { .. } => Exit::NotTrusted,
            Self::Talk { error, method, .. } => match error {
                SessionError::Transport(error) if is_sign_in(error, *method) => Exit::SignInNeeded,
                SessionError::Transport(error) => exit_of(error),
                SessionError::Timeout { .. } => Exit::Network,
                _ => Exit::Failed,
            },
            Self::Connect(ConnectError::Transport(error)) => exit_of(error),
            Self::SignIn { error, .. } => exit_of_auth(error),
            _ => Exit::Failed,
        }
    }

    /// Returns what the person can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::WhichServer { names } if !names.is_empty() => {
                Some(format!("choose one of {}", names_in(names)))
            }
            Self::LeftOut(left_out) => Some(match &left_out.hint {
                Some(hint) => hint.clone(),
                None => "correct that place; then keyway check".to_owned(),
            }),
            Self::OneOrAll { names } => Some(format!(
                "`--server NAME` for one of {}, or `--all`",
                names_in(names)
            )),
            Self::NotTrusted { server } => Some(format!(
                "look at what it does and approve it: keyway trust grant {}",
                shell_word(server)
            )),
            Self::TooLarge { .. } => {
                Some("look at what it does, and allow it for one run: --trust".to_owned())
            }
            Self::Unresolved { errors, .. } => supply(errors),
            Self::UnknownTool { near, server, .. } => Some(match near {
                Some(near) => format!("did you mean `{}`?", printable(near)),
                None => format!("list them: keyway tools {}", shell_word(server)),
            }),
            Self::BadArguments { usage, .. } => Some(format!("usage: {usage}")),
            Self::Identity(error) => error.hint(),
            Self::NoHome => Some("set `KEYWAY_HOME` to a folder of your own".to_owned()),
            Self::Vault(error) => error.hint(),
            Self::Talk {
                error: SessionError::Transport(error),
                ending: Some(ending),
                server,
                ..
            } if may_have_missed(error) && !ending.missed.is_empty() => {
                let names: Vec<String> = ending.missed.iter().map(|name| printable(name)).collect();
                let first = names.first().cloned().unwrap_or_default();
                Some(format!(
                    "of your shell it did not get {}; if it needs one: keyway trust grant {} --env {first}",
                    names.join(", "),
                    shell_word(server)
                ))
            }
            Self::Talk {
                error: SessionError::Transport(error),
                method,
                server,
                ..
            } if is_sign_in(error, *method) => Some(naming(SIGN_IN, None, server)),
            Self::Talk { error, server, .. } => named(server, explain_session(error).hint),
            Self::Connect(ConnectError::Transport(error)) => explain(error).hint,
            Self::SignIn { error, server } => named(server, explain_auth(error).hint),
            Self::Disabled { .. } => {
                Some("take `disabled` (or `enabled`) out of its entry to use it".to_owned())
            }
            Self::NoPassphrase { name } => Some(format!("export {}=…", printable(name))),
            Self::Arguments { path, .. } => Some(format!(
                "name a file that is there and that you may read: ls -l {}",
                shell_word(&path.to_string_lossy())
            )),
            Self::NotOAuth { method, .. } => Some(
                match method {
                    Method::Static => "its credential is a header of its entry",
                    Method::Dynamic => "its credential comes from its `headersHelper`",
                    Method::Environment => "its credential is in its `env`",
                    _ => "it takes no credential",
                }
                .to_owned(),
            ),
            _ => None,
        }
    }
}

fn named(server: &str, hint: Option<String>) -> Option<String> {
    hint.map(|hint| naming(&hint, None, server))
}

/// Says how the first variable that is not set can be supplied, or else what the first error says.
fn supply(errors: &ResolveErrors) -> Option<String> {
    let unset = errors
        .iter()
        .find_map(|error| Some((error.unset_variable()?, error)));
    let Some((name, error)) = unset else {
        return errors.iter().find_map(ResolveError::hint);
    };
    let near = error.near_names().first();
    let near = near.map(|near| format!("`{near}` is set; is that the one? otherwise: "));
    Some(format!(
        "{}export {name}=…, or keep it: keyway env set {name}",
        near.unwrap_or_default()
    ))
}

/// Lists names as they can be printed.
fn names_in(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
    names.join(", ")
}

/// Says whether a program of the server ended by itself.
const fn may_have_missed(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::ChildEnded { .. }
            | TransportError::Auth(AuthError::Helper {
                fault: HelperFault::Exit { .. } | HelperFault::Empty | HelperFault::Output { .. },
            })
    )
}

const fn is_sign_in(error: &TransportError, method: Method) -> bool {
    matches!(method, Method::OAuth) && matches!(error, TransportError::Refused { .. })
}

fn exit_of(error: &TransportError) -> Exit {
    match error {
        TransportError::Unreachable { .. }
        | TransportError::Timeout { .. }
        | TransportError::Closed
        | TransportError::StreamLost => Exit::Network,
        TransportError::Changed { .. }
        | TransportError::Auth(AuthError::Helper {
            fault: HelperFault::Changed { .. },
        }) => Exit::NotTrusted,
        TransportError::Auth(error) => exit_of_auth(error),
        _ => Exit::Failed,
    }
}

fn exit_of_auth(error: &AuthError) -> Exit {
    match error.code() {
        "sign-in-required" | "refresh-failed" | "insufficient-scope" if !error.is_transient() => {
            Exit::SignInNeeded
        }
        _ if error.fault() == Fault::Network || error.is_transient() => Exit::Network,
        _ => Exit::Failed,
    }
}

const SIGN_IN: &str = "the server refuses what this account asks for; if you have another one there, sign in as that: keyway login SERVER --account NAME";
