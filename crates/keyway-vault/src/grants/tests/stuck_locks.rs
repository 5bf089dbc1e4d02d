//! Locks that a process cannot give up: `strace` makes the call fail.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};

use super::processes::{command, said};
use super::*;

/// Writes, and does nothing from then on.
pub(super) fn write(vault: &Vault) {
    let written = vault.put(&grant(), &tokens(2));
    println!("@ {}", if written.is_ok() { "written" } else { "failed" });
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
}

#[test]
fn lock_that_could_not_be_given_up_keeps_no_other_process_out() {
    if !Path::new(STRACE).exists() {
        return eprintln!("skipped: no strace");
    }
    let home = Home::new();
    let vault = home.open();
    vault.put(&grant(), &tokens(1)).unwrap();
    let unlocks = unlocks(&home);
    let Some(unlocks) = unlocks else {
        return eprintln!("skipped: strace cannot trace here");
    };
    assert!(unlocks.len() > 5, "{unlocks:?}");
    for number in unlocks {
        let inject = format!("inject=fcntl:error=ENOLCK:when={number}");
        let mut worker = traced(&home, "/dev/null", &inject);
        let mut events = said(&mut worker);
        // It writes or fails, is idle from then on, and lives.
        let event = events.next();
        if let Err(error) = vault.put(&grant(), &tokens(3)) {
            panic!("{inject}, {event:?}: {error}");
        }
        end(worker, events);
    }
}

/// Counts the calls of the writing thread and returns which of them give a lock up.
fn unlocks(home: &Home) -> Option<Vec<usize>> {
    let log = home.folders.data.parent().unwrap().join("calls");
    let mut worker = traced(home, log.to_str().unwrap(), "trace=fcntl");
    let mut events = said(&mut worker);
    assert_eq!(events.next()?, "written");
    end(worker, events);
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

fn traced(home: &Home, log: &str, what: &str) -> Child {
    let wrapper = [STRACE, "-f", "-qq", "-o", log, "-e", what];
    let mut worker = command(&wrapper, "write", home, &[]);
    worker.stdin(Stdio::piped()).spawn().unwrap()
}

fn end(mut worker: Child, events: impl Iterator<Item = String>) {
    drop(worker.stdin.take());
    events.for_each(drop);
    worker.wait().unwrap();
}

const STRACE: &str = "/usr/bin/strace";
