//! The gateway that is measured: a PostgreSQL of its own, replicas, and the sign-ins of many people.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyway_postgres::{FileKey, Person, Replica, Settings};
use keyway_secret::Secret;
use keyway_store::{GrantKey, GrantStore as _, Tokens};
use keyway_testkit::{Folder, PostgresServer, free_port};
use serde_json::json;

use super::site::{Site, token};
use crate::issuer::subject;
use crate::timeouts::{READY_POLL, START_TIMEOUT};

/// A database, the folders of its replicas, and those that run.
pub(crate) struct Team {
    pub(crate) folder: Folder,
    program: PathBuf,
    pub(crate) database: PostgresServer,
    database_port: u16,
    pub(crate) site: Arc<Site>,
    replicas: Vec<(u16, Option<Child>)>,
}

/// What the tenant's own sign-in is called in the store, and what is stored with it.
pub(crate) struct Pattern {
    pub(crate) key: GrantKey,
    details: Vec<u8>,
}

impl Team {
    /// Starts the database and signs in once, by the product itself. `more` is added to the
    /// configuration of each replica.
    pub(crate) fn prepare(
        (program, public): (&Path, &str),
        site: &Arc<Site>,
        replicas: usize,
        more: &str,
    ) -> Self {
        let database_port = free_port();
        let database = PostgresServer::start_on(database_port);
        database.sql("postgres", "CREATE DATABASE team OWNER keyway");
        let config = config(database_port, site, (public, more));
        let folder = folder(replicas, site, &config);
        let ports = (0..replicas).map(|_| (free_port(), None)).collect();
        let team = Self {
            folder,
            program: program.canonicalize().expect("the program"),
            database,
            database_port,
            site: Arc::clone(site),
            replicas: ports,
        };
        let login = ["login", "s", "--force", "--trust"];
        team.run(0, &login);
        team
    }

    /// Runs the program beside a replica and returns what it prints.
    pub(crate) fn run(&self, replica: usize, words: &[&str]) -> String {
        let mut command = self.keyway(replica);
        let done = command.args(words).output().expect("keyway");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{words:?}: {error}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn keyway(&self, replica: usize) -> Command {
        // It ends with this process, however that ends.
        let mut command = Command::new("setpriv");
        let home = self.folder.at(&format!("home{replica}"));
        command
            .args(["--pdeathsig", "KILL"])
            .arg(&self.program)
            .current_dir(self.folder.at("p"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env("KEYWAY_HOME", home.join("keyway"))
            .env("BROWSER", self.folder.at("browser"))
            .env("TMPDIR", home.join("tmp"))
            .stdin(Stdio::null());
        command
    }

    /// Starts a replica, and waits until it is ready.
    pub(crate) fn start(&mut self, number: usize) {
        let path = self.folder.at(&format!("replica{number}.log"));
        let log = File::options().create(true).append(true).open(&path);
        let log = log.expect("a log");
        let listen = format!("127.0.0.1:{}", self.port(number));
        let child = self
            .keyway(number)
            .args(["serve", "--listen", &listen, ".", "--trust"])
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("keyway");
        self.replicas[number].1 = Some(child);
        let deadline = Instant::now() + START_TIMEOUT;
        while !self.is_ready(number) {
            let log = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(Instant::now() < deadline, "it does not start:\n{log}");
            std::thread::sleep(READY_POLL);
        }
    }

    fn is_ready(&self, number: usize) -> bool {
        let port = self.port(number);
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else {
            return false;
        };
        let request =
            format!("GET /readyz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
        let mut answer = String::new();
        // One that still starts may close the connection.
        let asked = stream.write_all(request.as_bytes());
        let _cut = asked.and_then(|()| stream.read_to_string(&mut answer));
        answer.starts_with("HTTP/1.1 200")
    }

    /// Kills a replica; returns when the signal was sent.
    pub(crate) fn kill(&mut self, number: usize) -> Instant {
        let mut child = self.replicas[number].1.take().expect("a replica");
        child.kill().expect("a process");
        let at = Instant::now();
        child.wait().expect("its end");
        at
    }

    pub(crate) fn port(&self, number: usize) -> u16 {
        self.replicas[number].0
    }

    pub(crate) fn pid(&self, number: usize) -> u32 {
        let child = self.replicas[number].1.as_ref();
        child.expect("a replica").id()
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.database.sql("team", sql)
    }

    pub(crate) const fn database_port(&self) -> u16 {
        self.database_port
    }

    /// Opens the store as a replica does, with so many connections.
    pub(crate) fn store(&self, connections: usize) -> Replica {
        let address = format!("postgres://keyway@127.0.0.1:{}/team", self.database_port);
        let key = FileKey::new(&Secret::new([0x5a; 32])).expect("a key");
        let settings = Settings::new(&address).expect("an address");
        let settings = settings
            .with_connections(connections)
            .with_journal(self.folder.at("journal"));
        Replica::open(&settings, Arc::new(key)).expect("the database")
    }

    /// Names a person as the gateway does.
    pub(crate) fn person(&self, number: usize) -> Person {
        let name = format!("{} {}", self.site.issuer.name, subject(number));
        Person::new("default", name).expect("a name")
    }

    /// Reads the tenant's sign-in.
    pub(crate) fn pattern(&self, store: &Replica) -> Pattern {
        let own = store.grants(Person::shared("default").expect("a name"));
        let mut listed = own.list("default").expect("a list").into_iter();
        let key = listed.next().expect("a sign-in").grant;
        let grant = own.read(&key).expect("a sign-in").expect("a sign-in");
        Pattern {
            details: grant.details.expose().clone(),
            key,
        }
    }

    /// Stores a sign-in of each of so many people, with tokens of number 0 that are good for a while.
    pub(crate) fn store_people(
        &self,
        store: &Replica,
        (pattern, people): (&Pattern, usize),
        lifetime: Duration,
    ) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    loop {
                        // Relaxed: each number is given out once, and nothing else depends on it.
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= people {
                            return;
                        }
                        let tokens = pattern.tokens((number, 0)).with_lifetime(lifetime);
                        let grants = store.grants(self.person(number));
                        grants.put(&pattern.key, &tokens).expect("a sign-in");
                    }
                });
            }
        });
    }
}

impl Pattern {
    /// Returns the tokens of a sign-in and their number, with everything that is stored with them.
    pub(crate) fn tokens(&self, (sign_in, number): (usize, usize)) -> Tokens {
        Tokens::new(Secret::new(token("at", sign_in, number)))
            .with_refresh(Secret::new(token("rt", sign_in, number)))
            .with_details(Secret::new(self.details.clone()))
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for child in self.replicas.iter_mut().filter_map(|it| it.1.as_mut()) {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The access tokens of people, made once.
pub(crate) struct Badges {
    site: Arc<Site>,
    /// Held for one entry.
    made: Mutex<Vec<Option<Arc<str>>>>,
}

impl Badges {
    pub(crate) fn new(site: &Arc<Site>) -> Self {
        Self {
            site: Arc::clone(site),
            made: Mutex::default(),
        }
    }

    pub(crate) fn of(&self, person: usize) -> Arc<str> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() <= person {
            made.resize(person + 1, None);
        }
        let token = || self.site.issuer.token(person).into();
        Arc::clone(made[person].get_or_insert_with(token))
    }
}

fn config(database: u16, site: &Site, (public, more): (&str, &str)) -> String {
    let issuer = &site.issuer.name;
    format!(
        "{more}[vault]\naddress = \"postgres://keyway@127.0.0.1:{database}/team\"\n\
         key_command = \"echo {KEY}\"\n[gateway]\npublic_url = \"{public}\"\n\
         [gateway.people]\nissuers = [\"{issuer}\"]\nalgorithms = [\"ES256\"]\nscopes = [\"mcp\"]\n"
    )
}

fn folder(replicas: usize, site: &Site, config: &str) -> Folder {
    let url = |path| json!({ "type": "http", "url": format!("{}{path}", site.origin()) });
    let entries = json!({ "s": url("/mcp"), "open": url("/open/mcp") });
    let browser = "#!/bin/sh\nexec curl -sSL -o /dev/null \"$1\"\n";
    let mut folder = Folder::new()
        .file("p/.mcp.json", entries.to_string())
        .executable("browser", browser);
    std::fs::create_dir(folder.at("journal")).expect("a folder");
    for home in (0..replicas).map(|number| format!("home{number}")) {
        folder = folder
            .file(&format!("{home}/keyway/config/config.toml"), config)
            .mode(&format!("{home}/keyway"), 0o700)
            .mode(&format!("{home}/keyway/config"), 0o700)
            .file(&format!("{home}/tmp/here"), "");
    }
    folder
}

/// The wrapping key of all.
const KEY: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
const WRITERS: usize = 12;
