//! Programs of the person that act for any process that asks them, where they are on every system:
//! real ones, and stand-ins for those that want a machine of their own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use super::person::{KEY, Person, deputy};
use crate::until;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Daemon {
    Tmux,
    /// Starts programs of the person by their names.
    SessionBus,
    /// Holds a key without a passphrase.
    SshAgent,
    /// Holds a passphrase.
    GpgAgent,
    /// A stand-in for systemd: does what it is asked.
    ServiceManager,
    /// A stand-in for docker: does what it is asked.
    ContainerEngine,
    /// A terminal with a session of the person's.
    Terminal,
}

/// A daemon that runs, with whatever keeps it running.
pub(super) struct Running {
    process: Option<Child>,
    screen: Option<BufReader<ChildStdout>>,
    /// The device of a terminal.
    pub(super) terminal: String,
}

impl Daemon {
    /// What it needs, and what the tricks ask it with.
    pub(super) const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Tmux => &["tmux"],
            Self::SessionBus => &["dbus-daemon", "dbus-send"],
            Self::SshAgent => &["ssh-agent", "ssh-add", "ssh-keygen"],
            Self::GpgAgent => &["gpg-agent", "gpg-connect-agent"],
            Self::ServiceManager | Self::ContainerEngine | Self::Terminal => &["python3"],
        }
    }

    /// Returns when it answers.
    pub(super) async fn start(self, person: &Person) -> Running {
        let tmp = person.place("tmp");
        let runtime = format!("{}/user/{}", person.place("run"), person.uid());
        match self {
            Self::Tmux => {
                let mut tmux = person.command(&["tmux", "-D", "-f", "/dev/null"]);
                let running = Running::of(tmux.env("TMUX_TMPDIR", tmp).spawn().unwrap());
                let folder = format!("../tmp/tmux-{}", person.uid());
                answers(&person.at(&folder).join("default")).await;
                running
            }
            Self::SessionBus => {
                let (key, to) = (person.at(KEY), person.at("../work/stolen"));
                let service = format!(
                    "[D-BUS Service]\nName=org.example.Deputy\nExec=/bin/cp {} {}\n",
                    key.display(),
                    to.display()
                );
                let services = ".local/share/dbus-1/services";
                person.write(&format!("{services}/org.example.Deputy.service"), &service);
                let address = format!("--address=unix:path={runtime}/bus");
                let words = ["dbus-daemon", "--session", "--nofork", &address];
                let mut bus = person.command(&words);
                bus.env("XDG_DATA_HOME", person.at(".local/share"));
                let running = Running::of(bus.spawn().unwrap());
                answers(&person.runtime_folder().join("bus")).await;
                running
            }
            Self::SshAgent => Self::ssh_agent(person, &tmp).await,
            Self::GpgAgent => Self::gpg_agent(person).await,
            Self::ServiceManager => {
                let folder = person.runtime_folder().join("systemd");
                fs::create_dir(&folder).unwrap();
                stand_in(person, &folder.join("private"))
            }
            Self::ContainerEngine => stand_in(person, &person.at("../run/docker.sock")),
            Self::Terminal => Self::terminal(person),
        }
    }

    async fn ssh_agent(person: &Person, tmp: &str) -> Running {
        let key = person.at("../work/id");
        let key = key.to_str().unwrap();
        // As the user of the tests: a person without an account may have no key made.
        let make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key];
        assert!(own(&make).status().unwrap().success());
        let folder = person.at("../tmp/ssh-person");
        fs::create_dir(&folder).unwrap();
        person.give(&folder);
        let socket = format!("{tmp}/ssh-person/agent.1");
        let mut agent = person.command(&["ssh-agent", "-D", "-a", &socket]);
        let running = Running::of(agent.spawn().unwrap());
        let socket = folder.join("agent.1");
        answers(&socket).await;
        let mut add = own(&["ssh-add", "-q", key]);
        assert!(add.env("SSH_AUTH_SOCK", socket).status().unwrap().success());
        fs::remove_file(key).unwrap();
        person.give(&person.at("../work/id.pub"));
        running
    }

    async fn gpg_agent(person: &Person) -> Running {
        let folder = person.at(".gnupg");
        fs::create_dir(&folder).unwrap();
        person.give(&folder);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&folder, mode).unwrap();
        let folder = folder.to_str().unwrap();
        // It ends with the program that it is given.
        let mut agent = person.command(&["gpg-agent", "--homedir", folder, "--daemon"]);
        agent.args(["--allow-preset-passphrase", "sleep", "1000"]);
        let running = Running::of(agent.spawn().unwrap());
        // `CANARY`, for as long as it runs.
        let keep = "PRESET_PASSPHRASE keyway -1 43414E415259";
        let tell = ["gpg-connect-agent", "--no-autostart", "--homedir", folder];
        until(|| {
            let mut told = person.command(&tell);
            let told = told.args([keep, "/bye"]).stdout(Stdio::piped());
            let output = told.stderr(Stdio::piped()).output().unwrap();
            let is_kept = output.stdout.starts_with(b"OK");
            if !is_kept {
                // Shown if the test fails.
                println!("gpg-connect-agent: {output:?}");
            }
            is_kept
        })
        .await;
        running
    }

    fn terminal(person: &Person) -> Running {
        let mut terminal = person.command(&["python3", "-c", TERMINAL]);
        let terminal = terminal.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = terminal.spawn().unwrap();
        let mut screen = BufReader::new(process.stdout.take().unwrap());
        let mut name = String::new();
        screen.read_line(&mut name).unwrap();
        assert!(name.starts_with("/dev/pts/"), "{name}");
        let mut running = Running::of(process);
        running.screen = Some(screen);
        name.trim().clone_into(&mut running.terminal);
        running
    }
}

impl Running {
    const fn of(process: Child) -> Self {
        Self {
            process: Some(process),
            screen: None,
            terminal: String::new(),
        }
    }

    /// Ends it, and returns what a terminal showed.
    pub(super) fn end(mut self) -> String {
        let mut shown = String::new();
        if let Some(screen) = &mut self.screen {
            drop(self.process.as_mut().unwrap().stdin.take());
            screen.read_to_string(&mut shown).unwrap();
        }
        shown
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

/// A program of the user who runs the tests.
#[expect(
    clippy::disallowed_methods,
    reason = "not by the launcher that is tested"
)]
fn own(words: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command
}

async fn answers(socket: &Path) {
    until(|| UnixStream::connect(socket).is_ok()).await;
}

fn stand_in(person: &Person, socket: &Path) -> Running {
    deputy(UnixListener::bind(socket).unwrap(), Some(person.at(KEY)));
    let folder = socket.parent().unwrap();
    person.give(if folder.ends_with("systemd") {
        folder
    } else {
        socket
    });
    Running {
        process: None,
        screen: None,
        terminal: String::new(),
    }
}

/// Prints the name of its device; once its input ends, what is on the screen.
const TERMINAL: &str = r#"
import os, pty, select, sys
session, screen = pty.fork()
if session == 0:
    os.execv("/bin/sh", ["sh", "-c", "tty; exec sleep 1000"])
name = b""
while not name.endswith(b"\n"):
    name += os.read(screen, 64)
print(name.decode().strip(), flush=True)
sys.stdin.read()
shown = b""
while select.select([screen], [], [], 0)[0]:
    shown += os.read(screen, 4096)
print(shown.decode(), flush=True)
os.kill(session, 9)
"#;
