//! An exchange that has begun survives the process that began it: with the real program, a server
//! that accepts each refresh token once, and clients that end their bridge as they do.
//!
//! `KEYWAY_SLOW_ANSWERS=1` adds an answer after 30 seconds.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start programs, and stop where they cannot go on"
)]

mod sdks;
mod signals;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Running, eventually};
use rustix::process::{Pid, Signal, kill_process};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");
/// How far apart clients send their signals.
const APART: Duration = Duration::from_millis(100);

/// A desk with a sign-in, with a token that has to be renewed at the next request, by a token
/// endpoint that takes `delay` to answer.
fn desk(delay: Duration) -> Desk {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.reset();
    desk.rig.set(|settings| settings.token_delay = delay);
    desk
}

/// Sends a request through `keyway run`, whose token is renewed first.
fn renewing(desk: &Desk) -> (Running, ChildStdin) {
    let mut run = desk.without_browser(&["run", "--server", "s"]).start();
    let mut stdin = run.child.stdin.take().unwrap();
    initialize(&mut stdin);
    eventually("the token is sent", || desk.rig.refreshes() == 1);
    (run, stdin)
}

fn initialize(stdin: &mut ChildStdin) {
    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    )
    .unwrap();
}

/// The next command uses what the carrier stored, and no token was redeemed twice.
fn still_signed_in(desk: &Desk, what: &str) {
    desk.rig
        .set(|settings| settings.token_delay = Duration::ZERO);
    eventually("the answer is stored", || {
        let call = desk.without_browser(&["call", "s", "echo", "message=hello"]);
        call.run().code == 0
    });
    assert_eq!(desk.rig.refreshes(), 1, "{what}: nothing is redeemed again");
    // And what it stored can be renewed.
    desk.rig.reset();
    let call = desk
        .without_browser(&["call", "s", "echo", "message=hello"])
        .run();
    assert_eq!(call.code, 0, "{what}: {}", call.everything());
    let families = desk.rig.families();
    let family = families.first().unwrap();
    assert!(family.is_chain(), "{what}: {families:?}");
    assert_eq!(desk.rig.refreshes(), 2, "{what}");
    assert_eq!(desk.windows().len(), 1, "{what}");
    carriers_have_ended(desk);
}

fn pause_between_signals() {
    // What clients leave: no event stands for it.
    std::thread::sleep(APART);
}

/// Every process that owned a claim has removed its lock.
fn carriers_have_ended(desk: &Desk) {
    eventually("the carrier has ended", || locks(desk).is_empty());
}

fn locks(desk: &Desk) -> Vec<String> {
    let mut found = desk.folder.files();
    found.retain(|file| file.contains("/owners/") && file.ends_with(".lock"));
    found
}

/// As Claude Code ends a server: each signal a moment after the one before.
#[test]
fn renewal_survives_interrupt_terminate_and_kill_in_a_row() {
    let mut delays = vec![3, 8];
    if std::env::var_os("KEYWAY_SLOW_ANSWERS").is_some() {
        delays.push(30);
    }
    for seconds in delays {
        let desk = desk(Duration::from_secs(seconds));
        let (mut run, _stdin) = renewing(&desk);
        for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
            // It may have ended by the signal before; then there is nothing left to end.
            let _gone: Result<(), _> = kill_process(Pid::from_child(&run.child), signal);
            pause_between_signals();
        }
        assert!(run.child.try_wait().unwrap().is_some(), "it is gone");
        still_signed_in(&desk, &format!("{seconds} s"));
    }
}

#[test]
fn renewal_of_a_command_survives_its_kill() {
    let desk = desk(Duration::from_secs(2));
    let mut call = desk
        .without_browser(&["call", "s", "echo", "message=hello"])
        .start();
    eventually("the token is sent", || desk.rig.refreshes() == 1);
    call.child.kill().unwrap();
    drop(call.outcome());
    still_signed_in(&desk, "call");
}

/// Some clients end every child of their bridge, and every process of its group.
#[test]
fn carrier_is_neither_a_child_of_the_bridge_nor_in_its_group() {
    let desk = desk(Duration::from_secs(2));
    let (mut run, _stdin) = renewing(&desk);
    assert_eq!(children(run.child.id()), Vec::<u32>::new());
    run.child.kill().unwrap();
    drop(run.outcome());
    still_signed_in(&desk, "children");
}

/// Without a folder to stand in, without streams, and without a folder for the run time.
#[test]
fn carrier_needs_neither_a_working_folder_nor_streams() {
    let desk = desk(Duration::from_secs(2));
    let folder = desk.folder.path().to_str().unwrap().to_owned();
    let script = "mkdir \"$0/gone\" && cd \"$0/gone\" && rmdir \"$0/gone\" && \
                  exec \"$1\" call s echo message=hello --config \"$0\" <&- >&- 2>&-";
    let mut call = Command::new("/bin/sh")
        .args(["-c", script, &folder, KEYWAY])
        .env_clear()
        .env("HOME", desk.folder.at("home"))
        .env("KEYWAY_HOME", desk.folder.at("home/keyway"))
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    eventually("the token is sent", || desk.rig.refreshes() == 1);
    call.kill().unwrap();
    call.wait().unwrap();
    still_signed_in(&desk, "odd surroundings");
}

/// A service manager that stops a group sends SIGTERM to every process in it.
#[test]
fn carrier_does_not_end_with_a_signal() {
    let desk = desk(Duration::from_secs(3));
    let (mut run, _stdin) = renewing(&desk);
    let owners = locks(&desk);
    let owners = owners.iter();
    let processes = owners.map(|file| fs::read_to_string(desk.folder.at(file)).unwrap());
    let bridge = run.child.id().to_string();
    let carriers: Vec<String> = processes.filter(|process| *process != bridge).collect();
    let [carrier] = carriers.as_slice() else {
        panic!("one carrier: {carriers:?}");
    };
    let carrier = Pid::from_raw(carrier.parse().unwrap()).unwrap();
    run.child.kill().unwrap();
    drop(run.outcome());
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        kill_process(carrier, signal).unwrap();
    }
    still_signed_in(&desk, "signals");
}

/// A process that runs on makes up for a renewal that was left behind, although it needs no token
/// itself: the server takes the old one again for a while only.
#[test]
fn renewal_that_was_left_behind_is_made_up_for_without_a_request() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let mut bystander = desk.without_browser(&["run", "--server", "s"]).start();
    let mut stdin = bystander.child.stdin.take().unwrap();
    let mut stdout = BufReader::new(bystander.child.stdout.take().unwrap());
    initialize(&mut stdin);
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("result"), "{line}");

    desk.rig.set(|settings| {
        settings.token_delay = Duration::from_secs(2);
        settings.grace = Duration::from_secs(120);
    });
    desk.rig.reset();
    let mut call = desk
        .without_browser(&["call", "s", "echo", "message=hello"])
        .start();
    eventually("the token is sent", || desk.rig.refreshes() == 1);
    let processes: Vec<String> = locks(&desk)
        .iter()
        .map(|file| fs::read_to_string(desk.folder.at(file)).unwrap())
        .collect();
    call.child.kill().unwrap();
    for process in processes {
        let process = Pid::from_raw(process.parse().unwrap()).unwrap();
        let _gone: Result<(), _> = kill_process(process, Signal::KILL);
    }
    drop(call.outcome());
    eventually("it is made up for", || desk.rig.refreshes() == 2);
    desk.rig
        .set(|settings| settings.token_delay = Duration::ZERO);
    let call = desk.without_browser(&["call", "s", "echo", "message=hello"]);
    assert_eq!(call.run().code, 0);
    assert_eq!(desk.windows().len(), 1);
}

/// The children of a process.
fn children(process: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |number: &u32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: the state, then the parent.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&process.to_string())
    };
    numbers.filter(is_child).collect()
}

/// A client that another program runs, and that calls until it is told to close.
pub(crate) struct Caller {
    child: Child,
    stdin: ChildStdin,
}

impl Caller {
    pub(crate) fn start(desk: &Desk, words: &[String]) -> Self {
        let [program, words @ ..] = words else {
            panic!("no client");
        };
        let mut child = Command::new(program)
            .args(words)
            .args([KEYWAY, "run"])
            .arg(desk.folder.path())
            .args(["--server", "s"])
            .env("HOME", desk.folder.at("home"))
            .env("KEYWAY_HOME", desk.folder.at("home/keyway"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "Echo: hello", "the first call");
        Self { child, stdin }
    }

    /// Lets the client close its connection, and waits for its end.
    pub(crate) fn close(mut self) {
        writeln!(self.stdin, "close").unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}
