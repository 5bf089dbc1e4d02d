//! Where the database is, and how it is reached.

use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_secret::Secret;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::{AddressFault, PostgresError};
use crate::timeouts::{CONNECT_TIMEOUT, TCP_KEEPALIVE_INTERVAL, TCP_USER_TIMEOUT};
use crate::tls::Tls;

/// The address of a database and what is needed to connect to it.
///
/// ```
/// use keyway_postgres::{Password, Settings};
///
/// let settings = Settings::new("postgres://keyway@db.example/keyway")?
///     .with_password(Password::File("/etc/keyway/database-password".into()));
/// assert!(Settings::new("postgres://keyway:hunter2@db.example/keyway").is_err());
/// # Ok::<(), keyway_postgres::PostgresError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    config: Config,
    password: Password,
    authorities: Option<PathBuf>,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) connections: usize,
}

/// Where the password of the role comes from.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Password {
    /// There is none: the server trusts the socket or the address.
    #[default]
    None,
    /// The first line of a file that only its owner can read.
    File(PathBuf),
    /// A file in the format of `PGPASSFILE` that only its owner can read.
    PassFile(PathBuf),
    /// The caller gets it, for example from a program.
    Supplied(Arc<dyn PasswordSupplier>),
}

/// Gets the password of the role when the store is opened.
pub trait PasswordSupplier: Send + Sync {
    /// Returns the password.
    ///
    /// # Errors
    ///
    /// Returns why there is none.
    fn supply(&self) -> io::Result<Secret<String>>;
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::PassFile(path) => f.debug_tuple("PassFile").field(path).finish(),
            Self::Supplied(_) => f.write_str("Supplied(..)"),
        }
    }
}

impl Settings {
    /// Reads an address: `postgres://role@host:port/database`.
    ///
    /// Beyond this machine TLS is used and the server is verified by name, whatever `sslmode` says.
    ///
    /// # Errors
    ///
    /// Returns [`PostgresError::Address`] if it is none, holds a password, or turns TLS off for
    /// another machine.
    pub fn new(address: &str) -> Result<Self, PostgresError> {
        let fault = |source| PostgresError::Address { source };
        let mut config: Config = address.parse().map_err(|_| fault(AddressFault::Syntax))?;
        if config.get_password().is_some() {
            return Err(fault(AddressFault::Password));
        }
        if config.get_hosts().is_empty() {
            return Err(fault(AddressFault::NoHost));
        }
        if is_local(&config) {
            config.ssl_mode(SslMode::Disable);
        } else if config.get_ssl_mode() == SslMode::Disable {
            return Err(fault(AddressFault::NoTls));
        } else {
            config.ssl_mode(SslMode::Require);
        }
        Ok(Self {
            config,
            password: Password::None,
            authorities: None,
            journal: None,
            connections: CONNECTIONS,
        })
    }

    /// Sets where the password comes from.
    #[must_use]
    pub fn with_password(mut self, password: Password) -> Self {
        self.password = password;
        self
    }

    /// Verifies the server against the certificates of a file, in place of the system's.
    #[must_use]
    pub fn with_authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.authorities = Some(file.into());
        self
    }

    /// Sets the folder that keeps, sealed, tokens that could not be committed.
    #[must_use]
    pub fn with_journal(mut self, folder: impl Into<PathBuf>) -> Self {
        self.journal = Some(folder.into());
        self
    }

    /// Sets how many connections are made at most, one more excepted that shows that we live.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Returns what every session is started with.
    pub(crate) fn session(&self) -> Result<(Config, Tls), PostgresError> {
        let mut config = self.config.clone();
        if let Some(password) = self.read_password()? {
            config.password(password.expose());
        }
        config
            .application_name("keyway")
            .connect_timeout(CONNECT_TIMEOUT)
            .options(SESSION_OPTIONS)
            .keepalives(true)
            .keepalives_idle(TCP_KEEPALIVE_INTERVAL)
            .keepalives_interval(TCP_KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(TCP_USER_TIMEOUT);
        let tls = if is_local(&self.config) {
            Tls::unused()
        } else {
            Tls::verified(self.authorities.as_deref())?
        };
        Ok((config, tls))
    }

    fn read_password(&self) -> Result<Option<Secret<String>>, PostgresError> {
        let failed = |source| PostgresError::Password { source };
        let found = match &self.password {
            Password::None => return Ok(None),
            Password::File(path) => {
                let text = read_private(path)?;
                text.expose().lines().next().map(str::to_owned)
            }
            Password::PassFile(path) => {
                let text = read_private(path)?;
                let mut lines = text.expose().lines();
                lines.find_map(|line| password_in(line, &self.config))
            }
            Password::Supplied(supplier) => {
                return supplier.supply().map(Some).map_err(failed);
            }
        };
        let absent = || {
            failed(io::Error::other(
                "it does not contain one for this database",
            ))
        };
        found.map(Secret::new).map(Some).ok_or_else(absent)
    }
}

/// Reads the first line of a file that holds a secret, such as the PIN of a token.
///
/// # Errors
///
/// Returns [`PostgresError::Exposed`] if others can read the file, and [`PostgresError::Unreadable`] if
/// it cannot be read.
pub fn read_secret(path: &Path) -> Result<Secret<String>, PostgresError> {
    let text = read_private(path)?;
    let line = text.expose().lines().next().unwrap_or_default();
    Ok(Secret::new(line.to_owned()))
}

/// Reads a file that holds a secret and that others must not read.
pub(crate) fn read_private(path: &Path) -> Result<Secret<String>, PostgresError> {
    let failed = |source| PostgresError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    // Of the opened file: the path may lead elsewhere by now.
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(PostgresError::Exposed {
            path: path.to_owned(),
        });
    }
    let mut text = String::new();
    file.take(MAX_SECRET_FILE)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(Secret::new(text))
}

/// Says whether every host is this machine; a name other than `localhost` is not looked up.
fn is_local(config: &Config) -> bool {
    let is_loopback = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .trim_matches(['[', ']'])
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(is_loopback)
        && config
            .get_hostaddrs()
            .iter()
            .all(std::net::IpAddr::is_loopback)
}

/// Returns the password of a line `host:port:database:role:password` that fits.
fn password_in(line: &str, config: &Config) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = fields(line).into_iter();
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    for wanted in [&host, &port.to_string(), database, user] {
        let field = fields.next()?;
        if field != "*" && field != *wanted {
            return None;
        }
    }
    fields.next()
}

/// Splits a line at its colons; a backslash takes the next character's meaning away.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let character = match character {
            ':' => {
                fields.push(String::new());
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(field) = fields.last_mut() {
            field.push(character);
        }
    }
    fields
}

const CONNECTIONS: usize = 16;
const KEEPALIVE_RETRIES: u32 = 3;
/// The server's default would keep the lock of a host that vanished for two hours; these free it
/// after four seconds. The time-outs end what a session that hangs keeps from others.
const SESSION_OPTIONS: &str = "-c tcp_keepalives_idle=1 -c tcp_keepalives_interval=1 \
    -c tcp_keepalives_count=3 -c tcp_user_timeout=4000 -c statement_timeout=5000 \
    -c lock_timeout=3000 -c idle_in_transaction_session_timeout=10000";
const MAX_SECRET_FILE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(address: &str) -> Option<AddressFault> {
        match Settings::new(address) {
            Err(PostgresError::Address { source }) => Some(source),
            _ => None,
        }
    }

    #[test]
    fn address_with_a_password_or_without_tls_is_refused() {
        for (address, expected) in [
            ("postgres://k:hunter2@db.example/k", AddressFault::Password),
            (
                "postgres://k@127.0.0.1/k?password=x",
                AddressFault::Password,
            ),
            (
                "postgres://k@db.example/k?sslmode=disable",
                AddressFault::NoTls,
            ),
            (
                "postgres://k@10.0.0.1/k?sslmode=disable",
                AddressFault::NoTls,
            ),
            (
                "postgres://k@localhost/k?sslmode=disable&hostaddr=10.0.0.1",
                AddressFault::NoTls,
            ),
            ("postgres:///k", AddressFault::NoHost),
            ("postgres://k@db.example/k?unknown=1", AddressFault::Syntax),
        ] {
            assert_eq!(fault(address), Some(expected), "{address}");
        }
    }

    #[test]
    fn tls_is_required_exactly_beyond_this_machine() {
        for (address, mode) in [
            ("postgres://k@127.0.0.1/k", SslMode::Disable),
            ("postgres://k@localhost:6000/k", SslMode::Disable),
            ("postgres://k@%2Frun%2Fpostgresql/k", SslMode::Disable),
            ("postgres://k@db.example/k", SslMode::Require),
            ("postgres://k@db.example/k?sslmode=prefer", SslMode::Require),
            ("postgres://k@127.0.0.1,10.0.0.1/k", SslMode::Require),
            ("postgres://k@localhost.example/k", SslMode::Require),
        ] {
            let settings = Settings::new(address).unwrap();
            assert_eq!(settings.config.get_ssl_mode(), mode, "{address}");
        }
    }

    #[test]
    fn pass_file_is_read_as_the_database_clients_read_it() {
        let settings = Settings::new("postgres://ada@db.example:6432/team").unwrap();
        for (line, password) in [
            ("db.example:6432:team:ada:secret", Some("secret")),
            ("*:*:*:ada:a\\:b\\\\c", Some("a:b\\c")),
            ("# *:*:*:*:x", None),
            ("db.example:5432:team:ada:x", None),
            ("*:*:*:bob:x", None),
            ("*:*", None),
        ] {
            let found = password_in(line, &settings.config);
            assert_eq!(found.as_deref(), password, "{line}");
        }
    }

    #[test]
    fn secret_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        #[expect(
            clippy::disallowed_methods,
            reason = "a file with bits too wide is the point"
        )]
        std::fs::write(&path, "hunter2\n").unwrap();
        let set = |mode| {
            let bits = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, bits).unwrap();
        };
        let settings = Settings::new("postgres://k@127.0.0.1/k").unwrap();
        let settings = settings.with_password(Password::File(path.clone()));
        set(0o640);
        let refused = settings.read_password();
        assert!(matches!(refused, Err(PostgresError::Exposed { .. })));
        set(0o600);
        let read = settings.read_password().unwrap().unwrap();
        assert_eq!(read.expose(), "hunter2");
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
