//! Why a store on PostgreSQL cannot be opened or used.

use std::path::PathBuf;

use keyway_code::Code;
use keyway_store::seal::{KeyId, SealError};
use keyway_store::{BackendFailure, Damage, StoreError};
use thiserror::Error;
use tokio_postgres::error::SqlState;

/// Why a call failed. No variant leads to anything being deleted or overwritten.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The address is not one of a PostgreSQL database.
    #[error("this is not the address of a PostgreSQL database")]
    Address {
        /// What is wrong with it.
        #[source]
        source: AddressFault,
    },
    /// The password cannot be read.
    #[error("the password of the database cannot be read")]
    Password {
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file that holds a secret, such as a key or a password, cannot be read.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file that holds a secret can be read by others.
    #[error("`{}` can be read by other users", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// No usable certificate of an authority was found.
    #[error("cannot read any CA certificate, so the server cannot be verified")]
    Certificates,
    /// The database does not answer.
    #[error("the database cannot be reached")]
    Unreachable {
        /// What the network or the server said; `None` if it said nothing in time.
        #[source]
        source: Option<ServerError>,
    },
    /// The database refuses this role or this database name.
    #[error("the database refuses the connection")]
    Refused {
        /// What the server said.
        #[source]
        source: ServerError,
    },
    /// Between us and the database stands a pooler that shares sessions between transactions.
    #[error("the database is behind a connection pooler in transaction mode")]
    Pooler,
    /// The server is older than what is supported.
    #[error("the database runs PostgreSQL {found}, and 15 is the oldest that works")]
    OldServer {
        /// Its major version.
        found: i32,
    },
    /// The role is exempt from row-level security.
    #[error("the role `{role}` is exempt from row-level security")]
    UnboundRole {
        /// The role that was connected as.
        role: String,
    },
    /// The server replays another one and cannot write.
    #[error("the database is a standby")]
    Standby,
    /// The database accepts no writes.
    #[error("the database is read-only")]
    ReadOnly,
    /// The schema was made by a newer version, which says that this one cannot use it.
    #[error("the database has schema {found}, and this version knows schemas up to {known}")]
    NewerSchema {
        /// The version of the stored schema.
        found: i32,
        /// The newest version that this program knows.
        known: i32,
    },
    /// There is a schema `keyway` that Keyway did not make.
    #[error("the database has a schema `keyway` that is not Keyway's")]
    ForeignSchema,
    /// The store belongs to another key.
    #[error("the store was made with the key `{stored}`, not with `{given}`")]
    OtherKey {
        /// The key that the store names.
        stored: KeyId,
        /// The key that was given.
        given: KeyId,
    },
    /// No second wrapping key was given, so that the key cannot be changed.
    #[error("the wrapping key can only be changed with the new key and the previous one")]
    NoPreviousKey,
    /// Replicas run that could not use the new wrapping key.
    #[error("{} the new wrapping key yet; nothing was changed", without_key(*replicas))]
    KeyNotEverywhere {
        /// How many.
        replicas: usize,
    },
    /// Keys of people open with neither wrapping key.
    #[error(
        "{} be opened with either wrapping key; all others have the new one", keys_of(*people)
    )]
    KeysLeft {
        /// How many people.
        people: u64,
    },
    /// This replica cannot show that it lives, so it must not redeem anything.
    #[error("this replica lost its session lock, and redeems nothing until it has it again")]
    LostLock,
    /// Other sessions kept rows locked for longer than we wait.
    #[error("the database is busy")]
    Busy,
    /// A stored value is not what was stored.
    #[error("{what} is damaged: {how}")]
    Corrupt {
        /// Which value.
        what: String,
        /// How it shows.
        how: Damage,
    },
    /// A name is empty or too long.
    #[error("`{name}` cannot name an entry of the store")]
    InvalidName {
        /// The name, shortened.
        name: String,
    },
    /// The key that wraps people's keys cannot be used.
    #[error("the wrapping key cannot be used")]
    Wrapper {
        /// Why.
        #[source]
        source: WrapError,
    },
    /// What holds the wrapping key does not answer, and the key of this person is not in memory.
    #[error("the wrapping key cannot be used now")]
    WrapperAway {
        /// Why.
        #[source]
        source: WrapError,
    },
    /// Neither the database nor the journal can keep tokens.
    #[error("the journal cannot be written")]
    Journal {
        /// Why; `None` where no folder was given.
        #[source]
        source: Option<std::io::Error>,
    },
    /// The runtime that carries the connections cannot start.
    #[error("no thread can be started for the connections of the database")]
    Thread {
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A statement failed that cannot fail on a sound database.
    #[error("cannot {action}")]
    Statement {
        /// What was tried, as in "cannot ...".
        action: &'static str,
        /// What the server said.
        #[source]
        source: ServerError,
    },
    /// A cryptographic operation failed that cannot fail on valid input.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// It cannot be parsed.
    #[error("it is not of the form `postgres://role@host/database`")]
    Syntax,
    /// It holds a password, which other processes could read from the argument list.
    #[error("it contains a password")]
    Password,
    /// It turns TLS off for a host beyond this machine.
    #[error("it turns TLS off for a host other than this machine")]
    NoTls,
    /// It names no host.
    #[error("it names no host")]
    NoHost,
}

/// Why a key could not be wrapped or unwrapped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WrapError {
    /// The wrapped key was changed, or belongs to another key or purpose.
    #[error("a wrapped key cannot be unwrapped")]
    Rejected,
    /// What holds the wrapping key does not answer.
    #[error("the holder of the wrapping key does not answer")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What the server or the connection to it said, in words and never with values.
#[derive(Debug, Error)]
#[error("{text}")]
pub struct ServerError {
    text: String,
    state: Option<SqlState>,
    /// The name of the host leads to no address.
    is_unknown_host: bool,
}

impl ServerError {
    pub(crate) fn new(error: &tokio_postgres::Error) -> Self {
        // The detail of a server's error can quote a row; its message does not.
        let text = match error.as_db_error() {
            Some(said) => said.message().to_owned(),
            None => std::error::Error::source(error)
                .map_or_else(|| error.to_string(), ToString::to_string),
        };
        Self {
            // The standard library has no kind for it, and begins with these words on every system.
            is_unknown_host: text.starts_with("failed to lookup address information"),
            text: keyway_secret::printable(&text).chars().take(300).collect(),
            state: error.code().cloned(),
        }
    }
}

fn without_key(replicas: usize) -> String {
    match replicas {
        1 => "1 running gateway does not have".to_owned(),
        more => format!("{more} running gateways do not have"),
    }
}

fn keys_of(people: u64) -> String {
    match people {
        1 => "the key of 1 person cannot".to_owned(),
        more => format!("the keys of {more} people cannot"),
    }
}

impl PostgresError {
    /// Sorts an error of the client library by who can fix it.
    pub(crate) fn statement(action: &'static str) -> impl Fn(tokio_postgres::Error) -> Self {
        move |error| Self::sort(action, &error)
    }

    pub(crate) fn sort(action: &'static str, error: &tokio_postgres::Error) -> Self {
        let source = ServerError::new(error);
        let Some(state) = source.state.as_ref() else {
            return Self::Unreachable {
                source: Some(source),
            };
        };
        match state.code() {
            "25006" => Self::ReadOnly,
            "55P03" | "57014" | "40001" | "40P01" => Self::Busy,
            // A pooler answers an option that it cannot keep per session with this state.
            "08P01" => Self::Pooler,
            code if code.starts_with("28") || code == "3D000" => Self::Refused { source },
            code if code.starts_with("08") || code.starts_with("57P") || code == "53300" => {
                Self::Unreachable {
                    source: Some(source),
                }
            }
            _ => Self::Statement { action, source },
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>, how: Damage) -> Self {
        Self::Corrupt {
            what: what.into(),
            how,
        }
    }

    pub(crate) fn invalid_name(name: &str) -> Self {
        Self::InvalidName {
            name: keyway_secret::printable(name).chars().take(40).collect(),
        }
    }

    /// Returns the code used in every format; it says who can fix it.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Busy => Code::VaultBusy,
            Self::Corrupt { .. } | Self::KeysLeft { .. } => Code::VaultCorrupt,
            Self::NewerSchema { .. } => Code::VaultNewer,
            Self::ForeignSchema => Code::NotAVault,
            Self::ReadOnly | Self::Standby | Self::Journal { .. } => Code::VaultUnwritable,
            Self::Exposed { .. } => Code::VaultExposed,
            Self::Unreachable { .. } | Self::LostLock | Self::WrapperAway { .. } => {
                Code::StoreUnreachable
            }
            Self::Address { .. }
            | Self::Password { .. }
            | Self::Unreadable { .. }
            | Self::Certificates
            | Self::Refused { .. }
            | Self::Pooler
            | Self::OldServer { .. }
            | Self::UnboundRole { .. }
            | Self::OtherKey { .. }
            | Self::InvalidName { .. }
            | Self::NoPreviousKey
            | Self::KeyNotEverywhere { .. }
            | Self::Wrapper { .. }
            | Self::Thread { .. }
            | Self::Statement { .. }
            | Self::Seal(_) => Code::VaultFailed,
        }
    }

    /// Tells whether the same call may succeed a little later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Busy
                | Self::Unreachable { .. }
                | Self::LostLock
                | Self::Wrapper { .. }
                | Self::WrapperAway { .. }
        )
    }

    /// Returns what a person can do about it.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Address { source } => match source {
                AddressFault::Password => {
                    "leave the password out, and supply it by a file, a command or `PGPASSFILE`"
                }
                AddressFault::NoTls => "remove `sslmode=disable`, or connect to this machine",
                AddressFault::Syntax | AddressFault::NoHost => {
                    "write `postgres://role@host:5432/database`"
                }
            },
            Self::Unreadable { .. } => {
                "check the path in config.toml, and that the user of this process may read the file"
            }
            Self::Exposed { .. } => "run `chmod 600` on it",
            Self::Certificates => "name a file of certificates of your authority",
            Self::Unreachable {
                source:
                    Some(ServerError {
                        is_unknown_host: true,
                        ..
                    }),
            } => "check the host in the address of the database: its name leads nowhere",
            Self::Unreachable { .. } | Self::LostLock => {
                "start the database, or wait: nothing was lost"
            }
            Self::WrapperAway { .. } => {
                "start what holds the wrapping key, or wait: nothing was lost"
            }
            Self::Refused { .. } => "check the role, its password and the name of the database",
            Self::Pooler => {
                "connect to the database itself, or set the pooler to session mode: \
                 session locks show which replicas live"
            }
            Self::UnboundRole { .. } => {
                "connect as a role with `NOSUPERUSER NOBYPASSRLS` that owns the database"
            }
            Self::Standby => "connect to the primary server",
            Self::ReadOnly => "set `default_transaction_read_only` to `off` for this role",
            Self::NewerSchema { .. } => "update this replica",
            Self::ForeignSchema => "use another database",
            Self::OtherKey { .. } => {
                "supply the key that the store was made with; while it is being changed, the new and \
                 the previous one"
            }
            Self::NoPreviousKey => {
                "describe the new key in `[vault.key]` of config.toml, and the other in `[vault.previous_key]`"
            }
            Self::KeyNotEverywhere { .. } => {
                "restart each gateway with the new key and the previous one, then run this again"
            }
            Self::KeysLeft { .. } => "restore their rows from a backup, or forget these people",
            _ => return None,
        })
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        match error {
            PostgresError::Busy => Self::Busy,
            PostgresError::Corrupt { what, how } => Self::Corrupt { what, how },
            PostgresError::InvalidName { name } => Self::InvalidName { name },
            other => {
                let (code, is_transient) = (other.code(), other.is_transient());
                let hint = other.hint();
                let mut failure = BackendFailure::new(other)
                    .with_code(code)
                    .with_transient(is_transient);
                if let Some(hint) = hint {
                    failure = failure.with_hint(hint);
                }
                Self::Backend(failure)
            }
        }
    }
}

impl From<StoreError> for PostgresError {
    /// For what the shared types check themselves: names.
    fn from(error: StoreError) -> Self {
        Self::invalid_name(match &error {
            StoreError::InvalidName { name } => name,
            _ => "",
        })
    }
}
