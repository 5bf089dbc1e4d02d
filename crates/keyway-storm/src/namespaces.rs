//! Namespaces of the storm's own: a small disk that can be filled, and a link that can be cut.
//!
//! Each belongs to a process that waits for its input to end, so that nothing of it outlives the storm.
//! Where the machine refuses them, what needs them is left out, and that is printed.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Namespaces that exist for as long as this value.
#[derive(Debug)]
struct Namespace {
    keeper: Child,
    /// Which of its namespaces others enter.
    enter: &'static str,
}

impl Namespace {
    /// Makes one and runs a script in it.
    fn new(
        kind: &'static str,
        enter: &'static str,
        script: &str,
        values: &[&str],
    ) -> Result<Self, String> {
        let mut keeper = Command::new("unshare")
            .args([
                kind,
                "sh",
                "-ec",
                &format!("{script}\necho ready; read -r _"),
            ])
            .args(values)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        let stdout = keeper.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        if line == "ready\n" {
            return Ok(Self { keeper, enter });
        }
        let mut why = String::new();
        let mut stderr = keeper.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut why).expect("text");
        keeper.wait().expect("its end");
        Err(why.trim().replace('\n', "; "))
    }

    fn pid(&self) -> String {
        self.keeper.id().to_string()
    }

    /// Returns a command that becomes a program inside, in a folder: the process keeps its number.
    fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new("/usr/bin/nsenter");
        command
            .args(["-t", &self.pid(), self.enter, "/bin/sh", "-c"])
            .arg(r#"cd "$0" && exec "$@""#)
            .arg(folder)
            .arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}

/// A folder on a file system of a few megabytes, for the processes that are started on it.
#[derive(Debug)]
pub(crate) struct SmallDisk {
    namespace: Namespace,
    folder: PathBuf,
}

impl SmallDisk {
    /// Puts a folder, with what is in it, on a small file system.
    pub(crate) fn new(folder: &Path) -> Result<Self, String> {
        let copy = folder.with_extension("copy");
        let places = [folder, &copy].map(|path| path.to_str().expect("UTF-8"));
        let namespace = Namespace::new("--mount", "--mount", MOUNT, &places)?;
        Ok(Self {
            namespace,
            folder: folder.to_owned(),
        })
    }

    pub(crate) fn command(&self, program: &Path, folder: &Path) -> Command {
        self.namespace.command(program, folder)
    }

    /// Writes until there is no room for one byte more.
    pub(crate) fn fill(&self) {
        let mut file = File::create(self.seen_from_here(FILLER)).expect("a file");
        // Large pieces first, because the last ones are slow.
        for size in [1 << 16, 1 << 12, 1] {
            let piece = vec![b'x'; size];
            while file.write_all(&piece).is_ok() {}
        }
    }

    pub(crate) fn free(&self) {
        std::fs::remove_file(self.seen_from_here(FILLER)).expect("the file");
    }

    /// Counts files below a folder, by the start of their names.
    pub(crate) fn count(&self, folder: &str, start: &str) -> usize {
        let Ok(found) = std::fs::read_dir(self.seen_from_here(folder)) else {
            return 0;
        };
        let names = found.flatten().map(|it| it.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(start))
            .count()
    }

    fn seen_from_here(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.namespace.pid()));
        let inside = self.folder.strip_prefix("/").expect("an absolute path");
        root.join(inside).join(name)
    }
}

/// A host of its own behind a link, to whose processes 127.0.0.1 is this machine.
///
/// So the same addresses count on both sides. Its own loopback address is [`Link::LOOPBACK`].
#[derive(Debug)]
pub(crate) struct Link {
    namespace: Namespace,
    device: String,
    net: String,
}

/// How a link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The host notices: its end has no link.
    Unplugged,
    /// Packets are lost without a word, in both directions.
    Silent,
}

impl Link {
    pub(crate) const LOOPBACK: &'static str = "[::1]";

    /// Makes the host and the link.
    pub(crate) fn new() -> Result<Self, String> {
        let number = std::process::id();
        let device = format!("kw{number}");
        let net = format!("10.213.{}", number % 250);
        let link = Self {
            namespace: Namespace::new("--net", "--net", LOOPBACK_ELSEWHERE, &[])?,
            device,
            net,
        };
        let (device, guest) = (&link.device, link.guest_device());
        let (here, there) = (
            format!("{}/30", link.here()),
            format!("{}/30", link.there()),
        );
        let pid = link.namespace.pid();
        let peer = ["peer", "name", &guest, "netns", &pid];
        ip(&[&["link", "add", device, "type", "veth"][..], &peer].concat())?;
        ip(&["addr", "add", &here, "dev", device])?;
        ip(&["link", "set", device, "up"])?;
        link.ip_there(&["addr", "add", &there, "dev", &guest])?;
        // Without this the kernel drops what comes from elsewhere for a loopback address.
        let allow = |device: &str| format!("/proc/sys/net/ipv4/conf/{device}/route_localnet");
        std::fs::write(allow(device), "1").map_err(|error| format!("route_localnet: {error}"))?;
        let write = format!("echo 1 >{}", allow(&guest));
        let mut shell = link.namespace.command(Path::new("/bin/sh"), Path::new("/"));
        run(shell.args(["-c", &write]))?;
        link.plug_in()?;
        Ok(link)
    }

    pub(crate) fn command(&self, program: &Path, folder: &Path) -> Command {
        self.namespace.command(program, folder)
    }

    /// Returns the address of this machine on the link.
    fn here(&self) -> String {
        format!("{}.1", self.net)
    }

    /// Returns the address of the host behind it.
    pub(crate) fn there(&self) -> String {
        format!("{}.2", self.net)
    }

    pub(crate) fn cut(&self, how: Cut) {
        let guest = self.guest_device();
        let done = match how {
            Cut::Unplugged => self.ip_there(&["link", "set", &guest, "down"]),
            Cut::Silent => {
                let (here, there) = (self.here(), self.there());
                ip(&to_nowhere(&there, &self.device))
                    .and_then(|()| self.ip_there(&to_nowhere(&here, &guest)))
            }
        };
        done.expect("a link that can be cut");
    }

    pub(crate) fn restore(&self, how: Cut) {
        let guest = self.guest_device();
        let done = match how {
            Cut::Unplugged => self.plug_in(),
            Cut::Silent => {
                let (here, there) = (self.here(), self.there());
                ip(&["neigh", "del", &there, "dev", &self.device])
                    .and_then(|()| self.ip_there(&["neigh", "del", &here, "dev", &guest]))
            }
        };
        done.expect("a link that can be restored");
    }

    /// The route is gone with the link each time.
    fn plug_in(&self) -> Result<(), String> {
        let guest = self.guest_device();
        self.ip_there(&["link", "set", &guest, "up"])?;
        self.ip_there(&["route", "replace", "127.0.0.1/32", "via", &self.here()])
    }

    fn guest_device(&self) -> String {
        format!("{}-in", self.device)
    }

    fn ip_there(&self, arguments: &[&str]) -> Result<(), String> {
        let mut command = self.namespace.command(Path::new(IP), Path::new("/"));
        run(command.args(arguments))
    }
}

/// Sends what is for an address on a device to an end that does not exist.
fn to_nowhere<'a>(address: &'a str, device: &'a str) -> [&'a str; 9] {
    let nud = "permanent";
    [
        "neigh", "replace", address, "lladdr", NOWHERE, "dev", device, "nud", nud,
    ]
}

impl Drop for Link {
    /// Removes the link before the processes behind it end, so that none of them says so.
    fn drop(&mut self) {
        drop(ip(&["link", "del", &self.device]));
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    run(Command::new(IP).args(arguments))
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| format!("ip: {error}"))?;
    let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    done.status.success().then_some(()).ok_or(why)
}

const IP: &str = "/sbin/ip";
/// An address on the link that no end has.
const NOWHERE: &str = "02:00:00:00:00:01";
const LOOPBACK_ELSEWHERE: &str = "ip link set lo up
ip addr del 127.0.0.1/8 dev lo";
const FILLER: &str = "filler";
/// What is in the folder is copied over; the file system is gone with its last process.
const MOUNT: &str = r#"cp -a "$0" "$1"
mount -t tmpfs -o size=4m,mode=700 tmpfs "$0"
cp -a "$1/." "$0""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_refused_says_why() {
        let refused = Namespace::new("--mount", "--mount", "echo no room >&2; exit 1", &[]);
        let why = refused.unwrap_err();
        assert!(!why.is_empty());
    }
}
