//! Why a command gave up, and the exit code for it.

use std::io;
use std::path::{Path, PathBuf};

use keyway::approval::Question;
use keyway::connect::ConnectError;
use keyway::error::{LoadError, WriteError};
use keyway::examination::SkippedEntry;
use keyway::hand_outs::HandOutError;
use keyway::identity::IdentityError;
use keyway::settings::SettingsRefusal;
use keyway::store::StoreError;
use keyway::variables::KeepError;
use keyway::vault::VaultError;
use keyway_check::CheckError;
use keyway_check::migrate::MigrateError;
use keyway_clients::convert::ConvertError;
use keyway_clients::install::InstallError;
use keyway_clients::service::ServiceError;
use keyway_code::{Code, Exit};
use keyway_dashboard::traces::TraceSettingsError;
use keyway_demo::DemoError;
use keyway_gateway::gateway::ListenError;
use keyway_gateway::people::IssuerError;
use keyway_gateway::public_listener::PublicListenError;
use keyway_mcp::schema::PairError;
use keyway_policy::IssueError;
use keyway_secret::{printable, server_argument, shell_word};
use thiserror::Error;

use keyway_terminal::AskError;

/// Why a command gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// A person's file was left as it is.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A migration stopped on the way.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// A client's file was left as it is.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A word is the name of a server here, and a folder or file with servers of its own.
    #[error("`{word}` is both a server of this plugin and a plugin of its own")]
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
    /// One plugin is given twice on the command line.
    #[error("the plugin at `{}` is given twice", shown(path))]
    DuplicatePlugin { path: PathBuf },
    /// A check gave up.
    #[error(transparent)]
    Check(CheckError),
    /// There is no such code.
    #[error("there is no code `{code}`")]
    UnknownCode { code: String, near: Option<String> },
    /// Nothing of that name is kept; the name is not repeated, which may be a secret by mistake.
    #[error("there is no such {what}")]
    Absent {
        what: &'static str,
        list: &'static str,
    },
    /// Entries cannot be added to a host's file.
    #[error(transparent)]
    Convert(ConvertError),
    /// A migration would leave a server that does not work.
    #[error("nothing was changed: `{server}` would not work afterwards")]
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
    #[error("{}", if names.is_empty() { "this server's credential uses no variable" } else { "this server's credential uses several variables" })]
    WhichVariable { names: Vec<String> },
    /// A server's access token stays here.
    #[error(transparent)]
    HandOut(HandOutError),
    /// A client would send the gateway's token elsewhere.
    #[error(
        "the client's entry for `{}` does not have the gateway's URL",
        printable(server)
    )]
    NotTheGateway { server: String, at: String },
    /// The person took the helper's token back.
    #[error("the gateway token of `{}` was revoked", printable(scope))]
    HelperTokenRevoked { scope: String },
    /// A renewal took longer than a client waits for its helper.
    #[error("no credential for `{}` in time", printable(server))]
    Late { server: String },
    /// A server could not be used.
    #[error(transparent)]
    Host(#[from] keyway::Error),
    /// What is here was skipped.
    #[error("{0}")]
    SkippedEntry(Box<SkippedEntry>),
    /// There are several servers, and all of them can be meant as well.
    #[error("several servers here")]
    OneOrAll { names: Vec<String> },
    /// The client on standard input or output failed.
    #[error("cannot talk to the client")]
    Client { source: io::Error },
    /// The system gives this process no thread, or no more files.
    #[error("the system refuses another thread or open file")]
    SystemLimit { source: io::Error },
    /// Words on the command line are no arguments of a tool.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// The certificate of the client, or its key, cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// There is nothing to open the key with.
    #[error("`{}` is not set, so the key cannot be decrypted", printable(name))]
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
    #[error("`{}` cannot be called with these arguments: {}", printable(tool), problems.join("; "))]
    BadArguments {
        tool: String,
        problems: Vec<String>,
        usage: String,
    },
    /// The demo cannot be shown.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// `config.toml` cannot be used.
    #[error(transparent)]
    Settings(SettingsRefusal),
    /// Nothing can be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Nothing is listened on for other machines.
    #[error(transparent)]
    PublicListen(#[from] PublicListenError),
    /// An issuer of people cannot be used.
    #[error("`[gateway.people]` in `config.toml` cannot be used")]
    People(#[from] IssuerError),
    /// Nothing can be told to the service manager.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// No variable was kept.
    #[error(transparent)]
    Keep(KeepError),
    /// Nothing was typed that could be taken.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// No process answers on the socket.
    #[error("no gateway answers at `{}`", path.display())]
    NoGateway { path: PathBuf, source: io::Error },
    /// A variable for traces is wrong.
    #[error(transparent)]
    Traces(#[from] TraceSettingsError),
    /// No token was made.
    #[error(transparent)]
    Token(#[from] IssueError),
    /// There is nothing to verify or to change the key of.
    #[error("there is no vault yet; it is created at first use")]
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
    /// The reader of standard output closed it; that is not a failure.
    #[error("standard output was closed")]
    BrokenPipe { exit: Exit },
}

impl CliError {
    /// Returns what has to be approved before the command can do its work.
    pub(crate) fn question(&self) -> Option<&Question> {
        match self {
            Self::Host(keyway::Error::NotApproved { question, .. }) => question.as_deref(),
            Self::NotMigrated { source, .. } | Self::NotRotated { source, .. } => source.question(),
            _ => None,
        }
    }

    /// Returns the exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. }
            | Self::Pair(_)
            | Self::Listen(ListenError::NotLoopback { .. })
            | Self::PublicListen(PublicListenError::NotProtected { .. })
            | Self::Keep(_)
            | Self::Ask(AskError::TooLong | AskError::NotText)
            | Self::OneOrAll { .. }
            | Self::ServerOrPath { .. }
            | Self::UnknownTool { .. }
            | Self::BadArguments { .. }
            | Self::PluginNameCollision { .. }
            | Self::DuplicatePlugin { .. }
            | Self::UnknownCode { .. }
            | Self::Check(_)
            | Self::WhichVariable { .. } => Exit::Usage,
            Self::NotMigrated { source, .. } | Self::NotRotated { source, .. } => source.exit(),
            Self::BrokenPipe { exit } => *exit,
            Self::Host(error) => error.exit(),
            Self::HandOut(HandOutError::NotSignedIn { .. }) => Exit::SignInNeeded,
            Self::HandOut(HandOutError::NotAllowed { .. }) => Exit::NotTrusted,
            _ => Exit::Failed,
        }
    }

    /// Returns the code used in every format.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Host(error) => error.code(),
            Self::Check(error) => error.code(),
            Self::HandOut(error) => match error {
                HandOutError::NotSignedIn { .. } => Code::SignInRequired,
                HandOutError::NotAllowed { .. } => Code::PendingTrust,
                HandOutError::Auth(error) => error.code(),
                _ => Code::WrongUsage,
            },
            Self::NotTheGateway { .. } | Self::HelperTokenRevoked { .. } => Code::WrongUsage,
            Self::Late { .. } => Code::Timeout,
            Self::SystemLimit { .. } => Code::SystemLimit,
            Self::SkippedEntry(skipped) => skipped.code,
            Self::NotMigrated { source, .. } | Self::NotRotated { source, .. } => source.code(),
            Self::Convert(_) => Code::NotConverted,
            Self::UnknownTool { .. } => Code::UnknownTool,
            Self::BadArguments { .. } => Code::BadArguments,
            Self::Settings(_) | Self::People(_) => Code::InvalidSetting,
            Self::NoPassphrase { .. } => Code::UnresolvedVariable,
            Self::Arguments { .. } => Code::UnreadableFile,
            Self::Demo(_) => Code::DemoFailed,
            Self::NoGateway { .. } => Code::Unreachable,
            Self::Usage { .. }
            | Self::Pair(_)
            | Self::Listen(ListenError::NotLoopback { .. })
            | Self::PublicListen(PublicListenError::NotProtected { .. })
            | Self::Keep(_)
            | Self::Ask(AskError::TooLong | AskError::NotText)
            | Self::OneOrAll { .. }
            | Self::ServerOrPath { .. }
            | Self::PluginNameCollision { .. }
            | Self::DuplicatePlugin { .. }
            | Self::UnknownCode { .. }
            | Self::Absent { .. }
            | Self::WhichVariable { .. } => Code::WrongUsage,
            Self::Write(_)
            | Self::Migrate(_)
            | Self::Install(_)
            | Self::Listen(_)
            | Self::PublicListen(_)
            | Self::Service(_)
            | Self::Ask(_)
            | Self::Traces(_)
            | Self::Token(_)
            | Self::NoVault
            | Self::Generate { .. }
            | Self::Output { .. }
            | Self::BrokenPipe { .. }
            | Self::Client { .. }
            | Self::Identity(_) => Code::ConfigError,
        }
    }

    /// Returns the server that it is about.
    pub(crate) fn server(&self) -> Option<&str> {
        match self {
            Self::Host(error) => error.server(),
            Self::UnknownTool { server, .. } => Some(server),
            _ => None,
        }
    }

    /// Returns what a program said before it ended, redacted.
    pub(crate) fn last_lines(&self) -> &[String] {
        match self {
            Self::Host(error) => error.last_lines(),
            _ => &[],
        }
    }

    /// Returns what the person can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Check(error) => error.hint(),
            Self::Host(error) => error.hint(),
            Self::HandOut(error) => hand_out_hint(error),
            Self::NotTheGateway { at, .. } => Some(format!("the gateway serves it at {at}")),
            Self::HelperTokenRevoked { scope } => Some(format!(
                "make a new one: keyway headers {} --renew",
                shell_word(scope)
            )),
            Self::SkippedEntry(skipped) => Some(match &skipped.hint {
                Some(hint) => hint.clone(),
                None => "correct that place; then keyway check".to_owned(),
            }),
            Self::OneOrAll { names } => {
                let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
                let names = names.join(", ");
                Some(format!("name one of {names}, or `--all`"))
            }
            Self::UnknownTool { near, server, .. } => Some(match near {
                Some(near) => format!("did you mean `{}`?", printable(near)),
                None => format!("list them: keyway tools {}", server_argument(server)),
            }),
            Self::BadArguments { usage, .. } => Some(format!("usage: {usage}")),
            Self::Identity(error) => error.hint(),
            Self::NoPassphrase { name } => Some(format!("export {}=…", printable(name))),
            Self::Arguments { path, .. } => Some(format!(
                "name a file that is there and that you may read: ls -l {}",
                shell_word(&path.to_string_lossy())
            )),
            Self::Settings(refusal) => refusal.hint.clone(),
            Self::NotRotated { source, .. } => source.hint(),
            Self::NotMigrated { source, .. } => Some(with_offline(source.hint())),
            Self::WhichVariable { names } if names.is_empty() => {
                Some("`keyway migrate env` turns a literal into a variable; `keyway login SERVER` signs in again".to_owned())
            }
            Self::WhichVariable { names } => {
                Some(format!("say which: --variable {}", names.join(" or ")))
            }
            Self::NoGateway { .. } => Some("start it: keyway serve".to_owned()),
            Self::UnknownCode {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`?")),
            Self::PluginNameCollision { .. } => Some(
                "gateway tokens identify plugins by name: change `name` in the manifest of one, or rename its folder"
                    .to_owned(),
            ),
            Self::ServerOrPath { word } => Some(format!(
                "write `--server {word}` for the server, `./{word}` for the plugin"
            )),
            Self::DuplicatePlugin { .. } => Some("name it once".to_owned()),
            Self::PublicListen(PublicListenError::NotProtected { .. }) => Some(
                "listen on 127.0.0.1, or set `public_url` and either `tls_certificate` and \
                 `tls_key` or `trusted_proxies` in `[gateway]` of `config.toml`"
                    .to_owned(),
            ),
            Self::SystemLimit { .. } => Some(Code::SystemLimit.hint().to_owned()),
            Self::UnknownCode { .. } => Some("list them: keyway explain".to_owned()),
            Self::Absent { list, .. } => Some(format!("list them: {list}")),
            Self::Install(
                InstallError::NameTaken { .. } | InstallError::OtherPluginsName { .. },
            ) => Some(
                "use `--as NAME`, or `--replace`; `keyway uninstall CLIENT` restores it".to_owned(),
            ),
            Self::Install(InstallError::Changed { .. }) => {
                Some("it was edited; remove it by hand".to_owned())
            }
            Self::Convert(_) => Some(
                "without `--into` the entries are printed, to be added by hand".to_owned(),
            ),
            Self::Migrate(_) => {
                Some("run the same command again once that is fixed; it continues from here".to_owned())
            }
            _ => None,
        }
    }
}

fn with_offline(hint: Option<String>) -> String {
    let offline = "`--offline` changes the files without asking the server";
    match hint {
        Some(hint) => format!("{hint}; {offline}"),
        None => offline.to_owned(),
    }
}

fn hand_out_hint(error: &HandOutError) -> Option<String> {
    Some(match error {
        HandOutError::NotAllowed { server } => {
            let server = server_argument(server);
            format!("allow it on a terminal: keyway headers {server} --direct")
        }
        HandOutError::NotSignedIn { server } => {
            format!("sign in: keyway login {}", server_argument(server))
        }
        HandOutError::Bound { .. } => {
            "leave out `--direct`, and use the gateway's URL in the client".to_owned()
        }
        _ => return None,
    })
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

impl From<CheckError> for CliError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Host(error) => Self::Host(error),
            CheckError::Write(error) => Self::Write(error),
            error => Self::Check(error),
        }
    }
}

impl From<ConvertError> for CliError {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Read(error) => error.into(),
            ConvertError::UnknownServer { name } => {
                keyway::Error::UnknownServer { name, near: None }.into()
            }
            error => Self::Convert(error),
        }
    }
}

impl From<LoadError> for CliError {
    fn from(error: LoadError) -> Self {
        Self::Host(error.into())
    }
}

impl From<VaultError> for CliError {
    fn from(error: VaultError) -> Self {
        keyway::Error::from(StoreError::from(error)).into()
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        keyway::Error::from(error).into()
    }
}

impl From<ConnectError> for CliError {
    fn from(error: ConnectError) -> Self {
        keyway::Error::from(error).into()
    }
}
