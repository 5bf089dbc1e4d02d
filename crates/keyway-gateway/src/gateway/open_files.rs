//! The table of open files, large enough for many clients before the first comes.

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes room for the connections of a thousand clients; each has one or two, and so has each
/// server. To be called while the process has one thread.
///
/// Linux lets a process of several threads wait at each doubling of the table until all processors
/// have seen it (10 to 30 ms on a busy machine), and then everyone who opens a session waits.
pub fn expect_many_connections() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum.map(|most| most.min(MOST_FILES)),
        ..limit
    };
    // With fewer, fewer clients fit; with a small table, some wait.
    let _as_before = setrlimit(Resource::Nofile, raised);
    let _small = fcntl_dupfd_cloexec(std::io::stderr(), LAST_FORESEEN_FILE);
}

const MOST_FILES: u64 = 65_536;
/// A thousand clients, each with two connections to the gateway and two from there; 32 KiB.
const LAST_FORESEEN_FILE: i32 = 4095;
