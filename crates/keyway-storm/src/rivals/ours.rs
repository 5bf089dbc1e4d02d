//! Three replicas of `keyway serve` on a database of their own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use keyway_postgres::{FileKey, Replica, Settings};
use keyway_secret::Secret;
use keyway_testkit::{Folder, PostgresServer, free_port};
use serde_json::{Value, json};

use super::PROCESSES;
use super::drive::{Caller, Processes, Running};
use super::processes::{Started, ending_with_us, version, wait_until_ready};
use crate::figures::client::call;
use crate::people::{SignIn, store_each};
use crate::upstream::World;

/// Starts the replicas with a sign-in for each person and server that is given: copies of sign-ins that
/// the program made itself, as in the storm.
pub(crate) fn start(
    program: &Path,
    (world, public): (&Arc<World>, &str),
    wanted: &[(usize, usize)],
) -> Result<Running, String> {
    let database_port = free_port();
    let database = PostgresServer::start_on(database_port);
    database.sql("postgres", "CREATE DATABASE storm OWNER keyway");
    let address = format!("postgres://keyway@127.0.0.1:{database_port}/storm");
    let mut ours = Ours {
        folder: folder(&address, (world, public)),
        program: program.canonicalize().map_err(|error| error.to_string())?,
        _database: database,
        ports: (0..PROCESSES).map(|_| free_port()).collect(),
        children: (0..PROCESSES).map(|_| None).collect(),
        world: Arc::clone(world),
    };
    for number in 0..world.ports.len() {
        ours.sign_in(&format!("s{number}"))?;
    }
    let sign_ins = ours.store(&address, wanted);
    for number in 0..PROCESSES {
        ours.start_again(number)?;
    }
    let callers = sign_ins.into_iter().map(|it| Arc::new(caller(world, it)));
    Ok(Running {
        name: format!("Keyway {}", version(&ours.program, &["--version"])?),
        ports: ours.ports.clone(),
        // Until then it renews without a call that waits; at the end all of them wait.
        ahead: std::time::Duration::ZERO,
        callers: callers.collect(),
        processes: Box::new(ours),
    })
}

struct Ours {
    folder: Folder,
    program: PathBuf,
    _database: PostgresServer,
    ports: Vec<u16>,
    children: Vec<Option<Started>>,
    world: Arc<World>,
}

impl Ours {
    fn keyway(&self, number: usize) -> Command {
        let home = self.folder.at(&format!("home{number}"));
        let mut command = ending_with_us(&self.program);
        command
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

    fn sign_in(&self, server: &str) -> Result<(), String> {
        let mut command = self.keyway(0);
        command.args(["login", server, "--force", "--trust"]);
        let done = command.output().map_err(|error| error.to_string())?;
        match done.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    }

    fn store(&self, address: &str, wanted: &[(usize, usize)]) -> Vec<SignIn> {
        let key = FileKey::new(&Secret::new([0x5a; 32])).expect("a key");
        let settings = Settings::new(address).expect("an address");
        let settings = settings
            .with_connections(4)
            .with_journal(self.folder.at("journal"));
        let replica = Replica::open(&settings, Arc::new(key)).expect("the database");
        store_each(&replica, &self.world, wanted).0
    }

    fn spawn(&self, number: usize) -> Result<Child, String> {
        let path = self.folder.at(&format!("replica{number}.log"));
        let log = File::options().create(true).append(true).open(path);
        let log = log.map_err(|error| error.to_string())?;
        let listen = format!("127.0.0.1:{}", self.ports[number]);
        self.keyway(number)
            .args(["serve", "--listen", &listen, ".", "--trust"])
            .stdout(log.try_clone().map_err(|error| error.to_string())?)
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())
    }
}

impl Processes for Ours {
    fn start_again(&mut self, number: usize) -> Result<(), String> {
        self.children[number] = None;
        let child = self.spawn(number)?;
        self.children[number] = Some(Started::new(child, (number, &self.world)));
        wait_until_ready(self.ports[number], "/readyz")
    }
}

fn caller(world: &World, sign_in: SignIn) -> Caller {
    let (headers, body) = call(&world.issuer.token(sign_in.person));
    let head = format!(
        "POST /mcp/s{} HTTP/1.1\r\n{headers}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n",
        sign_in.server
    );
    Caller {
        sign_in,
        head,
        body,
    }
}

fn folder(address: &str, (world, public): (&World, &str)) -> Folder {
    let numbered = world.ports.iter().enumerate();
    let entries = numbered.map(|(number, port)| {
        let url = format!("http://127.0.0.1:{port}/mcp");
        (format!("s{number}"), json!({ "type": "http", "url": url }))
    });
    let entries: serde_json::Map<String, Value> = entries.collect();
    let config = format!(
        "[vault]\naddress = \"{address}\"\nkey_command = \"echo {}\"\n\
         [gateway]\npublic_url = \"{public}\"\n\
         [gateway.people]\nissuers = [\"{}\"]\nalgorithms = [\"ES256\"]\nscopes = [\"mcp\"]\n",
        "5a".repeat(32),
        world.issuer.name
    );
    let browser = "#!/bin/sh\nexec curl -sSL -o /dev/null \"$1\"\n";
    let mut folder = Folder::new()
        .file("p/.mcp.json", Value::from(entries).to_string())
        .executable("browser", browser);
    std::fs::create_dir(folder.at("journal")).expect("a folder");
    for home in (0..PROCESSES).map(|number| format!("home{number}")) {
        folder = folder
            .file(&format!("{home}/keyway/config/config.toml"), &config)
            .mode(&format!("{home}/keyway"), 0o700)
            .mode(&format!("{home}/keyway/config"), 0o700)
            .file(&format!("{home}/tmp/here"), "");
    }
    folder
}
