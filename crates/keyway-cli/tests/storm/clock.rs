//! A time of day that a test sets for all processes of a person at once, as a person or a time
//! server sets that of a machine: also for the process that carries an exchange, which gets no
//! environment, and so no `LD_PRELOAD`.

use std::process::Command;

use keyway_testkit::{Desk, Keyway};
use rustix::process::Pid;

use crate::namespace::Namespace;

/// A person whose clock can be set.
#[derive(Debug)]
pub(crate) struct SetClock(Namespace);

impl SetClock {
    /// `None` where a person may not make namespaces.
    pub(crate) fn make(desk: &Desk) -> Option<Self> {
        let step = desk.folder.at("home/clock-step");
        std::fs::write(&step, "0").unwrap();
        let library = desk.folder.at(LIBRARY);
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(format!("-DSTEP_FILE=\"{}\"", step.to_str()?))
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/storm/clock_step.c"
            ))
            .status();
        assert!(built.is_ok_and(|status| status.success()), "a C compiler");
        let etc = desk.folder.at("home/etc");
        // What others may not read is not needed.
        let script = "cp -a /etc \"$0\" 2>/dev/null; echo \"$1\" > \"$0/ld.so.preload\" && \
                      mount --bind \"$0\" /etc";
        let words = [etc.to_str()?, library.to_str()?];
        Namespace::make(script, &words).map(Self)
    }

    /// Sets the clock so many seconds off.
    pub(crate) fn set(desk: &Desk, seconds: i64) {
        // At once: a process that reads half a number would have a clock of its own.
        let draft = desk.folder.at("home/clock-draft");
        std::fs::write(&draft, seconds.to_string()).unwrap();
        std::fs::rename(draft, desk.folder.at("home/clock-step")).unwrap();
    }

    pub(crate) fn program(&self, desk: &Desk, words: &[&str]) -> Keyway {
        self.0.program(desk, words)
    }

    /// Says whether the clock of a process is this one.
    pub(crate) fn is_of(process: Pid) -> bool {
        let maps = format!("/proc/{}/maps", process.as_raw_pid());
        std::fs::read_to_string(maps).is_ok_and(|maps| maps.contains(LIBRARY))
    }
}

/// Below the folder of the desk.
const LIBRARY: &str = "home/clock-step.so";
