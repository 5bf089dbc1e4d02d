//! The service manager of the person's session, asked through its own command.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use keyway_clients::service::{LABEL, SERVICE_UNIT, SOCKET_UNIT, launchd_folder, systemd_folder};
use keyway_secret::printable;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::vault::folders;

/// The service manager of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    /// systemd's manager of one user.
    Systemd,
    /// launchd, for an agent of one user.
    Launchd,
}

/// How a service stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServiceState {
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
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Answers => "running",
            Self::Silent(_) => "failed",
            Self::Off(_) => "off",
        }
    }

    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Absent => "the service is not installed; run `keyway service install`".to_owned(),
            Self::Answers => "the service answers; `keyway token new` lets a client in".to_owned(),
            Self::Silent(said) => format!(
                "the service is on and does not answer ({}); its log: journalctl --user -u \
                 {SERVICE_UNIT}",
                printable(said)
            ),
            Self::Off(said) => format!(
                "the service is installed and off ({}); `keyway service install` switches it on",
                printable(said)
            ),
        }
    }
}

impl Manager {
    /// Says what a service needs to run while no one is logged in.
    pub(super) const fn without_login(self) -> &'static str {
        match self {
            Self::Systemd => {
                "to keep it running while you are logged out: loginctl enable-linger\n"
            }
            _ => "",
        }
    }

    /// Returns where the files of a service manager are.
    pub(super) fn folder(self) -> Result<PathBuf, CliError> {
        let home = ProcessEnvironment::home();
        let folder = match self {
            Self::Systemd => ProcessEnvironment::config_home()
                .or_else(|| home.map(|home| home.join(".config")))
                .map(systemd_folder),
            Self::Launchd => home.map(launchd_folder),
        };
        Ok(folder.ok_or(keyway::Error::NoHome)?)
    }

    /// Returns the one of this machine.
    pub(super) const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::Launchd
        } else {
            Self::Systemd
        }
    }

    /// Makes it read the files, and listen from now on and after every login.
    pub(super) fn switch_on(self) -> Result<(), CliError> {
        match self {
            Self::Systemd => {
                systemctl(&["daemon-reload"])?;
                // A service that runs keeps the sockets as they were.
                systemctl(&["stop", SERVICE_UNIT])?;
                systemctl(&["enable", SOCKET_UNIT])?;
                systemctl(&["restart", SOCKET_UNIT])
            }
            Self::Launchd => {
                drop(call("launchctl", &["bootout", &agent()]));
                let file = self.folder()?.join(format!("{LABEL}.plist"));
                launchctl(&["bootstrap", &domain(), &file.to_string_lossy()])
            }
        }
    }

    /// Ends it, now and after every login.
    pub(super) fn switch_off(self) -> Result<(), CliError> {
        match self {
            Self::Systemd => systemctl(&["disable", "--now", SOCKET_UNIT, SERVICE_UNIT]),
            Self::Launchd => launchctl(&["bootout", &agent()]),
        }
    }

    /// Lets it notice that files are gone.
    pub(super) fn look_again(self) {
        if self == Self::Systemd {
            drop(call("systemctl", &["--user", "daemon-reload"]));
            drop(call(
                "systemctl",
                &["--user", "reset-failed", SERVICE_UNIT, SOCKET_UNIT],
            ));
        }
    }

    /// Asks how an installed service stands.
    pub(super) fn state(self) -> ServiceState {
        let state = match self {
            Self::Systemd => said(&call("systemctl", &["--user", "is-active", SOCKET_UNIT])),
            Self::Launchd => match call("launchctl", &["print", &agent()]) {
                Ok(output) if output.status.success() => "active".to_owned(),
                other => said(&other),
            },
        };
        if state != "active" {
            return ServiceState::Off(state);
        }
        if answers() {
            return ServiceState::Answers;
        }
        let state = match self {
            Self::Systemd => said(&call("systemctl", &["--user", "is-active", SERVICE_UNIT])),
            Self::Launchd => state,
        };
        ServiceState::Silent(state)
    }
}

/// Says whether a gateway answers on the socket; where it has to be started first, that is waited
/// for.
fn answers() -> bool {
    let ask = || -> Option<bool> {
        let socket = folders().ok()?.runtime.join("gateway.sock");
        let mut stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(HEALTH).ok()?;
        let mut answer = [0; HEALTHY.len()];
        stream.read_exact(&mut answer).ok()?;
        Some(answer == *HEALTHY)
    };
    ask().unwrap_or_default()
}

fn systemctl(arguments: &[&str]) -> Result<(), CliError> {
    let mut all = vec!["--user"];
    all.extend(arguments);
    done("systemctl", &all)
}

fn launchctl(arguments: &[&str]) -> Result<(), CliError> {
    done("launchctl", arguments)
}

fn done(program: &str, arguments: &[&str]) -> Result<(), CliError> {
    let output = call(program, arguments);
    match &output {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(CliError::Manager {
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
/// The first client waits until the program has started.
const PATIENCE: Duration = Duration::from_secs(10);
