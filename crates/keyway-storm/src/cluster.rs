//! The real parts: replicas, `haproxy` before them and before the database, PostgreSQL and its standby.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, PostgresServer, free_port};
use rustix::process::Signal;
use serde_json::json;

use crate::families::Profile;
use crate::trap::kill;
use crate::upstream::World;

/// All processes of the storm but its own.
pub(crate) struct Cluster {
    pub(crate) folder: Folder,
    program: PathBuf,
    ports: Ports,
    /// The database that replicas reach, and the one that follows it.
    pub(crate) primary: PostgresServer,
    pub(crate) standby: Option<PostgresServer>,
    /// Which of the two ports the database that counts has.
    primary_is: usize,
    pub(crate) replicas: Vec<Replica>,
    proxy: Option<Child>,
}

/// Ports that configurations name before anybody listens.
pub(crate) struct Ports {
    pub(crate) public: u16,
    database: u16,
    servers: [u16; 2],
    replicas: [u16; REPLICAS],
}

impl Ports {
    pub(crate) fn free() -> Self {
        Self {
            public: free_port(),
            database: free_port(),
            servers: [free_port(), free_port()],
            replicas: std::array::from_fn(|_| free_port()),
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.public)
    }
}

/// A `keyway serve`, or the place of one that was killed.
pub(crate) struct Replica {
    pub(crate) child: Option<Child>,
    /// Set before it starts, for the next start only: what its clock is wrong by.
    pub(crate) clock: Option<&'static str>,
}

impl Cluster {
    /// Starts the databases and prepares the folders; replicas are started one by one.
    pub(crate) fn prepare(program: &Path, ports: Ports, world: &World) -> Self {
        let primary = PostgresServer::start_on(ports.servers[0]);
        primary.sql("postgres", "CREATE DATABASE storm OWNER keyway");
        let folder = folder(&ports, world);
        Self {
            folder,
            program: program.canonicalize().expect("the program"),
            ports,
            primary,
            standby: None,
            primary_is: 0,
            replicas: Vec::new(),
            proxy: None,
        }
    }

    /// Starts the standby, the proxy and the replicas; returns when all are ready.
    pub(crate) fn start(&mut self, world: &World) {
        self.standby = Some(self.primary.standby_on(self.ports.servers[1]));
        self.proxy = Some(self.haproxy());
        let database = ("127.0.0.1", self.ports.database);
        keyway_testkit::eventually("haproxy listens", || {
            std::net::TcpStream::connect(database).is_ok()
        });
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

    /// Signs in to each server by hand of the product itself, into the database; what is stored then is
    /// the pattern for all people.
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
        self.keyway_by(&self.program, home)
    }

    fn keyway_by(&self, program: &Path, home: &str) -> Command {
        let mut command = Command::new(program);
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
        let listen = format!("127.0.0.1:{}", self.ports.replicas[number]);
        let clock = self.replicas[number].clock.take();
        let mut command = self.keyway(&format!("home{number}"));
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
        let process = (child.id(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        world.trap.runs(number, Some(process));
        self.replicas[number].child = Some(child);
    }

    /// Sends a signal to a replica; `false` if it does not run.
    pub(crate) fn signal(&self, number: usize, signal: Signal) -> bool {
        let child = self.replicas[number].child.as_ref();
        child.is_some_and(|child| kill(child.id(), signal))
    }

    /// Takes note that a replica has ended, or waits until it has.
    pub(crate) fn reap(&mut self, number: usize, world: &World) -> Option<bool> {
        let mut child = self.replicas[number].child.take()?;
        let status = child.wait().expect("its end");
        world.trap.runs(number, None);
        Some(status.success())
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
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else {
            return false;
        };
        let patience = Some(Duration::from_secs(2));
        stream.set_read_timeout(patience).expect("a time-out");
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
        let ports = &self.ports;
        let socket = self.folder.at("haproxy.sock");
        let mut text = format!(
            "global\n maxconn 8000\n stats socket {} level admin\n\
             defaults\n timeout connect 2s\n timeout client 150s\n timeout server 150s\n\
             frontend people\n mode http\n bind 127.0.0.1:{}\n default_backend replicas\n\
             backend replicas\n mode http\n balance random\n option httpchk\n option redispatch\n\
             \x20retries 3\n http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host 127.0.0.1:{}\n",
            socket.display(),
            ports.public,
            ports.public
        );
        for (number, port) in ports.replicas.iter().enumerate() {
            text +=
                &format!(" server r{number} 127.0.0.1:{port} check inter 300ms fall 1 rise 1\n");
        }
        text += &format!(
            "listen database\n mode tcp\n retries 0\n bind 127.0.0.1:{}\n",
            ports.database
        );
        for (number, port) in ports.servers.iter().enumerate() {
            let disabled = if number == self.primary_is {
                ""
            } else {
                " disabled"
            };
            text += &format!(" server d{number} 127.0.0.1:{port}{disabled}\n");
        }
        self.folder.put("haproxy.cfg", text);
        let log = File::create(self.folder.at("haproxy.log")).expect("a log");
        Command::new("/usr/sbin/haproxy")
            .arg("-f")
            .arg(self.folder.at("haproxy.cfg"))
            .args(["-db", "-q"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("haproxy, of the Debian package of that name")
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
        // The old one is gone for good, with its folder.
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
        for child in replicas.chain(&mut self.proxy) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn folder(ports: &Ports, world: &World) -> Folder {
    let entries: serde_json::Map<_, _> = world
        .ports
        .iter()
        .enumerate()
        .map(|(number, port)| {
            let url = format!("http://127.0.0.1:{port}/mcp");
            (format!("s{number}"), json!({ "type": "http", "url": url }))
        })
        .collect();
    let issuer = &world.issuer.name;
    let config = format!(
        "[vault]\naddress = \"postgres://keyway@127.0.0.1:{}/storm\"\nkey_command = \"echo {}\"\n\
         [gateway]\npublic_url = \"{}\"\n\
         [gateway.people]\nissuers = [\"{issuer}\"]\nalgorithms = [\"ES256\"]\nscopes = [\"mcp\"]\n",
        ports.database,
        KEY,
        ports.address()
    );
    // Before the proxy stands, the first sign-ins go straight to the database.
    let direct = config.replace(
        &format!("127.0.0.1:{}/", ports.database),
        &format!("127.0.0.1:{}/", ports.servers[0]),
    );
    let browser = "#!/bin/sh\nexec curl -sSL -o /dev/null \"$1\"\n";
    let mut folder = Folder::new()
        .file("p/.mcp.json", json!(entries).to_string())
        .executable("browser", browser);
    let homes = (0..REPLICAS).map(|number| (format!("home{number}"), &config));
    for (home, config) in homes.chain([("home".to_owned(), &direct)]) {
        folder = folder
            .file(&format!("{home}/keyway/config/config.toml"), config)
            .mode(&format!("{home}/keyway"), 0o700)
            .mode(&format!("{home}/keyway/config"), 0o700)
            .file(&format!("{home}/tmp/here"), "");
    }
    let path = folder.path().to_owned();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    folder
}

/// How many replicas there are.
pub(crate) const REPLICAS: usize = 3;
/// The wrapping key of all.
pub(crate) const KEY: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
