//! A thousand clients of `keyway serve` at once, each with its stream, a hundred of them at work.
//!
//! What an idle one costs is compared with the plainest gateway that the same library allows, which
//! passes requests on and looks at nothing; both stand before the same server.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start servers and clients, and stop where they cannot"
)]

mod client;
mod idle;
mod soak;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Gateway, Keyway, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::client::Client;

#[test]
fn a_thousand_sessions_are_held_and_leave_nothing_behind() {
    allow_many_connections();
    let upstream = Program::worker("upstream");
    let plain = Program::worker(&format!("plain {}", upstream.process.port()));
    let (plain_bytes, held) = cost(&plain, "/mcp", None);
    drop(held);

    let folder = Folder::new().file(
        "p/.mcp.json",
        format!(
            r#"{{"s": {{"type": "http", "url": "{}"}}}}"#,
            upstream.process.url("/mcp")
        ),
    );
    let token = Gateway::token(keyway(&folder), &["--name", "n"]);
    let words = ["p", "--trust", "--quiet"];
    let gateway = Program::new(Gateway::start(keyway(&folder), &words));
    let (bytes, mut held) = cost(&gateway, "/mcp/p/s", Some(&token));
    println!("an idle session: {bytes} bytes, plainest gateway {plain_bytes} bytes");

    let calls = work(&mut held[..ACTIVE]);
    println!("{calls} calls");
    assert!(calls > ACTIVE);
    for (at, client) in held.iter_mut().enumerate() {
        assert!(client.is_listening(), "stream {at} has ended");
    }
    let descriptors = gateway.descriptors();
    for mut client in held {
        client.end();
    }
    assert!(descriptors >= SESSIONS, "{descriptors}");
    eventually("the descriptors are back", || {
        gateway.descriptors() <= gateway.base() + SPARE
    });
    assert!(
        bytes * 100 <= plain_bytes * LIMIT_PERCENT,
        "{bytes} bytes for a session, the plainest gateway needs {plain_bytes}"
    );
}

/// Opens all sessions and returns what one of them costs, in bytes.
fn cost(program: &Program, path: &str, token: Option<&str>) -> (usize, Vec<Client>) {
    let open = |count: usize| -> Vec<Client> {
        let mut clients = Vec::new();
        for _ in 0..count {
            let mut client = Client::new(program.process.port(), path, token);
            client.begin();
            clients.push(client);
        }
        clients
    };
    // What is needed once is not counted.
    for mut client in open(WARM_UP) {
        client.end();
    }
    eventually("the warm-up has ended", || {
        program.descriptors() <= program.base() + SPARE
    });
    let before = program.resident();
    let clients = open(SESSIONS);
    // Rest is the absence of events: nothing tells when it has come.
    thread::sleep(Duration::from_millis(500));
    let after = program.resident();
    ((after - before) / SESSIONS, clients)
}

/// Lets clients call for as long as the test lasts; returns how many calls were answered.
fn work(clients: &mut [Client]) -> usize {
    let seconds = std::env::var("KEYWAY_SESSION_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let calls = AtomicUsize::new(0);
    thread::scope(|scope| {
        for some in clients.chunks_mut(ACTIVE / THREADS) {
            scope.spawn(|| {
                while Instant::now() < end {
                    for client in &mut *some {
                        client.call();
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                    // The load: so many calls in so much time.
                    thread::sleep(PAUSE);
                }
            });
        }
    });
    calls.into_inner()
}

/// Each client has two connections.
fn allow_many_connections() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("KEYWAY_HOME", folder.at("home"))
}

/// A server that is measured from outside.
struct Program {
    process: Gateway,
    descriptors: usize,
}

impl Program {
    fn worker(role: &str) -> Self {
        let binary = std::env::current_exe().unwrap();
        let call = Keyway::new(binary.to_str().unwrap(), Path::new("/"))
            .args(["--exact", "worker::works", "--ignored", "--nocapture"])
            .env("KEYWAY_SESSION_WORKER", role);
        Self::new(Gateway::listening(&call))
    }

    fn new(process: Gateway) -> Self {
        let mut program = Self {
            process,
            descriptors: 0,
        };
        // Rest is the absence of events: nothing tells when it has come.
        thread::sleep(Duration::from_millis(200));
        program.descriptors = program.descriptors();
        program
    }

    /// How many descriptors it had in the beginning.
    const fn base(&self) -> usize {
        self.descriptors
    }

    fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.process.running.child.id());
        std::fs::read_dir(folder).unwrap().count()
    }

    /// Returns the memory that it uses, in bytes.
    fn resident(&self) -> usize {
        let file = format!("/proc/{}/status", self.process.running.child.id());
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.split_whitespace().next());
        kib.unwrap().parse::<usize>().unwrap() * 1024
    }
}

/// Of what a session costs the plainest gateway.
const LIMIT_PERCENT: usize = 150;
const SESSIONS: usize = 1000;
const ACTIVE: usize = 100;
const THREADS: usize = 4;
const WARM_UP: usize = 50;
const SECONDS: u64 = 15;
const PAUSE: Duration = Duration::from_millis(500);
/// Connections to the server that wait for the next call of any client.
const SPARE: usize = 16;
