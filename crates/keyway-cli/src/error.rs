//! Why a command gave up, and the exit code for it.

use std::io;
use std::path::{Path, PathBuf};

use keyway::connect::{ConnectError, TransportError};
use keyway::error::{LoadError, MigrateError, WriteError};
use keyway::trust::VaultError;
use keyway::variables::KeepError;
use keyway_clients::install::InstallError;
use keyway_clients::service::ServiceError;
use keyway_demo::DemoError;
use keyway_gateway::gateway::{IssueError, ListenError};
use keyway_gateway::traces::TraceSettingsError;
use keyway_mcp::session::SessionError;
use keyway_mcp::states::{Reason, Standing, State, Trouble};
use keyway_secret::printable;
use thiserror::Error;

use crate::exit::Exit;
use crate::hidden_input::AskError;
use crate::reach::ReachError;
use crate::settings::Refusal;

/// Why a command gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// There is nothing to work with.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A person's file was left as it is.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A migration stopped on the way.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// A client's file was left as it is.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The client has an entry of that name, which is not ours.
    #[error("{client} has an entry `{name}` already")]
    NameTaken { name: String, client: &'static str },
    /// There is no entry of that name.
    #[error("there is no server `{name}`")]
    UnknownServer { name: String, near: Option<String> },
    /// A word is the name of a server here, and a folder or file with servers of its own.
    #[error("`{word}` is a server of this plugin, and a plugin of its own")]
    ServerOrPath { word: String },
    /// Two plugins have one name, so that no token could tell them apart.
    #[error(
        "the plugins at `{}` and `{}` are both called `{}`",
        shown(one),
        shown(other),
        printable(name)
    )]
    PluginNameCollision {
        name: String,
        one: PathBuf,
        other: PathBuf,
    },
    /// One plugin stands twice on the command line.
    #[error("the plugin at `{}` is given twice", shown(path))]
    DuplicatePlugin { path: PathBuf },
    /// There is no such code.
    #[error("there is no code `{code}`")]
    UnknownCode { code: String, near: Option<String> },
    /// Nothing of that name is kept; the name is not repeated, which may be a secret by mistake.
    #[error("there is no such {what}")]
    Absent {
        what: &'static str,
        list: &'static str,
    },
    /// A migration would leave a server that does not work.
    #[error("nothing was changed: `{server}` does not work as it would be afterwards")]
    NotMigrated {
        server: String,
        #[source]
        source: Box<Self>,
    },
    /// A new credential does not work.
    #[error("the old value stays: `{server}` does not work with the new one")]
    NotRotated {
        server: String,
        #[source]
        source: Box<Self>,
    },
    /// Several variables feed the credential, or none.
    #[error("{}", if names.is_empty() { "no variable feeds the credential of this server" } else { "several variables feed this server" })]
    WhichVariable { names: Vec<String> },
    /// A server could not be used.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The demo cannot be shown.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// `config.toml` cannot be used.
    #[error(transparent)]
    Settings(Refusal),
    /// Nothing can be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Nothing can be told to the service manager.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The service manager did not do it.
    #[error("`{command}` failed: {said}")]
    Manager { command: String, said: String },
    /// A file of that name is not ours.
    #[error("`{}` is there already, and was not written by us", path.display())]
    UnmanagedUnitFile { path: PathBuf },
    /// No variable was kept.
    #[error(transparent)]
    Keep(KeepError),
    /// Nothing was typed that could be taken.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Nobody answers on the socket.
    #[error("no gateway answers at `{}`", path.display())]
    NoGateway { path: PathBuf, source: io::Error },
    /// A variable for traces is wrong.
    #[error(transparent)]
    Traces(#[from] TraceSettingsError),
    /// No token was made.
    #[error(transparent)]
    Token(#[from] IssueError),
    /// There is nothing to verify or to change the key of.
    #[error("there is no vault yet; it is made at first use")]
    NoVault,
    /// Two flags do not go together.
    #[error("{what}")]
    Usage { what: &'static str },
    /// A file of our own making could not be written.
    #[error("cannot write `{}`", path.display())]
    Generate { path: PathBuf, source: io::Error },
    /// Standard output failed.
    #[error("cannot write to standard output")]
    Output { source: io::Error },
    /// Whoever read standard output went away; that is no failure.
    #[error("nobody reads standard output")]
    BrokenPipe { exit: Exit },
}

impl CliError {
    /// Returns the exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. }
            | Self::Keep(_)
            | Self::Ask(AskError::TooLong | AskError::NotText)
            | Self::UnknownServer { .. }
            | Self::ServerOrPath { .. }
            | Self::PluginNameCollision { .. }
            | Self::DuplicatePlugin { .. }
            | Self::UnknownCode { .. }
            | Self::WhichVariable { .. } => Exit::Usage,
            Self::NotMigrated { source, .. } | Self::NotRotated { source, .. } => source.exit(),
            Self::BrokenPipe { exit } => *exit,
            Self::Reach(error) => error.exit(),
            _ => Exit::Failed,
        }
    }

    /// Returns the code used in every format.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Reach(ReachError::Talk { error, .. }) => error.code(),
            Self::Reach(ReachError::LeftOut(left_out)) => left_out.code,
            Self::Reach(ReachError::UnknownTool { .. }) => "unknown-tool",
            Self::Reach(ReachError::BadArguments { .. }) => "bad-arguments",
            Self::Reach(ReachError::Cancelled) => "cancelled",
            Self::UnknownServer { .. } => "unknown-server",
            Self::Settings(_) => "invalid-setting",
            Self::Load(_) => "unreadable-file",
            Self::NotMigrated { source, .. } | Self::NotRotated { source, .. } => source.code(),
            Self::Reach(ReachError::SignIn { error, .. }) => error.code(),
            Self::Usage { .. }
            | Self::Keep(_)
            | Self::Ask(AskError::TooLong | AskError::NotText)
            | Self::ServerOrPath { .. }
            | Self::PluginNameCollision { .. }
            | Self::DuplicatePlugin { .. }
            | Self::UnknownCode { .. }
            | Self::Absent { .. }
            | Self::WhichVariable { .. } => "wrong-usage",
            Self::Demo(_) => "demo-failed",
            Self::NoGateway { .. } => "unreachable",
            other => other.trouble().code,
        }
    }

    /// Returns the server that it is about.
    pub(crate) fn server(&self) -> Option<&str> {
        match self {
            Self::Reach(
                ReachError::Talk { server, .. }
                | ReachError::NotTrusted { server }
                | ReachError::TooLarge { server }
                | ReachError::Disabled { server }
                | ReachError::UnknownTool { server, .. }
                | ReachError::Unresolved { server, .. },
            ) => Some(server),
            _ => None,
        }
    }

    /// Returns what a conversation said, where one had begun.
    pub(crate) const fn conversation(&self) -> Option<&SessionError> {
        match self {
            Self::Reach(ReachError::Talk { error, .. }) => Some(error),
            _ => None,
        }
    }

    /// Returns what the transport said, where it had a say.
    pub(crate) const fn transport(&self) -> Option<&TransportError> {
        match self {
            Self::Reach(
                ReachError::Connect(ConnectError::Transport(error))
                | ReachError::Talk {
                    error: SessionError::Transport(error),
                    ..
                },
            ) => Some(error),
            _ => None,
        }
    }

    /// Says in which state this leaves a server that is served with others.
    pub(crate) fn trouble(&self) -> Trouble {
        let (state, reason) = match self {
            Self::Reach(ReachError::NotTrusted { .. } | ReachError::TooLarge { .. }) => {
                (State::Pending, Reason::PendingTrust)
            }
            Self::Reach(ReachError::Connect(ConnectError::NotConfigured)) => {
                (State::Pending, Reason::NotConfigured)
            }
            Self::Reach(ReachError::Connect(ConnectError::Transport(error))) => {
                return Trouble::from(error);
            }
            Self::Reach(ReachError::SignIn { error, .. }) => return Trouble::from(error),
            Self::Reach(ReachError::Talk { error, .. }) => {
                return Trouble {
                    code: self.code(),
                    hint: self.hint(),
                    ..Trouble::from(error)
                };
            }
            _ => (State::Failed, Reason::ConfigError),
        };
        Trouble {
            standing: Standing {
                state,
                reason: Some(reason),
            },
            code: reason.as_str(),
            message: self.to_string(),
            hint: self.hint(),
            is_transient: false,
            wait: None,
        }
    }

    /// Returns what a program said before it ended, redacted.
    pub(crate) fn last_lines(&self) -> &[String] {
        match self {
            Self::Reach(error) => error.last_lines(),
            _ => &[],
        }
    }

    /// Returns what the person can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Reach(error) => error.hint(),
            Self::Settings(refusal) => refusal.hint.clone(),
            Self::NotRotated { source, .. } => source.hint(),
            Self::NotMigrated { source, .. } => {
                let hint = source.hint().unwrap_or_default();
                let offline = "`--offline` changes the files without asking the server";
                Some(if hint.is_empty() {
                    offline.to_owned()
                } else {
                    format!("{hint}; {offline}")
                })
            }
            Self::WhichVariable { names } if names.is_empty() => {
                Some("a literal becomes a variable by `keyway migrate env`; a sign-in is made anew by `keyway login SERVER`".to_owned())
            }
            Self::WhichVariable { names } => {
                Some(format!("say which: --variable {}", names.join(" or ")))
            }
            Self::NoGateway { .. } => Some("start it: keyway serve".to_owned()),
            Self::UnknownServer {
                near: Some(near), ..
            }
            | Self::UnknownCode {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`?")),
            Self::UnknownServer { .. } => Some(
                "list them: keyway status; those of another plugin: keyway status --config PATH"
                    .to_owned(),
            ),
            Self::PluginNameCollision { .. } => Some(
                "tokens tell plugins apart by their names: change `name` in the manifest of one, or its folder's"
                    .to_owned(),
            ),
            Self::ServerOrPath { word } => Some(format!(
                "write `--server {word}` for the server, `./{word}` for the plugin"
            )),
            Self::DuplicatePlugin { .. } => Some("name it once".to_owned()),
            Self::UnknownCode { .. } => Some("list them: keyway explain".to_owned()),
            Self::Absent { list, .. } => Some(format!("list them: {list}")),
            Self::NameTaken { .. } => Some(
                "`--replace` puts ours in its place; `keyway uninstall` brings it back".to_owned(),
            ),
            Self::Install(InstallError::Changed { .. }) => {
                Some("somebody changed it; take it out by hand".to_owned())
            }
            Self::Migrate(_) => {
                Some("the same call goes on from here once that is mended".to_owned())
            }
            _ => None,
        }
    }
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

impl From<VaultError> for CliError {
    fn from(error: VaultError) -> Self {
        ReachError::from(error).into()
    }
}

impl From<ConnectError> for CliError {
    fn from(error: ConnectError) -> Self {
        ReachError::from(error).into()
    }
}
