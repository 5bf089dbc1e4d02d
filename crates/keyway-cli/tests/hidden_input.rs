//! What is typed is hidden on a real terminal, and shown again whatever happens.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Terminal};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

#[test]
fn a_signal_while_an_address_is_pasted_gives_the_echo_back() {
    for signal in [Signal::TERM, Signal::INT] {
        let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
        // The shell stays, so that the terminal does.
        let login = "echo $$ > home/pid; exec \"$KEYWAY\" login s --no-browser";
        let words = format!("sh -c '{login}'; echo ended; cat");
        let terminal = Terminal::start(&desk.without_browser(&[]), &words);
        terminal.wait_for("press Enter");
        let pid: i32 = desk.folder.read("home/pid").trim().parse().unwrap();
        let device = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(format!("/proc/{pid}/fd/0"))
            .unwrap();
        let started = Instant::now();
        while is_shown(&device) {
            assert!(started.elapsed() < Duration::from_secs(10), "still shown");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        terminal.wait_for("ended");
        assert!(is_shown(&device), "after {signal:?}");
    }
}

fn is_shown(terminal: &File) -> bool {
    let modes = tcgetattr(terminal).unwrap().local_modes;
    modes.contains(LocalModes::ECHO)
}
