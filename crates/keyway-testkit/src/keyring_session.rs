//! A message bus and a keyring service of the test's own, in a temporary home.
//!
//! The bus starts nothing by itself, and no other session is ever used: every process gets
//! an empty environment with the addresses of this session alone.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::eventually;

/// A private session; its processes die with this value. Panics on failure: it is for tests.
#[derive(Debug)]
pub struct KeyringSession {
    home: TempDir,
    bus: Child,
    keyring: Option<Child>,
}

#[expect(
    clippy::new_without_default,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its session must stop"
)]
impl KeyringSession {
    /// Starts a bus without a service on it.
    #[must_use]
    pub fn new() -> Self {
        let home = TempDir::with_prefix("keyway-session-").expect("a temporary folder");
        let mut private = fs::DirBuilder::new();
        private.mode(0o700);
        for name in ["run", "home"] {
            private.create(home.path().join(name)).expect("a folder");
        }
        let socket = home.path().join("run/bus");
        let configuration = home.path().join("bus.conf");
        let text = CONFIGURATION.replace("SOCKET", &socket.to_string_lossy());
        let mut file = File::create(&configuration).expect("a file");
        file.write_all(text.as_bytes()).expect("its content");
        let mut command = command("dbus-daemon", home.path());
        command.arg("--config-file").arg(configuration);
        command.args(["--nofork", "--nopidfile", "--nosyslog"]);
        let bus = command.spawn().expect("`dbus-daemon`, package `dbus`");
        let session = Self {
            home,
            bus,
            keyring: None,
        };
        eventually("the bus listens", || socket.exists());
        session
    }

    /// Returns the value for `DBUS_SESSION_BUS_ADDRESS`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("unix:path={}", self.runtime_folder().join("bus").display())
    }

    /// Returns the value for `XDG_RUNTIME_DIR`.
    #[must_use]
    pub fn runtime_folder(&self) -> PathBuf {
        self.home.path().join("run")
    }

    /// Starts the keyring service and unlocks it, as a login does; the keyring is made at first.
    pub fn log_in(&mut self) {
        let mut command = command("gnome-keyring-daemon", self.home.path());
        command.args(["--foreground", "--components=secrets", "--unlock"]);
        let started = command.stdin(Stdio::piped()).spawn();
        let mut keyring = started.expect("`gnome-keyring-daemon`, package `gnome-keyring`");
        let mut password = keyring.stdin.take().expect("a pipe");
        password.write_all(b"password").expect("an open pipe");
        drop(password);
        self.keyring = Some(keyring);
        eventually("the keyring is unlocked", || {
            let get = "org.freedesktop.DBus.Properties.Get";
            let of = "string:org.freedesktop.Secret.Collection";
            self.send(&[KEYRING, get, of, "string:Locked"])
                .is_some_and(|answer| answer.contains("boolean false"))
        });
    }

    /// Starts the keyring service as it is before the first login: without a keyring.
    pub fn start_without_a_keyring(&mut self) {
        let mut command = command("gnome-keyring-daemon", self.home.path());
        command.args(["--foreground", "--components=secrets"]);
        let started = command.spawn();
        self.keyring = Some(started.expect("`gnome-keyring-daemon`, package `gnome-keyring`"));
        let read = "org.freedesktop.Secret.Service.ReadAlias";
        eventually("the service answers", || {
            self.send(&[SERVICE, read, "string:default"]).is_some()
        });
    }

    /// Locks the keyring.
    pub fn lock(&self) {
        let lock = "org.freedesktop.Secret.Service.Lock";
        let keyring = format!("array:objpath:{KEYRING}");
        let answer = self.send(&[SERVICE, lock, &keyring]);
        assert!(answer.is_some(), "the service locks its keyring");
    }

    /// Kills the keyring service.
    pub fn kill_keyring(&mut self) {
        if let Some(mut keyring) = self.keyring.take() {
            keyring.kill().expect("it runs");
            keyring.wait().expect("it ends");
        }
    }

    /// Keeps the keyring service from doing anything until [`KeyringSession::thaw`].
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Resumes a frozen service.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Ends the bus, and the service with it.
    pub fn kill_bus(&mut self) {
        self.kill_keyring();
        self.bus.kill().expect("it runs");
        self.bus.wait().expect("it ends");
    }

    /// Lists the items in the unlocked keyring, by their paths.
    #[must_use]
    pub fn items(&self) -> Vec<String> {
        let get = "org.freedesktop.DBus.Properties.Get";
        let of = "string:org.freedesktop.Secret.Collection";
        let answer = self.send(&[KEYRING, get, of, "string:Items"]);
        let answer = answer.expect("the service lists its items");
        answer
            .lines()
            .filter_map(|line| line.trim().strip_prefix("object path "))
            .map(str::to_owned)
            .collect()
    }

    fn signal(&self, name: &str) {
        let keyring = self.keyring.as_ref().expect("a keyring service");
        let mut kill = command("kill", self.home.path());
        kill.arg(format!("-{name}")).arg(keyring.id().to_string());
        assert!(kill.status().expect("`kill`").success());
    }

    fn send(&self, arguments: &[&str]) -> Option<String> {
        let mut send = command("dbus-send", self.home.path());
        send.args(["--session", "--print-reply", "--reply-timeout=60000"]);
        send.arg("--dest=org.freedesktop.secrets").args(arguments);
        send.stdout(Stdio::piped());
        let output = send.output().expect("`dbus-send`, package `dbus`");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }
}

impl Drop for KeyringSession {
    fn drop(&mut self) {
        for child in self.keyring.iter_mut().chain([&mut self.bus]) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the session that a test runs in is started by the test"
)]
fn command(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.join("home"))
        .env("XDG_RUNTIME_DIR", home.join("run"))
        .env(
            "DBUS_SESSION_BUS_ADDRESS",
            format!("unix:path={}", home.join("run/bus").display()),
        )
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

const SERVICE: &str = "/org/freedesktop/secrets";
const KEYRING: &str = "/org/freedesktop/secrets/collection/login";
/// No folders with services: nothing is started that the test did not start.
const CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC
  "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
