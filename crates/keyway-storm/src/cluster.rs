//! The real parts: replicas, `haproxy` before them and before the database, PostgreSQL and its standby.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, PostgresServer};
use rustix::process::Signal;

use crate::config::{self, BEHIND_LINK, ON_SMALL_DISK, Ports, REPLICAS};
use crate::families::Profile;
use crate::kill_trigger::kill;
use crate::namespaces::{Link, SmallDisk};
use crate::timeouts::READY_TIMEOUT;
use crate::upstream::World;

/// All processes of the storm but its own.
pub(crate) struct Cluster {
    pub(crate) folder: Folder,
    program: PathBuf,
    /// What replicas run until the first rolling restart, if that is an upgrade.
    older: Option<PathBuf>,
    ports: Ports,
    /// The database that replicas reach, and the one that follows it.
    pub(crate) primary: PostgresServer,
    pub(crate) standby: Option<PostgresServer>,
    /// Which of the two ports the database that counts has.
    primary_is: usize,
    pub(crate) replicas: Vec<Replica>,
    proxy: Option<Child>,
    /// Where [`ON_SMALL_DISK`] has its folder; `None` if the machine refuses that.
    pub(crate) disk: Option<SmallDisk>,
    /// The host of [`BEHIND_LINK`]; `None` if the machine refuses that.
    pub(crate) link: Option<Link>,
    link_proxy: Option<Child>,
    /// What this machine refuses, and why.
    pub(crate) left_out: Vec<String>,
}

/// A `keyway serve`, or the place of one that was killed.
pub(crate) struct Replica {
    pub(crate) child: Option<Child>,
    /// Set before it starts, for the next start only: what its clock is wrong by.
    pub(crate) clock: Option<&'static str>,
}

impl Cluster {
    /// Starts the databases and prepares the folders; replicas are started one by one.
    pub(crate) fn prepare(
        (program, older): (&Path, Option<&Path>),
        ports: Ports,
        world: &World,
    ) -> Self {
        let primary = PostgresServer::start_on(ports.servers[0]);
        primary.sql("postgres", "CREATE DATABASE storm OWNER keyway");
        let mut left_out = Vec::new();
        let mut refused = |what: &str, why: String| left_out.push(format!("{what} ({why})"));
        let link = Link::new().map_err(|why| refused("a link that is cut", why));
        let link = link.ok();
        let folder = config::folder(&ports, world, link.is_some());
        let disk = SmallDisk::new(&folder.at(&format!("home{ON_SMALL_DISK}/keyway")));
        let disk = disk.map_err(|why| refused("a full disk under the journal", why));
        Self {
            folder,
            program: program.canonicalize().expect("the program"),
            older: older.map(|it| it.canonicalize().expect("the older program")),
            ports,
            primary,
            standby: None,
            primary_is: 0,
            replicas: Vec::new(),
            proxy: None,
            disk: disk.ok(),
            link,
            link_proxy: None,
            left_out,
        }
    }

    /// Starts the standby, the proxy and the replicas; returns when all are ready.
    pub(crate) fn start(&mut self, world: &World) {
        self.standby = Some(self.primary.standby_on(self.ports.servers[1]));
        self.proxy = Some(self.haproxy());
        self.link_proxy = self.link.as_ref().map(|link| self.link_proxy(link));
        let database = ("127.0.0.1", self.ports.database);
        keyway_testkit::eventually("haproxy listens", || TcpStream::connect(database).is_ok());
        for number in 0..REPLICAS {
            self.replicas.push(Replica {
                child: None,
                clock: None,
            });
            self.start_replica(number, world);
        }
        for number in 0..REPLICAS {
            let ready = self.becomes_ready(number, Duration::from_secs(60));
            assert!(
                ready,
                "replica {number} does not start:\n{}",
                self.log(number)
            );
        }
    }

    /// Returns the address of the database that counts, for the driver itself.
    pub(crate) fn direct(&self) -> String {
        self.primary.address("keyway", "storm")
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.primary.sql("storm", sql)
    }

    pub(crate) const fn public(&self) -> u16 {
        self.ports.public
    }

    /// Signs in to each server with the product itself, into the database; what is stored then is
    /// copied for all people.
    pub(crate) fn sign_in_once(&self) {
        for number in 0..Profile::ALL.len() {
            let server = format!("s{number}");
            let done = self
                .keyway("home")
                .args(["login", &server, "--force", "--trust"])
                .env("BROWSER", self.folder.at("browser"))
                .output()
                .expect("keyway");
            let error = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{server}: {error}");
        }
    }

    fn keyway(&self, home: &str) -> Command {
        let program = self.older.as_ref().unwrap_or(&self.program);
        self.at_home(Command::new(program), home)
    }

    /// Has replicas run the program itself from their next start on, where they ran an older one.
    pub(crate) fn upgrade(&mut self) -> bool {
        self.older.take().is_some()
    }

    /// Returns the command of a replica, inside of the namespaces that it has.
    fn replica(&self, number: usize) -> Command {
        let place = self.folder.at("p");
        let program = self.older.as_ref().unwrap_or(&self.program);
        let command = match (number, &self.disk, &self.link) {
            (ON_SMALL_DISK, Some(disk), _) => disk.command(program, &place),
            (BEHIND_LINK, _, Some(link)) => link.command(program, &place),
            _ => Command::new(program),
        };
        self.at_home(command, &format!("home{number}"))
    }

    fn at_home(&self, mut command: Command, home: &str) -> Command {
        let home = self.folder.at(home);
        command
            .current_dir(self.folder.at("p"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env("KEYWAY_HOME", home.join("keyway"))
            .env("TMPDIR", home.join("tmp"))
            .stdin(Stdio::null());
        command
    }

    /// Starts a replica that is not running.
    pub(crate) fn start_replica(&mut self, number: usize, world: &World) {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path(number))
            .expect("a log");
        let is_linked = number == BEHIND_LINK && self.link.is_some();
        let own = if is_linked {
            Link::LOOPBACK
        } else {
            "127.0.0.1"
        };
        let listen = format!("{own}:{}", self.ports.replicas[number]);
        let clock = self.replicas[number].clock.take();
        let mut command = self.replica(number);
        if let Some(offset) = clock {
            command.env("LD_PRELOAD", FAKETIME).env("FAKETIME", offset);
            // Only the clock on the wall is wrong: timers of a machine whose clock was set run on.
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let child = command
            .args(["serve", "--listen", &listen, ".", "--trust"])
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("keyway");
        let address = self.hosts()[number].parse().expect("an address");
        let process: (u32, IpAddr) = (child.id(), address);
        world.kill_trigger.runs(number, Some(process));
        self.replicas[number].child = Some(child);
    }

    /// Sends a signal to a replica; `false` if it does not run.
    pub(crate) fn signal(&self, number: usize, signal: Signal) -> bool {
        self.process(number).is_some_and(|it| kill(it, signal))
    }

    /// Returns the process of a replica, if it has one.
    pub(crate) fn process(&self, number: usize) -> Option<u32> {
        self.replicas[number].child.as_ref().map(Child::id)
    }

    /// Takes note that a replica has ended, or waits until it has.
    pub(crate) fn reap(&mut self, number: usize, world: &World) -> Option<bool> {
        let mut child = self.replicas[number].child.take()?;
        let status = child.wait().expect("its end");
        world.kill_trigger.runs(number, None);
        Some(status.success())
    }

    /// Ends everything on the host behind the link, whose packets reach nothing any more.
    pub(crate) fn kill_host(&mut self) {
        self.signal(BEHIND_LINK, Signal::KILL);
        if let Some(mut proxy) = self.link_proxy.take() {
            proxy.kill().expect("a process of ours");
            proxy.wait().expect("its end");
        }
    }

    /// Makes another host in place of the one that vanished, at the same address.
    pub(crate) fn replace_host(&mut self) {
        // The old link first: it has the name and the address.
        self.link = None;
        self.link = Some(Link::new().expect("a host like the first"));
        self.link_proxy = self.link.as_ref().map(|link| self.link_proxy(link));
    }

    /// Returns the owner of the claims of the replica behind the link.
    pub(crate) fn owner_behind_link(&self) -> Option<String> {
        let address = self.link.as_ref()?.there();
        let owner = self.sql(&format!(
            "SELECT (l.classid::bigint << 32) | l.objid::bigint
             FROM pg_locks l JOIN pg_stat_activity a USING (pid)
             WHERE l.locktype = 'advisory' AND l.granted AND a.client_addr = '{address}' LIMIT 1"
        ));
        (!owner.is_empty()).then_some(owner)
    }

    /// Tells whether the process of a replica is over.
    pub(crate) fn has_ended(&mut self, number: usize) -> bool {
        let child = self.replicas[number].child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))))
    }

    /// Returns the replicas that ended by themselves.
    pub(crate) fn ended(&mut self) -> Vec<usize> {
        let numbered = self.replicas.iter_mut().enumerate();
        let ended = numbered.filter_map(|(number, replica)| {
            let child = replica.child.as_mut()?;
            child.try_wait().ok().flatten().map(|_| number)
        });
        ended.collect()
    }

    pub(crate) fn becomes_ready(&self, number: usize, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            if self.is_ready(number) {
                return true;
            }
            // Between two looks at another process.
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    fn is_ready(&self, number: usize) -> bool {
        let port = self.ports.replicas[number];
        let address = format!("{}:{port}", self.hosts()[number]);
        let address: SocketAddr = address.parse().expect("an address");
        let Ok(mut stream) = TcpStream::connect_timeout(&address, READY_TIMEOUT) else {
            return false;
        };
        let timeout = Some(READY_TIMEOUT);
        stream.set_read_timeout(timeout).expect("a time-out");
        let request =
            format!("GET /readyz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
        let mut answer = String::new();
        // One that ends while it is asked is not ready.
        let asked = stream.write_all(request.as_bytes());
        let _cut = asked.and_then(|()| stream.read_to_string(&mut answer));
        answer.starts_with("HTTP/1.1 200")
    }

    fn log_path(&self, number: usize) -> PathBuf {
        self.folder.at(&format!("replica{number}.log"))
    }

    pub(crate) fn log(&self, number: usize) -> String {
        std::fs::read_to_string(self.log_path(number)).unwrap_or_default()
    }

    fn haproxy(&self) -> Child {
        let text = config::proxy(&self.folder, &self.ports, self.primary_is, &self.hosts());
        self.folder.put("haproxy.cfg", text);
        self.start_haproxy(Command::new(HAPROXY), "haproxy")
    }

    /// Starts the proxy that lets calls in to the host behind the link.
    fn link_proxy(&self, link: &Link) -> Child {
        let text = config::link_proxy(link, self.ports.replicas[BEHIND_LINK]);
        self.folder.put("link-proxy.cfg", text);
        let command = link.command(Path::new(HAPROXY), Path::new("/"));
        self.start_haproxy(command, "link-proxy")
    }

    fn start_haproxy(&self, mut command: Command, name: &str) -> Child {
        let log = self.folder.at(&format!("{name}.log"));
        let log = File::options().create(true).append(true).open(log);
        let log = log.expect("a log");
        command
            .arg("-f")
            .arg(self.folder.at(&format!("{name}.cfg")))
            .args(["-db", "-q"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("haproxy, of the Debian package of that name")
    }

    /// Returns the addresses of the replicas' hosts.
    fn hosts(&self) -> [String; REPLICAS] {
        let here = || "127.0.0.1".to_owned();
        std::array::from_fn(|number| match &self.link {
            Some(link) if number == BEHIND_LINK => link.there(),
            _ => here(),
        })
    }

    /// Tells the proxy what to do.
    fn command_proxy(&self, commands: &str) {
        let mut socket = UnixStream::connect(self.folder.at("haproxy.sock")).expect("haproxy");
        writeln!(socket, "{commands}").expect("haproxy");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("haproxy");
        assert!(answer.trim().is_empty(), "{commands}: {answer}");
    }

    /// Ends the primary as a machine ends that loses its power, and has the standby take its place;
    /// a new standby follows.
    pub(crate) fn fail_over(&mut self) {
        let standby = self.standby.take().expect("a standby");
        let (old, new) = (self.primary_is, 1 - self.primary_is);
        self.primary.control(&["-m", "immediate", "stop"]);
        standby.control(&["promote"]);
        self.command_proxy(&format!(
            "disable server database/d{old}; shutdown sessions server database/d{old}; \
             enable server database/d{new}"
        ));
        self.primary_is = new;
        // The old one is removed, with its folder.
        self.primary = standby;
    }

    /// Gives the primary a standby, in place of the one that was promoted.
    pub(crate) fn add_standby(&mut self) {
        let port = self.ports.servers[1 - self.primary_is];
        self.standby = Some(self.primary.standby_on(port));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let replicas = self.replicas.iter_mut().filter_map(|it| it.child.as_mut());
        for child in replicas.chain(&mut self.proxy).chain(&mut self.link_proxy) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

const HAPROXY: &str = "/usr/sbin/haproxy";
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
