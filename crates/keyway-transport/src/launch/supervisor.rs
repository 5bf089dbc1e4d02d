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
use super::isolation::Place;
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
        ControlGroup::make().filter(|group| group.enter().is_ok())
    };
    let place = match (is_private, &group) {
        (true, _) => Place::First,
        (false, Some(_)) => Place::Grouped,
        (false, None) => Place::Only,
    };
    let own = getpid();
    let started = match fork::fork() {
        Ok(Fork::Child) => {
            // What only a supervisor uses: the way to the host, and the lock that shows who lives.
            drop((end_of_host, group));
            return exec::run_below(own, place);
        }
        Ok(Fork::Parent(first)) => Pid::from_raw(first),
        Err(_) => None,
    };
    let has_left = group.as_ref().is_some_and(|group| group.leave().is_ok());
    let Some(first) = started else {
        if let Some(group) = group.filter(|_| has_left) {
            group.end();
        }
        return NOT_STARTED;
    };
    // Readers of the streams must see their end when the program closes them.
    drop(drop_streams());
    // Only now: the owner of `/proc/self` decides about the maps of a user namespace.
    drop(harden_self());
    let status = supervise(first, end_of_host.as_ref());
    if !is_private {
        // What is in the group ends even if it starts more than can be killed one by one.
        if let Some(group) = group.filter(|_| has_left) {
            group.end();
        }
        end_adopted();
    }
    exit_code(status)
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
        for child in own_children() {
            _ = kill_process(child, Signal::KILL);
        }
        if reaped(WaitOptions::empty()).is_none() {
            return;
        }
    }
}

/// Children of this process, which has a single thread.
fn own_children() -> Vec<Pid> {
    let own = getpid().as_raw_pid();
    let listed = fs::read_to_string(format!("/proc/self/task/{own}/children"));
    if let Ok(listed) = listed {
        let numbers = listed.split_whitespace();
        return numbers
            .filter_map(|number| Pid::from_raw(number.parse().ok()?))
            .collect();
    }
    // A kernel without that list: look at every process.
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| {
            let number: i32 = process.file_name().to_str()?.parse().ok()?;
            (parent_of(&process.path().join("status"))? == own).then_some(number)
        })
        .filter_map(Pid::from_raw)
        .collect()
}

/// How often what was adopted is looked after.
const REAP_INTERVAL: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};
const NO_TIME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
