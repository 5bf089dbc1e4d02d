//! Locks that a process cannot give up: `strace` makes the call fail.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};

use super::processes::{command, said};
use super::*;

/// Writes while it watches for changes, and does nothing from then on.
pub(super) fn watch_and_write(vault: &Vault) {
    let mut feed = vault.change_feed().unwrap();
    assert!(!feed.changed().unwrap());
    write(vault);
    // The feed lives, and goes on with another connection where its own was closed.
    let seen = feed.changed();
    println!("@ {}", if seen.is_ok() { "watched" } else { "blind" });
}

/// Writes, and does nothing from then on.
pub(super) fn write(vault: &Vault) {
    let written = vault.put(&grant(), &tokens(2));
    println!("@ {}", if written.is_ok() { "written" } else { "failed" });
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
}

#[test]
fn lock_that_could_not_be_given_up_keeps_no_other_process_out() {
    keeps_no_other_process_out("write");
}

/// Its second connection is open all the time, and connections of one process share their locks.
#[test]
fn lock_that_a_process_with_a_change_feed_could_not_give_up_keeps_no_other_out() {
    keeps_no_other_process_out("watch-and-write");
}

fn keeps_no_other_process_out(role: &str) {
    if !Path::new(STRACE).exists() {
        return eprintln!("skipped: no strace");
    }
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &tokens(1)).unwrap();
    let unlocks = unlocks(&home, role);
    let Some(unlocks) = unlocks else {
        return eprintln!("skipped: strace cannot trace here");
    };
    assert!(unlocks.len() > 5, "{unlocks:?}");
    for number in unlocks {
        let inject = format!("inject=fcntl:error=ENOLCK:when={number}");
        let mut worker = traced(&home, role, ("/dev/null", &inject));
        let mut events = said(&mut worker);
        // It writes or fails, is idle from then on, and lives.
        let event = events.next();
        if let Err(error) = vault.put(&grant(), &tokens(3)) {
            panic!("{inject}, {event:?}: {error}");
        }
        let last = end(worker, events);
        assert_ne!(last.as_deref(), Some("blind"), "{inject}");
    }
}

/// Counts the calls of the writing thread and returns which of them give a lock up.
fn unlocks(home: &Home, role: &str) -> Option<Vec<usize>> {
    let log = home.folders.data.parent().unwrap().join("calls");
    let mut worker = traced(home, role, (log.to_str().unwrap(), "trace=fcntl"));
    let mut events = said(&mut worker);
    assert_eq!(events.next()?, "written");
    drop(end(worker, events));
    let log = fs::read_to_string(log).unwrap();
    let mut threads = BTreeMap::<&str, Vec<&str>>::new();
    for (thread, call) in log.lines().filter_map(|line| line.split_once(' ')) {
        if call.trim_start().starts_with("fcntl(") {
            threads.entry(thread).or_default().push(call);
        }
    }
    let calls = threads.into_values().max_by_key(Vec::len)?;
    let numbered = (1..).zip(calls);
    let unlocks = numbered.filter(|(_, call)| call.contains("F_SETLK, {l_type=F_UNLCK"));
    Some(unlocks.map(|(number, _)| number).collect())
}

fn traced(home: &Home, role: &str, (log, what): (&str, &str)) -> Child {
    let wrapper = [STRACE, "-f", "-qq", "-o", log, "-e", what];
    let mut worker = command(&wrapper, role, home, &[]);
    worker.stdin(Stdio::piped()).spawn().unwrap()
}

fn end(mut worker: Child, events: impl Iterator<Item = String>) -> Option<String> {
    drop(worker.stdin.take());
    let last = events.last();
    worker.wait().unwrap();
    last
}

const STRACE: &str = "/usr/bin/strace";
