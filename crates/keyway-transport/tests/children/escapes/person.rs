//! A person with a home: what Keyway keeps, and other programs that act for any process that asks
//! them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use keyway_transport::Launcher;
use tempfile::TempDir;

use crate::CHILD;

/// Whose home it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// The user who runs the tests.
    Own,
    /// Not root.
    Ordinary,
    Root,
}

pub(super) struct Person {
    /// Holds the home, and what the tests need beside it.
    base: TempDir,
    uid: u32,
    abstract_name: String,
    port: u16,
    /// Holds a secret in its environment.
    neighbour: Child,
}

impl Person {
    /// Returns `None` if the tests cannot run as that user here.
    pub(super) fn new(user: User) -> Option<Self> {
        let own = rustix::process::geteuid();
        let uid = match user {
            User::Own => own.as_raw(),
            User::Root if own.is_root() => 0,
            User::Root => return None,
            User::Ordinary if !own.is_root() => own.as_raw(),
            User::Ordinary if has("setpriv") => ORDINARY,
            User::Ordinary => return None,
        };
        // A confined child has a `/tmp` of its own, which would make it too easy.
        let base = TempDir::new_in("/var/tmp").unwrap();
        let port = tcp_deputy(base.path().join("home").join(KEY));
        let person = Self {
            abstract_name: format!("keyway-escape-{}", base.path().display()),
            neighbour: neighbour(uid),
            base,
            uid,
            port,
        };
        person.furnish();
        Some(person)
    }

    fn furnish(&self) {
        for folder in [
            ".config/keyway",
            ".config/systemd/user",
            ".local/share/keyway",
            "decoy/keyway",
            "dotfiles/keyway",
            "run/keyway",
            "spool/cron",
            "../work",
            "../bin",
            "../granted",
            "../plugin/.git",
            "../repository/plugins/other",
        ] {
            fs::create_dir_all(self.at(folder)).unwrap();
        }
        symlink("dotfiles", self.at(".linked")).unwrap();
        for file in [KEY, ".local/share/keyway/vault.db", "dotfiles/keyway/key"] {
            self.write(file, "CANARY\n");
        }
        self.write(".bashrc", "# start-up file\n");
        for file in ["../plugin/lib.js", "../plugin/.git/config"] {
            self.write(file, "# of the plugin\n");
        }
        self.write("../bin/keyway", "#!/bin/sh\ncat HOME/.config/keyway/key\n");
        // A copy may be busy: other tests start processes while it is written.
        if fs::hard_link(CHILD, self.child()).is_err() {
            fs::copy(CHILD, self.child()).unwrap();
        }
        self.write_launcher();
        for program in ["../bin/keyway", "../launcher"] {
            fs::set_permissions(self.at(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        deputy(
            UnixListener::bind(self.at("run/keyway/control")).unwrap(),
            None,
        );
        let address = SocketAddr::from_abstract_name(&self.abstract_name).unwrap();
        let own = UnixListener::bind_addr(&address).unwrap();
        deputy(own, Some(self.at(KEY)));
        for socket in SOCKETS {
            let listener = UnixListener::bind(self.at(&format!("run/{socket}"))).unwrap();
            deputy(listener, Some(self.at(KEY)));
        }
        self.give(self.base.path());
    }

    fn write(&self, path: &str, text: &str) {
        let mut file = fs::File::create(self.at(path)).unwrap();
        let text = text.replace("HOME", &self.home());
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Gives everything to the person, like a real home.
    fn give(&self, path: &Path) {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        if path == self.at("../bin/child") {
            return;
        }
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.uid)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path).unwrap() {
                self.give(&entry.unwrap().path());
            }
        }
    }

    /// A path in the home; beside it if the path begins with `../`.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        match path.strip_prefix("../") {
            Some(beside) => self.base.path().join(beside),
            None => self.base.path().join("home").join(path),
        }
    }

    fn home(&self) -> String {
        self.at("")
            .to_str()
            .unwrap()
            .trim_end_matches('/')
            .to_owned()
    }

    pub(super) const fn uid(&self) -> u32 {
        self.uid
    }

    pub(super) fn child(&self) -> String {
        self.at("../bin/child").to_str().unwrap().to_owned()
    }

    pub(super) fn hidden(&self) -> Vec<PathBuf> {
        let folders = [
            ".config/keyway",
            ".local/share/keyway",
            ".linked/keyway",
            "run/keyway",
        ];
        folders.map(|folder| self.at(folder)).to_vec()
    }

    /// Starts children as the person.
    pub(super) fn launcher(&self) -> Launcher {
        if rustix::process::geteuid().as_raw() == self.uid {
            return Launcher::new(self.child());
        }
        Launcher::new(self.at("../launcher"))
    }

    fn write_launcher(&self) {
        let script = format!(
            "#!/bin/sh\nexec setpriv --reuid={0} --regid={0} --clear-groups -- {1} \"$@\"\n",
            self.uid,
            self.child()
        );
        self.write("../launcher", &script);
    }

    /// Fills in what only this person has.
    pub(super) fn fill_in(&self, script: &str) -> String {
        script
            .replace("ABSTRACT", &self.abstract_name)
            .replace("HOME", &self.home())
            .replace("HOSTPID", &std::process::id().to_string())
            .replace("NEIGHBOUR", &self.neighbour.id().to_string())
            .replace("PORT", &self.port.to_string())
    }

    /// Says whether something is left that will act for the child later.
    pub(super) fn is_marked(&self) -> bool {
        let files = [
            ".bashrc",
            ".config/keyway/config.toml",
            ".config/systemd/user/evil.service",
            "spool/cron/person",
            "bin-of-person",
            "../plugin/lib.js",
            "../plugin/.git/config",
            "../repository/plugins/other/lib.js",
        ];
        let mut texts = files
            .iter()
            .filter_map(|file| fs::read_to_string(self.at(file)).ok());
        texts.any(|text| text.contains("EVIL"))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.neighbour.kill().unwrap();
        self.neighbour.wait().unwrap();
    }
}

/// Says whether a program is there.
pub(super) fn has(program: &str) -> bool {
    ["/bin", "/usr/bin", "/usr/sbin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

/// Another program of the person, with a secret in its environment.
#[expect(
    clippy::disallowed_methods,
    reason = "not by the launcher that is tested"
)]
fn neighbour(uid: u32) -> Child {
    let mut command = if rustix::process::geteuid().as_raw() == uid {
        Command::new("sleep")
    } else {
        let mut command = Command::new("setpriv");
        let ids = [format!("--reuid={uid}"), format!("--regid={uid}")];
        command.args(ids).args(["--clear-groups", "sleep"]);
        command
    };
    command
        .arg("1000")
        .env("NEIGHBOUR_SECRET", "CANARY")
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

/// A program of the person that answers every connection with what `file` holds: as tmux, a
/// bus or a container engine would if they were asked to read it.
fn deputy(listener: UnixListener, file: Option<PathBuf>) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let text = file.as_ref().and_then(|file| fs::read(file).ok());
            drop(stream.write_all(&text.unwrap_or_else(|| b"CANARY\n".to_vec())));
        }
    });
}

fn tcp_deputy(file: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            drop(stream.write_all(&fs::read(&file).unwrap_or_default()));
            drop(stream.read(&mut [0; 1]));
        }
    });
    port
}

const KEY: &str = ".config/keyway/key";
/// A user id that no user has.
const ORDINARY: u32 = 31_337;
/// Sockets of other programs.
const SOCKETS: [&str; 6] = ["tmux", "bus", "systemd", "docker", "ssh-agent", "gpg-agent"];
