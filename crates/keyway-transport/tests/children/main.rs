//! Tests with real children, and what they have in common.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the whole file is tests, what they share included"
)]

mod escapes;
mod grants;
mod helper;
mod init;
mod isolation;
mod processes;
mod stdio;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use keyway_transport::{
    ChildEnv, ChildKind, EnvRules, HostEnv, IsolationProfile, Launcher, Log, Program,
};

/// Where the children of the tests look for programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn launcher() -> Launcher {
    Launcher::new(CHILD)
}

/// The child of the tests with arguments, a small environment and no isolation.
fn program(args: &[&str]) -> Program {
    let declared = [("DECLARED".to_owned(), "value".to_owned().into())];
    let host = HostEnv::default();
    let mut rules = EnvRules::new(ChildKind::Server, &host);
    rules.declared = &declared;
    let person = [
        ("PATH", PATH),
        ("FOO_TOKEN", "CANARY"),
        ("LD_PRELOAD", "/x"),
    ];
    let person = person.map(|(name, value)| (name.into(), value.into()));
    let env = ChildEnv::build(person, &rules);
    let mut program = Program::new(CHILD.to_owned().into(), env, "/");
    program.args = args.iter().map(|arg| (*arg).to_owned().into()).collect();
    program.isolation.profile = IsolationProfile::None;
    program
}

/// Says whether programs that a test needs are there.
///
/// Where `KEYWAY_TOOLS` says that all tools are installed, one that is missing is a failure.
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the test runner, as `Tools` of the test kit reads it"
)]
fn has(programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        let mut folders = ["/usr/bin", "/bin", "/usr/sbin"].iter();
        folders.any(|folder| Path::new(folder).join(program).exists())
    };
    let Some(absent) = programs.iter().find(|program| !is_there(program)) else {
        return true;
    };
    let is_setup = std::env::var_os("KEYWAY_TOOLS").is_some();
    assert!(!is_setup, "no `{absent}`; `cargo xtask tools --setup`");
    println!("SKIPPED: no `{absent}`; `cargo xtask tools --setup` installs it");
    false
}

/// Says whether a process exists and is not just waiting to be forgotten.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Waits for something that happens in another process.
async fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < DEADLINE, "it never happened");
        // Between two looks at what another process does.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How long what must happen is waited for: only what hangs takes longer, on any machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// Collects what a child prints beside the protocol.
#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<Vec<String>>>);

impl LogLines {
    fn sink(&self) -> Log {
        let lines = Arc::clone(&self.0);
        Arc::new(move |_, line| lines.lock().unwrap().push(line.to_owned()))
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

const CHILD: &str = env!("CARGO_BIN_EXE_transport-child");
