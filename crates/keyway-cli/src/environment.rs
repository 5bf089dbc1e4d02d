//! The process environment: the only file that reads it.

use std::ffi::OsString;
use std::path::PathBuf;

use keyway::vault::{BusAddress, Folders};
use keyway_config::environment::Environment;
use keyway_secret::Secret;

/// The variables of this process. A value that is not UTF-8 counts as unset.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessEnvironment;

impl ProcessEnvironment {
    /// Returns the person's home folder.
    pub(crate) fn home() -> Option<PathBuf> {
        value("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from)
    }

    /// Returns the folder in which the person works.
    pub(crate) fn current_folder() -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
    }

    /// Returns the folder for data that Keyway keeps, which need not exist.
    pub(crate) fn data_folder() -> Option<PathBuf> {
        Self::folders().map(|folders| folders.data)
    }

    /// Returns the folder for the settings of programs.
    pub(crate) fn config_home() -> Option<PathBuf> {
        absolute("XDG_CONFIG_HOME")
    }

    /// Returns the path of this program.
    pub(crate) fn program() -> Option<PathBuf> {
        std::env::current_exe().ok()
    }

    /// Returns the width of the screen, where the shell or the person says it.
    pub(crate) fn columns() -> Option<usize> {
        let columns = value("COLUMNS")?.to_str()?.parse().ok()?;
        (columns > 0).then_some(columns)
    }

    /// Returns the three folders in which everything is kept; `None` without a home.
    pub(crate) fn folders() -> Option<Folders> {
        keyway::host::keyway_folders()
    }

    /// Returns where a session bus may listen; having none is not an error.
    pub(crate) fn session_bus() -> Vec<BusAddress> {
        let runtime = absolute("XDG_RUNTIME_DIR").or_else(usual_runtime_folder);
        match Self::text("DBUS_SESSION_BUS_ADDRESS") {
            Some(list) => BusAddress::parse(&list, runtime.as_deref()),
            None => runtime
                .as_deref()
                .map(BusAddress::in_runtime_folder)
                .into_iter()
                .collect(),
        }
    }

    /// Says whether windows can be shown.
    pub(crate) fn has_screen() -> bool {
        Self::is_set("DISPLAY") || Self::is_set("WAYLAND_DISPLAY")
    }

    /// Returns the command line that prints the vault's key.
    pub(crate) fn key_command() -> Option<OsString> {
        value("KEYWAY_KEY_COMMAND").filter(|line| !line.is_empty())
    }

    /// Returns the file of passwords that clients of PostgreSQL read.
    pub(crate) fn pass_file() -> Option<PathBuf> {
        file("PGPASSFILE")
    }

    /// Returns the file that holds the vault's key.
    pub(crate) fn key_file() -> Option<PathBuf> {
        file("KEYWAY_KEY_FILE")
    }

    /// Returns the key that a service manager hands out, if it does.
    pub(crate) fn key_credential() -> Option<PathBuf> {
        let path = absolute("CREDENTIALS_DIRECTORY")?.join("keyway-key");
        path.symlink_metadata().is_ok().then_some(path)
    }

    /// Says whether the service manager passed listening sockets to this very process.
    pub(crate) fn has_sockets() -> bool {
        let process = Self::text("LISTEN_PID").and_then(|id| id.parse().ok());
        Self::is_set("LISTEN_FDS") && process == Some(std::process::id())
    }

    /// Returns where the service manager wants to be told how this process stands.
    pub(crate) fn notify_socket() -> Option<OsString> {
        value("NOTIFY_SOCKET").filter(|name| !name.is_empty())
    }

    /// Returns the variables of this process that say where everything is kept, and with what it
    /// is opened: what a service needs to find the same.
    pub(crate) fn of_places() -> Vec<(String, String)> {
        let found = PLACES.iter().filter_map(|name| {
            let value = Self::text(name)?;
            Some(((*name).to_owned(), value))
        });
        found.collect()
    }

    /// Returns the file that holds the passphrase of the vault.
    pub(crate) fn passphrase_file() -> Option<PathBuf> {
        file("KEYWAY_PASSPHRASE_FILE")
    }

    /// Returns what a new vault shall take its key from.
    pub(crate) fn key_source() -> Option<String> {
        Self::text("KEYWAY_KEY_SOURCE")
    }

    /// Returns the profile that the environment names.
    pub(crate) fn profile() -> Option<String> {
        Self::text("KEYWAY_PROFILE")
    }

    /// Returns a variable that is not empty.
    pub(crate) fn text(name: &str) -> Option<String> {
        value(name)?
            .into_string()
            .ok()
            .filter(|text| !text.is_empty())
    }

    /// Returns everything, for the one place that chooses what children get.
    pub(crate) fn all() -> Vec<(OsString, OsString)> {
        keyway::host::ProcessEnvironment::all()
    }

    /// Returns the program that the person wants pages opened with.
    pub(crate) fn browser() -> Option<String> {
        Self::text("BROWSER")
    }

    /// Says whether a window would open where the person sits.
    pub(crate) fn has_desktop() -> bool {
        let is_elsewhere = ["SSH_CONNECTION", "SSH_TTY", "CI", "container"];
        let is_elsewhere = is_elsewhere.into_iter().any(Self::is_set)
            || std::path::Path::new("/.dockerenv").exists();
        let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(Self::is_set);
        !is_elsewhere && (has_display || cfg!(target_os = "macos"))
    }

    /// Says whether the error stream goes to the journal of the system, which keeps it.
    pub(crate) fn has_journal() -> bool {
        let Ok(found) = rustix::fs::fstat(std::io::stderr()) else {
            return false;
        };
        let own = format!("{}:{}", found.st_dev, found.st_ino);
        value("JOURNAL_STREAM").is_some_and(|named| named == own.as_str())
    }

    /// Says whether a variable is set to anything but nothing.
    pub(crate) fn is_set(name: &str) -> bool {
        value(name).is_some_and(|value| !value.is_empty())
    }

    /// Says whether the terminal announces that it understands no escape sequences.
    pub(crate) fn has_dumb_terminal() -> bool {
        value("TERM").is_some_and(|term| term == "dumb")
    }
}

/// The library reads the same variables, in one place.
impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        keyway::host::ProcessEnvironment.get(name)
    }

    fn names(&self) -> Vec<String> {
        keyway::host::ProcessEnvironment.names()
    }
}

fn value(name: &str) -> Option<OsString> {
    keyway::host::ProcessEnvironment::value(name)
}

/// Returns where the session's folder is by convention. Clients such as Codex do not pass its
/// variable on, and the vault's key is in the keyring all the same.
fn usual_runtime_folder() -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/run/user/{}", rustix::process::getuid().as_raw()));
    let found = rustix::fs::stat(&folder).ok()?;
    (found.st_uid == rustix::process::getuid().as_raw()).then_some(folder)
}

fn file(name: &str) -> Option<PathBuf> {
    value(name)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

fn absolute(name: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(value(name)?);
    folder.is_absolute().then_some(folder)
}

/// Where everything is kept, and with what it is opened; paths and words, never a secret.
const PLACES: &[&str] = &[
    "KEYWAY_HOME",
    "KEYWAY_KEY_FILE",
    "KEYWAY_KEY_SOURCE",
    "KEYWAY_PASSPHRASE_FILE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];
