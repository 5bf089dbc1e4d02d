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
use std::sync::LazyLock;

use keyway_transport::Launcher;
use tempfile::TempDir;

use super::daemons::{Daemon, Running};
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
    /// What acts for any process that asks it.
    daemon: Option<Running>,
}

/// What the system offers to the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    Everything,
    /// Neither namespaces nor Landlock, as a filter of system calls makes it.
    Neither,
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
            User::Ordinary if crate::has(&["setpriv"]) => ORDINARY,
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
            daemon: None,
        };
        person.furnish();
        Some(person)
    }

    fn furnish(&self) {
        for folder in [
            ".config/autostart",
            ".config/keyway",
            ".config/systemd/user",
            ".cursor",
            ".local/bin",
            ".local/share/dbus-1/services",
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
            "../tmp",
        ] {
            fs::create_dir_all(self.at(folder)).unwrap();
        }
        fs::create_dir_all(self.at("../run/user").join(self.uid.to_string())).unwrap();
        symlink("dotfiles", self.at(".linked")).unwrap();
        for file in [KEY, ".local/share/keyway/vault.db", "dotfiles/keyway/key"] {
            self.write(file, "CANARY\n");
        }
        self.write(".bashrc", "# start-up file\n");
        self.write(".cursor/mcp.json", "{}\n");
        self.write(".local/bin/keyway", "#!/bin/sh\n");
        for file in ["../plugin/lib.js", "../plugin/.git/config"] {
            self.write(file, "# of the plugin\n");
        }
        self.write("../bin/keyway", "#!/bin/sh\ncat HOME/.config/keyway/key\n");
        // A copy may be busy: other tests start processes while it is written.
        if fs::hard_link(CHILD, self.child()).is_err() {
            fs::copy(CHILD, self.child()).unwrap();
        }
        self.write_launchers();
        for program in [
            "../bin/keyway",
            "../inside",
            "../launcher",
            "../bare-launcher",
        ] {
            fs::set_permissions(self.at(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        deputy(
            UnixListener::bind(self.at("run/keyway/control")).unwrap(),
            None,
        );
        let address = SocketAddr::from_abstract_name(&self.abstract_name).unwrap();
        let own = UnixListener::bind_addr(&address).unwrap();
        deputy(own, Some(self.at(KEY)));
        self.give(self.base.path());
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(self.runtime_folder(), private).unwrap();
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let mut file = fs::File::create(self.at(path)).unwrap();
        let text = text.replace("HOME", &self.home());
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Gives everything to the person, like a real home.
    pub(super) fn give(&self, path: &Path) {
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
    pub(super) fn launcher(&self, offered: Offered) -> Launcher {
        Launcher::new(self.at(match offered {
            Offered::Everything => "../launcher",
            Offered::Neither => "../bare-launcher",
        }))
    }

    /// A program that runs as the person, where the person's `/run` and `/tmp` are.
    #[expect(
        clippy::disallowed_methods,
        reason = "not by the launcher that is tested"
    )]
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.at("../inside"));
        command.args(words).env_clear();
        command.envs([("PATH", crate::PATH), ("LC_ALL", "C.UTF-8")]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        command
    }

    /// Root mounts what is beside the home at `/run` and `/tmp`, in a namespace that only this
    /// person's programs have: so sockets are where they are on every system, and nothing is left. There
    /// the person has an account as well, which a bus asks for.
    fn write_launchers(&self) {
        let base = self.base.path().display();
        let uid = self.uid;
        let mut inside = "exec".to_owned();
        if *HAS_PLACES {
            inside += &format!(
                " unshare --mount sh -c 'mount --bind {base}/run /run && \
                 mount --bind {base}/tmp /tmp && \
                 mount --bind {base}/passwd /etc/passwd && exec \"$@\"' -"
            );
        }
        if rustix::process::geteuid().as_raw() != uid {
            inside += &format!(" setpriv --reuid={uid} --regid={uid} --clear-groups --");
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let account = format!("person:x:{uid}:{uid}::{}:/bin/sh\n", self.home());
        self.write("../passwd", &(accounts + &account));
        self.write("../inside", &format!("#!/bin/sh\n{inside} \"$@\"\n"));
        let child = self.child();
        let launcher = format!("#!/bin/sh\nexec {base}/inside {child} \"$@\"\n");
        self.write("../launcher", &launcher);
        self.write("../filter.py", WITHOUT_ISOLATION);
        let bare = format!("exec {base}/inside python3 {base}/filter.py {child} \"$@\"");
        self.write("../bare-launcher", &format!("#!/bin/sh\n{bare}\n"));
    }

    /// The folder of the person's sockets, as the tests see it.
    pub(super) fn runtime_folder(&self) -> PathBuf {
        self.at("../run/user").join(self.uid.to_string())
    }

    /// Where the person's programs find `run` or `tmp`.
    pub(super) fn place(&self, name: &str) -> String {
        if *HAS_PLACES {
            return format!("/{name}");
        }
        format!("{}/{name}", self.base.path().display())
    }

    pub(super) async fn start(&mut self, daemon: Daemon) {
        self.daemon = Some(daemon.start(self).await);
    }

    /// Fills in what only this person has.
    pub(super) fn fill_in(&self, script: &str) -> String {
        let run = self.place("run");
        let terminal = self.daemon.as_ref().map_or("", |daemon| &*daemon.terminal);
        script
            .replace("ABSTRACT", &self.abstract_name)
            .replace("HOME", &self.home())
            .replace("HOSTPID", &std::process::id().to_string())
            .replace("NEIGHBOUR", &self.neighbour.id().to_string())
            .replace("PORT", &self.port.to_string())
            .replace("RUNTIME", &format!("{run}/user/{}", self.uid))
            .replace("SYSTEMRUN", &run)
            .replace("TEMPORARY", &self.place("tmp"))
            .replace("TERMINAL", terminal)
    }

    /// Says whether something is left that will act for the child later.
    pub(super) fn is_marked(&mut self) -> bool {
        let terminal = self.daemon.take().map(Running::end).unwrap_or_default();
        if terminal.contains("EVIL") {
            return true;
        }
        let files = [
            ".bashrc",
            ".config/autostart/evil.desktop",
            ".config/keyway/config.toml",
            ".config/systemd/user/evil.service",
            ".cursor/mcp.json",
            ".local/bin/keyway",
            "spool/cron/person",
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

/// Says whether the tests may mount something at `/run` and `/tmp`, for themselves alone.
#[expect(
    clippy::disallowed_methods,
    reason = "asks the system without the launcher that is tested"
)]
static HAS_PLACES: LazyLock<bool> = LazyLock::new(|| {
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "mount", "--bind", "/tmp", "/tmp"]);
    let tried = tried.stderr(Stdio::null()).status();
    rustix::process::geteuid().is_root() && tried.is_ok_and(|status| status.success())
});

/// A program of the person that answers every connection with what `file` holds: as a service
/// manager or a container engine would if they were asked to read it.
pub(super) fn deputy(listener: UnixListener, file: Option<PathBuf>) {
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

pub(super) const KEY: &str = ".config/keyway/key";
/// A user id that no user has.
const ORDINARY: u32 = 31_337;
/// Forbids namespaces and Landlock to itself and whatever it starts, then starts the rest.
const WITHOUT_ISOLATION: &str = include_str!("../without_isolation.py");
