//! The service manager of the person's session, asked through its own command.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use keyway_secret::printable;

use super::{LABEL, SERVICE_UNIT, SOCKET_UNIT, ServiceError, launchd_folder, systemd_folder};
use crate::timeouts::SERVICE_ANSWER_TIMEOUT;

/// The service manager of this machine, and where it and the gateway are found.
#[derive(Debug, Clone)]
pub struct ServiceManager {
    kind: ManagerKind,
    /// Where its files are.
    folder: PathBuf,
    /// Where the gateway answers processes of the same user.
    socket: PathBuf,
}

/// Which service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ManagerKind {
    /// systemd's manager of one user.
    Systemd,
    /// launchd, for an agent of one user.
    Launchd,
}

/// How a service stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceState {
    /// It is not installed.
    Absent,
    /// A request to it was answered just now.
    Answers,
    /// It is switched on but does not answer; holds the status from its manager.
    Silent(String),
    /// It is installed and switched off; holds the status from its manager.
    Off(String),
}

impl ServiceState {
    /// Returns the word for scripts.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Answers => "running",
            Self::Silent(_) => "failed",
            Self::Off(_) => "off",
        }
    }

    /// Says it to a person, with what to do next.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Absent => "the service is not installed; run `keyway service install`".to_owned(),
            Self::Answers => "the service answers; `keyway token new` lets a client in".to_owned(),
            Self::Silent(said) => format!(
                "the service is running but does not answer ({}); its log: journalctl --user -u \
                 {SERVICE_UNIT}",
                printable(said)
            ),
            Self::Off(said) => format!(
                "the service is installed but stopped ({}); `keyway service install` starts it",
                printable(said)
            ),
        }
    }
}

impl ServiceManager {
    /// Returns the one of this machine, for a person with this home and folder for settings.
    #[must_use]
    pub fn here(home: &Path, config_home: Option<PathBuf>, socket: PathBuf) -> Self {
        let (kind, folder) = if cfg!(target_os = "macos") {
            (ManagerKind::Launchd, launchd_folder(home.to_path_buf()))
        } else {
            let config = config_home.unwrap_or_else(|| home.join(".config"));
            (ManagerKind::Systemd, systemd_folder(config))
        };
        Self {
            kind,
            folder,
            socket,
        }
    }

    pub(super) const fn kind(&self) -> ManagerKind {
        self.kind
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says what a service needs to run while its user is not logged in.
    #[must_use]
    pub const fn without_login(&self) -> &'static str {
        match self.kind {
            ManagerKind::Systemd => {
                "to keep it running while you are logged out: loginctl enable-linger\n"
            }
            ManagerKind::Launchd => "",
        }
    }

    /// Makes it read the files, and listen from now on and after every login.
    ///
    /// # Errors
    ///
    /// Returns [`ServiceError::Manager`] if one of its commands failed.
    pub fn switch_on(&self) -> Result<(), ServiceError> {
        match self.kind {
            ManagerKind::Systemd => {
                systemctl(&["daemon-reload"])?;
                // A service that runs keeps the sockets as they were.
                systemctl(&["stop", SERVICE_UNIT])?;
                systemctl(&["enable", SOCKET_UNIT])?;
                systemctl(&["restart", SOCKET_UNIT])
            }
            ManagerKind::Launchd => {
                drop(call("launchctl", &["bootout", &agent()]));
                let file = self.folder.join(format!("{LABEL}.plist"));
                launchctl(&["bootstrap", &domain(), &file.to_string_lossy()])
            }
        }
    }

    /// Ends it, now and after every login.
    ///
    /// # Errors
    ///
    /// Returns [`ServiceError::Manager`] if its command failed.
    pub fn switch_off(&self) -> Result<(), ServiceError> {
        match self.kind {
            ManagerKind::Systemd => systemctl(&["disable", "--now", SOCKET_UNIT, SERVICE_UNIT]),
            ManagerKind::Launchd => launchctl(&["bootout", &agent()]),
        }
    }

    /// Lets it notice that files are gone.
    pub fn look_again(&self) {
        if self.kind == ManagerKind::Systemd {
            drop(call("systemctl", &["--user", "daemon-reload"]));
            drop(call(
                "systemctl",
                &["--user", "reset-failed", SERVICE_UNIT, SOCKET_UNIT],
            ));
        }
    }

    /// Asks how an installed service stands.
    #[must_use]
    pub fn state(&self) -> ServiceState {
        let state = match self.kind {
            ManagerKind::Systemd => said(&call("systemctl", &["--user", "is-active", SOCKET_UNIT])),
            ManagerKind::Launchd => match call("launchctl", &["print", &agent()]) {
                Ok(output) if output.status.success() => "active".to_owned(),
                other => said(&other),
            },
        };
        if state != "active" {
            return ServiceState::Off(state);
        }
        if answers(&self.socket) {
            return ServiceState::Answers;
        }
        let state = match self.kind {
            ManagerKind::Systemd => {
                said(&call("systemctl", &["--user", "is-active", SERVICE_UNIT]))
            }
            ManagerKind::Launchd => state,
        };
        ServiceState::Silent(state)
    }
}

/// Says whether a gateway answers on the socket; where it has to be started first, that is waited
/// for.
fn answers(socket: &Path) -> bool {
    let ask = || -> Option<bool> {
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(SERVICE_ANSWER_TIMEOUT)).ok()?;
        stream
            .set_write_timeout(Some(SERVICE_ANSWER_TIMEOUT))
            .ok()?;
        stream.write_all(HEALTH).ok()?;
        let mut answer = [0; HEALTHY.len()];
        stream.read_exact(&mut answer).ok()?;
        Some(answer == *HEALTHY)
    };
    ask().unwrap_or_default()
}

fn systemctl(arguments: &[&str]) -> Result<(), ServiceError> {
    let mut all = vec!["--user"];
    all.extend(arguments);
    done("systemctl", &all)
}

fn launchctl(arguments: &[&str]) -> Result<(), ServiceError> {
    done("launchctl", arguments)
}

fn done(program: &str, arguments: &[&str]) -> Result<(), ServiceError> {
    let output = call(program, arguments);
    match &output {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(ServiceError::Manager {
            command: format!("{program} {}", arguments.join(" ")),
            said: said(&output),
        }),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the system's own command for the person's services, not a program of a plugin"
)]
fn call(program: &str, arguments: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.output()
}

/// Returns the last line that a command printed.
fn said(output: &std::io::Result<Output>) -> String {
    match output {
        Ok(output) => {
            let out = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let err = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let text = if out.is_empty() { err } else { out };
            text.lines().last().unwrap_or("it said nothing").to_owned()
        }
        Err(error) => error.to_string(),
    }
}

fn domain() -> String {
    format!("gui/{}", rustix::process::geteuid().as_raw())
}

fn agent() -> String {
    format!("{}/{LABEL}", domain())
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const HEALTHY: &[u8; 13] = b"HTTP/1.1 200 ";
