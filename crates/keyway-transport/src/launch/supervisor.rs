//! The supervisor: the process between the host and a child. It outlives neither.
//!
//! ```text
//! host ── supervisor ── first process ── program ── whatever it starts
//!         own session   own session      (same session as the first process)
//! ```
//!
//! The first process is forked and not executed: that spares every start a second look for libraries
//! and a second relocation of our binary. Both have a single thread and know nothing yet but the words
//! of the command line; the spec is read by the first process alone.
//!
//! With a PID namespace the first process is its process 1: when it ends, the kernel ends all the
//! others. Without one the first process becomes the program itself, in a control group of its own
//! where one can be made, and the supervisor adopts what the program leaves behind, and ends that.
//!
//! Either end is noticed: if the program ends, the supervisor ends with its status; if the host
//! ends in whatever way, the program is asked to end, and soon made to. If the supervisor itself is
//! killed, the first process is killed by the kernel.

use std::fs;
use std::os::fd::OwnedFd;

use fork::Fork;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, set_parent_process_death_signal, setsid,
    wait,
};

use super::control_group::ControlGroup;
use super::exec;
use super::isolation::{self, ApplyError, Place};
use super::namespaces::Namespaces;
use super::own_process::{NOT_STARTED, drop_streams, exit_code, parent_of};
use super::report::Report;
use super::stage::LaunchStage;
use crate::harden::harden_self;
use crate::timeouts::TERMINATE_STEP_TIMEOUT;

/// Starts the first process and stays until it has ended; returns its exit status.
///
/// `words` are what [`super::process`] wrote: the host's process id and the namespaces.
pub(super) fn run(words: &[String]) -> u8 {
    let [host, namespaces] = words else {
        return NOT_STARTED;
    };
    let host = host.parse().ok().and_then(Pid::from_raw);
    let (Some(host), Some(wanted)) = (host, Namespaces::from_word(namespaces)) else {
        return NOT_STARTED;
    };
    if has_threads() {
        Report::send_failure(LaunchStage::Threads, &rustix::io::Errno::BUSY.into());
        return NOT_STARTED;
    }
    // Without a terminal of its own a child cannot type into the person's.
    _ = setsid();
    let end_of_host = pidfd_open(host, PidfdFlags::empty()).ok();
    if getppid() != Some(host) {
        // It ended before it could be watched.
        return NOT_STARTED;
    }
    if end_of_host.is_none() {
        // A kernel before 5.3: the kernel kills instead of asking.
        _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
    let is_private = match wanted.enter() {
        Ok(is_private) => is_private,
        Err(error) => {
            Report::send_failure(LaunchStage::Namespaces, &error);
            return NOT_STARTED;
        }
    };
    let group = if is_private {
        None
    } else {
        _ = set_child_subreaper(Some(getpid()));
        ControlGroup::make()
    };
    let own = getpid();
    let started = match fork::fork() {
        Ok(Fork::Child) => {
            // What only a supervisor uses.
            drop(end_of_host);
            return exec::run(|| {
                exec::die_with(own).map_err(ApplyError::at(LaunchStage::Spec))?;
                match group {
                    Some(group) => Ok(Place::Grouped(group)),
                    None if is_private => isolation::prepare(wanted == Namespaces::Private),
                    None => Ok(Place::Only),
                }
            });
        }
        Ok(Fork::Parent(first)) => Pid::from_raw(first),
        Err(_) => None,
    };
    let Some(first) = started else {
        group.into_iter().for_each(ControlGroup::end);
        return NOT_STARTED;
    };
    // Readers of the streams must see their end when the program closes them.
    drop(drop_streams());
    // Only now: the owner of `/proc/self` decides about the maps of a user namespace.
    drop(harden_self());
    group.iter().for_each(take_in_all);
    let status = supervise(first, end_of_host.as_ref());
    if !is_private {
        // What is in the group ends even if it starts more than can be killed one by one.
        group.into_iter().for_each(ControlGroup::end);
        end_adopted();
    }
    exit_code(status)
}

/// Moves into the group what has been started by now; what any of them starts later is there already.
///
/// A program that is kept from anything has entered it before. Any other does not wait for it: the
/// kernel takes longer than all else at a start does.
fn take_in_all(group: &ControlGroup) {
    for _ in 0..MOST_LOOKS {
        // In this order: what starts in between is seen in the group or by the next look.
        let all = descendants(getpid());
        let inside = group.members();
        let mut outside = all.iter().filter(|it| !inside.contains(it)).peekable();
        if outside.peek().is_none() {
            return;
        }
        for process in outside {
            // One that has ended meanwhile cannot be moved.
            drop(group.take_in(&process.as_raw_pid().to_string()));
        }
    }
}

/// A process with threads cannot enter a user namespace, so it would be isolated less than asked, and
/// what it forks could wait for the lock of a thread that is not there.
fn has_threads() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

/// Waits for the first process to end, and ends it after the host has ended.
fn supervise(first: Pid, end_of_host: Option<&OwnedFd>) -> Option<WaitStatus> {
    let end_of_first = pidfd_open(first, PidfdFlags::empty()).ok();
    if let (Some(end_of_first), Some(end_of_host)) = (&end_of_first, end_of_host) {
        while !is_ended(end_of_first, Some(end_of_host), Some(REAP_INTERVAL)) {
            if is_ended(end_of_host, None, Some(NO_TIME)) {
                _ = kill_process_group(first, Signal::TERM);
                let grace = Timespec::try_from(TERMINATE_STEP_TIMEOUT).ok();
                if !is_ended(end_of_first, None, grace.as_ref().copied()) {
                    _ = kill_process_group(first, Signal::KILL);
                }
                break;
            }
            // What the program left behind ends at some time; its number must be free again.
            while let Some(Some((pid, status))) = reaped(WaitOptions::NOHANG) {
                if pid == first {
                    return Some(status);
                }
            }
        }
    }
    while let Some(outcome) = reaped(WaitOptions::empty()) {
        if let Some((pid, status)) = outcome
            && pid == first
        {
            return Some(status);
        }
    }
    None
}

/// Returns a child that has ended; `None` if there are no children any more.
fn reaped(options: WaitOptions) -> Option<Option<(Pid, WaitStatus)>> {
    loop {
        match wait(options) {
            Ok(outcome) => return Some(outcome),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Waits until `process` or `other` has ended or the time is up; says whether `process` has.
fn is_ended(process: &OwnedFd, other: Option<&OwnedFd>, time: Option<Timespec>) -> bool {
    let mut ends = vec![PollFd::new(process, PollFlags::IN)];
    ends.extend(other.map(|other| PollFd::new(other, PollFlags::IN)));
    _ = poll(&mut ends, time.as_ref());
    ends.first().is_some_and(|end| !end.revents().is_empty())
}

/// Kills everything that was adopted, and what that leaves behind, until nothing is left.
fn end_adopted() {
    loop {
        for child in children(getpid()) {
            _ = kill_process(child, Signal::KILL);
        }
        if reaped(WaitOptions::empty()).is_none() {
            return;
        }
    }
}

/// The children of a process, their children, and so on.
fn descendants(of: Pid) -> Vec<Pid> {
    let mut all = children(of);
    let mut next = 0;
    while let Some(process) = all.get(next).copied() {
        all.extend(children(process));
        next += 1;
    }
    all
}

fn children(of: Pid) -> Vec<Pid> {
    let number = of.as_raw_pid();
    let threads = fs::read_dir(format!("/proc/{number}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists: Vec<_> = threads
        .map(|thread| fs::read_to_string(thread.path().join("children")))
        .collect();
    if lists.iter().any(Result::is_ok) {
        let numbers = lists.iter().flatten().flat_map(|it| it.split_whitespace());
        return numbers
            .filter_map(|number| Pid::from_raw(number.parse().ok()?))
            .collect();
    }
    // A kernel without that list: look at every process.
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| {
            let child: i32 = process.file_name().to_str()?.parse().ok()?;
            (parent_of(&process.path().join("status"))? == number).then_some(child)
        })
        .filter_map(Pid::from_raw)
        .collect()
}

/// How often what was adopted is looked after.
const REAP_INTERVAL: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};
/// How often it is looked for processes that are not in the group yet: each look moves all but those that
/// were started since the one before.
const MOST_LOOKS: usize = 64;
const NO_TIME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
