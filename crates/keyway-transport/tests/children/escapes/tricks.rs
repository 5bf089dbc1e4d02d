//! The tricks, over what other programs of the person do when asked (`daemons.rs`). A script that prints `CANARY` got hold of a secret; one that leaves `EVIL` in a file
//! of the person's has something else act for it later.

use super::daemons::Daemon;

/// One trick with its outcomes.
pub(super) struct Trick {
    pub(super) title: &'static str,
    /// Each runs in a child of its own, one after the other.
    pub(super) scripts: &'static [&'static str],
    /// Programs that it needs.
    pub(super) needs: &'static [&'static str],
    /// The program that it asks.
    pub(super) daemon: Option<Daemon>,
    /// In the order of the columns: `x` gets through, `-` is denied.
    outcomes: &'static str,
}

impl Trick {
    pub(super) fn gets_through(&self) -> impl Iterator<Item = bool> {
        self.outcomes.bytes().map(|outcome| outcome == b'x')
    }
}

const fn trick(
    title: &'static str,
    outcomes: &'static str,
    scripts: &'static [&'static str],
) -> Trick {
    Trick {
        title,
        scripts,
        needs: &[],
        daemon: None,
        outcomes,
    }
}

const fn python(
    title: &'static str,
    outcomes: &'static str,
    scripts: &'static [&'static str],
) -> Trick {
    Trick {
        needs: &["python3"],
        ..trick(title, outcomes, scripts)
    }
}

/// Asks a program of the person's.
const fn asking(
    daemon: Daemon,
    title: &'static str,
    outcomes: &'static str,
    scripts: &'static [&'static str],
) -> Trick {
    Trick {
        needs: daemon.programs(),
        daemon: Some(daemon),
        ..trick(title, outcomes, scripts)
    }
}

// In the order of the columns: hide, confine and confine without a network; hide and confine with
// Landlock alone, with mounts alone, with neither; off; hide and confine as root.

/// Where there has to be no isolation at all.
const DENIED: &str = "-------xxx--";
/// Where the host refuses to start a program, whatever the system offers.
const REFUSED: &str = "---------x--";
/// Where only a confinement stops it.
const CONFINE_ONLY: &str = "x--x-x-xxxx-";
/// Where only a tree of its own stops it.
const TREE_ONLY: &str = "x--xxx-xxxx-";
/// Where the system stops it without us.
const NEVER: &str = "------------";

pub(super) const TRICKS: &[Trick] = &[
    trick(
        "read the key file",
        DENIED,
        &["cat HOME/.config/keyway/key"],
    ),
    trick(
        "read the vault",
        DENIED,
        &["cat HOME/.local/share/keyway/vault.db"],
    ),
    trick(
        "read through a link",
        DENIED,
        &["cat HOME/.linked/keyway/key"],
    ),
    trick(
        "list the folder and read what is there",
        DENIED,
        &["cat HOME/.config/keyway/*"],
    ),
    trick(
        "write Keyway's settings",
        DENIED,
        &["echo EVIL > HOME/.config/keyway/config.toml"],
    ),
    trick(
        "run `keyway` from the `PATH`",
        DENIED,
        &["PATH=HOME/../bin:$PATH keyway"],
    ),
    python(
        "connect to Keyway's control socket",
        "---xx--xxx--",
        &[
            "python3 -c 'import socket as s; c=s.socket(s.AF_UNIX); c.connect(\"HOME/run/keyway/control\"); print(c.recv(9))'",
        ],
    ),
    trick(
        "rename the covered folder, look from a second child",
        DENIED,
        &[
            "mv HOME/.config/keyway HOME/x",
            "cat HOME/x/key HOME/.config/keyway/key",
        ],
    ),
    trick(
        "rename `~/.config`, look from a second child",
        DENIED,
        &[
            "mv HOME/.config HOME/.x && mkdir -p HOME/.config/keyway",
            "cat HOME/.x/keyway/key",
        ],
    ),
    trick(
        "rename `~/.local/share`, look from a second child",
        DENIED,
        &[
            "mv HOME/.local/share HOME/.x && mkdir -p HOME/.local/share/keyway",
            "cat HOME/.x/keyway/vault.db",
        ],
    ),
    trick(
        "rename the home, look from a second child",
        DENIED,
        &[
            "mv HOME HOME-x && mkdir -p HOME/.config/keyway HOME/.local/share/keyway HOME/.linked/keyway HOME/run/keyway",
            "cat HOME-x/.config/keyway/key",
        ],
    ),
    trick(
        "replace a link on the way, look from a second child",
        DENIED,
        &[
            "mv -T HOME/.linked HOME/.x && mkdir -p HOME/.linked/keyway",
            "cat HOME/.x/keyway/key HOME/dotfiles/keyway/key",
        ],
    ),
    trick(
        "remove `~/.config` and plant another vault",
        DENIED,
        &[
            "mv HOME/.config HOME/.x; mkdir -p HOME/.config/keyway; echo EVIL > HOME/.config/keyway/config.toml",
        ],
    ),
    python(
        "exchange `~/.config` with a decoy, look from a second child",
        DENIED,
        &[EXCHANGE_ONCE, "cat HOME/decoy/keyway/key"],
    ),
    trick(
        "replace a grant by a link to Keyway's folder, look from a second child",
        REFUSED,
        &[
            "mv HOME/../granted HOME/../old; ln -sT HOME/.config/keyway HOME/../granted",
            "cat HOME/../granted/key; echo EVIL > HOME/../granted/config.toml",
        ],
    ),
    trick(
        "replace the plugin by a link to Keyway's folder, look from a second child",
        REFUSED,
        &[
            "mv HOME/../plugin HOME/../old; ln -sT HOME/.config/keyway HOME/../plugin",
            "cat HOME/../plugin/key; echo EVIL > HOME/../plugin/config.toml",
        ],
    ),
    trick(
        "unmount the cover",
        DENIED,
        &["umount HOME/.config/keyway; umount -l HOME/.config/keyway; cat HOME/.config/keyway/key"],
    ),
    trick(
        "unmount it in namespaces of its own",
        DENIED,
        &[
            "unshare -rm sh -c 'umount HOME/.config/keyway; umount -l HOME/.config/keyway; cat HOME/.config/keyway/key' || cat HOME/.config/keyway/key",
        ],
    ),
    trick(
        "bind the folder elsewhere",
        DENIED,
        &[
            "unshare -rm sh -c 'mount --bind HOME /mnt; mount --rbind HOME /mnt; cat /mnt/.config/keyway/key HOME/.config/keyway/key' || cat HOME/.config/keyway/key",
        ],
    ),
    trick(
        "pivot to a tree of its own, rename there, look from a second child",
        DENIED,
        &[
            "unshare -rm sh -c 'mount -t tmpfs none /mnt; mkdir /mnt/h /mnt/o; mount --rbind HOME /mnt/h; cd /mnt; pivot_root . o; umount -l o; mv h/.config h/.x' || mv HOME/.config HOME/.x && mkdir -p HOME/.config/keyway",
            "cat HOME/.x/keyway/key",
        ],
    ),
    trick(
        "enter the namespaces of another process",
        DENIED,
        &[
            "for pid in HOSTPID NEIGHBOUR 1; do nsenter -t $pid -m -U cat HOME/.config/keyway/key; nsenter -t $pid -m cat HOME/.config/keyway/key; done; cat HOME/.config/keyway/key",
        ],
    ),
    trick(
        "look through `/proc/PID/root` and `cwd`",
        DENIED,
        &["cat /proc/[0-9]*/root/HOME/.config/keyway/key /proc/[0-9]*/cwd/../.config/keyway/key"],
    ),
    trick(
        "read another program's environment",
        DENIED,
        &["tr '\\0' '\\n' < /proc/NEIGHBOUR/environ; cat /proc/[0-9]*/environ"],
    ),
    python(
        "read another program's memory",
        DENIED,
        &["python3 -c 'open(\"/proc/NEIGHBOUR/mem\",\"rb\"); print(\"CANARY\")'"],
    ),
    python("trace another program", DENIED, &[PTRACE]),
    trick(
        "signal another program",
        DENIED,
        &["kill -0 NEIGHBOUR && echo CANARY"],
    ),
    python(
        "connect to an abstract socket",
        "-----xxxxx--",
        &[
            "python3 -c 'import socket as s; c=s.socket(s.AF_UNIX); c.connect(\"\\0ABSTRACT\"); print(c.recv(9))'",
        ],
    ),
    python(
        "ask a service on loopback",
        "xx-xxxxxxxxx",
        &[
            "python3 -c 'import socket as s; c=s.create_connection((\"127.0.0.1\",PORT)); print(c.recv(9))'",
        ],
    ),
    asking(
        Daemon::Tmux,
        "ask tmux to read the key",
        TREE_ONLY,
        &[
            "TMUX_TMPDIR=TEMPORARY LC_ALL=C.UTF-8 tmux run-shell 'cp HOME/.config/keyway/key HOME/../work/stolen'; cat HOME/../work/stolen",
        ],
    ),
    asking(
        Daemon::SessionBus,
        "ask the session bus to start a program",
        TREE_ONLY,
        &[
            "dbus-send --bus=unix:path=RUNTIME/bus --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.StartServiceByName string:org.example.Deputy uint32:0; cat HOME/../work/stolen",
        ],
    ),
    asking(
        Daemon::ServiceManager,
        "ask systemd of the user",
        TREE_ONLY,
        &[
            "python3 -c 'import socket as s; c=s.socket(s.AF_UNIX); c.connect(\"RUNTIME/systemd/private\"); print(c.recv(9))'",
        ],
    ),
    asking(
        Daemon::ContainerEngine,
        "ask a container engine",
        TREE_ONLY,
        &[
            "python3 -c 'import socket as s; c=s.socket(s.AF_UNIX); c.connect(\"SYSTEMRUN/docker.sock\"); print(c.recv(9))'",
        ],
    ),
    asking(
        Daemon::SshAgent,
        "have the ssh agent sign",
        TREE_ONLY,
        &[
            "SSH_AUTH_SOCK=TEMPORARY/ssh-person/agent.1 ssh-add -T HOME/../work/id.pub && echo CANARY",
        ],
    ),
    asking(
        Daemon::GpgAgent,
        "have the gpg agent give a passphrase",
        TREE_ONLY,
        &[
            "gpg-connect-agent --no-autostart --homedir HOME/.gnupg 'GET_PASSPHRASE --no-ask --data keyway X X X' /bye",
        ],
    ),
    asking(
        Daemon::Terminal,
        "write a false prompt to the person's terminal",
        "---x---xxx--",
        &["echo EVIL > TERMINAL"],
    ),
    asking(
        Daemon::Terminal,
        "type into the person's terminal",
        NEVER,
        &[TYPE],
    ),
    trick(
        "write a shell start-up file",
        CONFINE_ONLY,
        &["echo EVIL >> HOME/.bashrc"],
    ),
    trick(
        "write a unit of systemd",
        CONFINE_ONLY,
        &["echo EVIL > HOME/.config/systemd/user/evil.service"],
    ),
    trick(
        "write a job for cron",
        CONFINE_ONLY,
        &["echo EVIL > HOME/spool/cron/person"],
    ),
    trick(
        "write an autostart file",
        CONFINE_ONLY,
        &["echo EVIL > HOME/.config/autostart/evil.desktop"],
    ),
    trick(
        "write another client's file of servers",
        CONFINE_ONLY,
        &["echo EVIL > HOME/.cursor/mcp.json"],
    ),
    trick(
        "overwrite `keyway` on the `PATH`",
        CONFINE_ONLY,
        &["echo EVIL > HOME/.local/bin/keyway"],
    ),
    trick(
        "make a device of its own and read it",
        "----------x-",
        &[
            "mknod HOME/../work/device c 1 5 && head -c 1 HOME/../work/device >/dev/null && echo CANARY",
        ],
    ),
    trick(
        "write git's settings in the plugin",
        CONFINE_ONLY,
        &["echo EVIL >> HOME/../plugin/.git/config"],
    ),
    trick(
        "rename a file over one of the plugin's",
        CONFINE_ONLY,
        &["echo EVIL > HOME/../work/x; mv -f HOME/../work/x HOME/../plugin/lib.js"],
    ),
    trick(
        "rename a folder between a grant and the plugin in it, and put another there",
        CONFINE_ONLY,
        &[
            "cd HOME/../repository; mv plugins old; mkdir -p plugins/other; echo EVIL > plugins/other/lib.js",
        ],
    ),
    python(
        "map a file of the plugin and write to that",
        CONFINE_ONLY,
        &[MAPPED_WRITE],
    ),
    trick(
        "make a pipe in the plugin",
        CONFINE_ONLY,
        &["mkfifo HOME/../plugin/pipe && echo CANARY"],
    ),
    trick(
        "open settings of the kernel for writing",
        NEVER,
        &[
            "(: >> /proc/sys/kernel/core_pattern) && echo CANARY; (: >> /proc/sysrq-trigger) && echo CANARY",
        ],
    ),
    trick(
        "open a console by its name",
        NEVER,
        &[
            "for c in /dev/console /dev/tty[0-9]* /dev/ttyS* /dev/vcs*; do [ -r $c ] && [ \"$(stat -c %t:%T $c)\" != 1:3 ] && echo CANARY $c; done",
        ],
    ),
    trick(
        "use up the user's namespaces",
        "---xx----xxx",
        &[
            "for i in $(seq 80); do unshare -U sh -c 'echo one; exec sleep 3' & done | head -n 65 | grep -c one | grep -qx 65 && echo CANARY; kill $(jobs -p) 2>/dev/null",
        ],
    ),
];

const EXCHANGE_ONCE: &str = "python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"HOME/.config\", -100, b\"HOME/decoy\", 2)'";

/// Exchanges a folder with a decoy until it is killed.
pub(super) const EXCHANGE_LOOP: &str = "python3 -c 'import ctypes, time; l = ctypes.CDLL(None)
while True: l.renameat2(-100, b\"HOME/.config\", -100, b\"HOME/decoy\", 2); time.sleep(0.0005)'";

/// Neither the name nor, with the time put back, the stamp of the file changes.
const MAPPED_WRITE: &str = "python3 -c 'import mmap; f = open(\"HOME/../plugin/lib.js\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[0:4] = b\"EVIL\"; m.flush()'";

/// Attaches without stopping.
const PTRACE: &str = "python3 -c 'import ctypes; print(\"CANARY\" if ctypes.CDLL(None).ptrace(0x4206, NEIGHBOUR, None, None) == 0 else \"denied\")'";

/// Types into whatever terminal it finds, by a call that terminals know for that.
pub(crate) const TYPE: &str = "python3 -c 'import fcntl, os, termios
def type(fd):
    try: fcntl.ioctl(fd, termios.TIOCSCTTY, 0)
    except OSError: pass
    for c in b\"EVIL\\n\": fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))
    print(\"CANARY\")
for path in (0, 1, 2, \"/dev/tty\", \"TERMINAL\"):
    try: type(path if path in (0, 1, 2) else os.open(path, os.O_RDWR))
    except OSError as error: print(path, error)'";
