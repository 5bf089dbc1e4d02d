//! The gateway as a service of one person: what a service manager is told about it.
//!
//! A [`Service`] is text; [`ServiceFiles`] writes it, and the [`ServiceManager`] starts it. A service
//! has no shell: what it finds in its environment stands in the file, and no credential ever does.

mod files;
mod launchd;
mod manager;
mod systemd;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use keyway_files::error::WriteError;
use thiserror::Error;

pub use self::files::ServiceFiles;
pub use self::manager::{ServiceManager, ServiceState};

/// A service that serves plugins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Service {
    /// The program, by its absolute path.
    pub program: String,
    /// What stands before the plugins on its command line.
    pub options: Vec<String>,
    /// The plugins, by their absolute paths.
    pub plugins: Vec<String>,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Whether the machine has the other loopback address as well.
    pub has_both_families: bool,
    /// The socket for processes of the same user.
    pub socket: String,
    /// Which variables it starts with; never a credential.
    pub environment: Vec<(String, String)>,
}

/// A file for a service manager.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnitFile {
    /// Its name, without a folder.
    pub name: &'static str,
    /// Its content.
    pub content: String,
}

impl Service {
    /// Describes a service that starts `program`, by its absolute path, and listens at `listen` and on
    /// `socket`. It serves no plugin yet.
    #[must_use]
    pub fn new(program: impl Into<String>, listen: SocketAddr, socket: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            options: Vec::new(),
            plugins: Vec::new(),
            listen,
            has_both_families: false,
            socket: socket.into(),
            environment: Vec::new(),
        }
    }

    /// Returns the files for systemd: the sockets, which are there from the start, and the service,
    /// which the first connection starts.
    ///
    /// # Errors
    ///
    /// Returns [`ServiceError`] for a text that no line of such a file can hold.
    pub fn systemd(&self) -> Result<Vec<UnitFile>, ServiceError> {
        self.check()?;
        Ok(systemd::files(self))
    }

    /// Returns the file for launchd.
    ///
    /// # Errors
    ///
    /// As for [`Service::systemd`].
    pub fn launchd(&self) -> Result<UnitFile, ServiceError> {
        self.check()?;
        Ok(launchd::file(self))
    }

    /// Returns the command line.
    fn command(&self) -> impl Iterator<Item = &str> {
        let program = [self.program.as_str(), "serve"].into_iter();
        let options = self.options.iter().map(String::as_str);
        let plugins = self.plugins.iter().map(String::as_str);
        program.chain(options).chain(plugins)
    }

    fn check(&self) -> Result<(), ServiceError> {
        let variables = self.environment.iter().map(|(_, value)| value.as_str());
        let mut texts = self
            .command()
            .chain([self.socket.as_str()])
            .chain(variables);
        match texts.find(|text| text.chars().any(char::is_control)) {
            Some(text) => Err(ServiceError::Control { text: text.into() }),
            None => Ok(()),
        }
    }
}

/// Says whether a file was written for us.
#[must_use]
pub fn is_ours(content: &str) -> bool {
    content.lines().take(MARK_LINES).any(|line| {
        let line = line.trim_start_matches(['#', '<', '!', '-', ' ']);
        line.starts_with(MARK)
    })
}

/// Where the files of systemd's user manager are, below the folder for settings.
#[must_use]
pub fn systemd_folder(config_home: PathBuf) -> PathBuf {
    config_home.join("systemd/user")
}

/// Where the files of launchd are, below the home folder.
#[must_use]
pub fn launchd_folder(home: PathBuf) -> PathBuf {
    home.join("Library/LaunchAgents")
}

/// Why there is no service.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A line break in a path, for example.
    #[error("`{}` contains a control character", keyway_secret::printable(text))]
    Control {
        /// The text.
        text: String,
    },
    /// The service manager did not do it.
    #[error("`{command}` failed: {said}")]
    Manager {
        /// Its command line.
        command: String,
        /// The last line that it printed.
        said: String,
    },
    /// A file of that name is not ours.
    #[error("`{}` already exists and was not written by Keyway", path.display())]
    UnmanagedUnitFile {
        /// The file.
        path: PathBuf,
    },
    /// A file or its folder cannot be read or made.
    #[error("cannot write `{}`", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The name of the socket unit, which is what is switched on and off.
pub const SOCKET_UNIT: &str = "keyway.socket";
/// The name of the service unit.
pub const SERVICE_UNIT: &str = "keyway.service";
/// The name under which launchd knows the service.
pub const LABEL: &str = "dev.keyway.gateway";

const MARK: &str = "Written by `keyway service install`";
const MARK_LINES: usize = 4;

#[cfg(test)]
mod tests;
