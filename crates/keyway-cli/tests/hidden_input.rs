//! What is typed is hidden on a real terminal, and shown again whatever happens.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Canary, Desk, Terminal};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

#[test]
fn a_signal_while_an_address_is_pasted_gives_the_echo_back() {
    is_given_back("login s --no-browser", "press Enter", &[]);
}

#[test]
fn a_signal_while_a_value_is_typed_gives_the_echo_back() {
    is_given_back("env set A_TOKEN", "Value of A_TOKEN: ", &[]);
}

#[test]
fn a_signal_while_a_passphrase_is_typed_gives_the_echo_back() {
    let chosen = [("KEYWAY_KEY_SOURCE", "passphrase")];
    let question = "New passphrase of the vault: ";
    is_given_back("login s --trust", question, &chosen);
}

/// Where nothing is asked any more, a signal has its own effect again.
#[test]
fn a_signal_after_a_question_ends_the_program() {
    for (signal, code) in [(Signal::HUP, 129), (Signal::QUIT, 131)] {
        let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
        let call = desk.keyway(&[]).env("KEYWAY_KEY_SOURCE", "passphrase");
        let mut terminal = Terminal::start(&call, &words("login s"));
        terminal.answer("New passphrase of the vault: ", "long enough\r");
        terminal.answer("Repeat it: ", "long enough\r");
        terminal.wait_for("agree there");
        let (pid, device) = asked(&desk);
        assert!(is_shown(&device));
        kill_process(pid, signal).unwrap();
        terminal.wait_for(&format!("ended with {code}"));
    }
}

#[test]
fn a_line_that_is_too_long_is_an_error_and_goes_nowhere() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    let words = "\"$KEYWAY\" env set A_TOKEN; echo ended with $?; cat; \"$KEYWAY\" env list";
    let mut terminal = Terminal::start(&desk.without_browser(&[]), words);
    let canary = Canary::hidden("zK7q2Lk9Wp4Zt8Rb3Nc6Ym1Hd5");
    let long = format!(
        "{}{}{}\r",
        canary.value(),
        "x".repeat(8 * 1024),
        canary.value()
    );
    terminal.answer("Value of A_TOKEN: ", &long);
    terminal.wait_for("longer than 8192 bytes; nothing was stored");
    terminal.answer("ended with 2", "\u{4}");
    let shown = terminal.end();
    assert!(shown.contains("no stored variables"), "{shown}");
    assert_eq!(canary.leak(&shown), None, "{shown}");
    assert!(!shown.contains("xxxx"), "{shown}");
}

/// Ends the program by each signal while it asks, and looks at the terminal afterwards.
fn is_given_back(arguments: &str, question: &str, variables: &[(&str, &str)]) {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
        let call = variables
            .iter()
            .fold(desk.without_browser(&[]), |call, (name, value)| {
                call.env(name, *value)
            });
        let terminal = Terminal::start(&call, &words(arguments));
        terminal.wait_for(question);
        let (pid, device) = asked(&desk);
        assert!(!is_shown(&device), "input is hidden from the start");
        kill_process(pid, signal).unwrap();
        terminal.wait_for("ended with");
        assert!(is_shown(&device), "`{arguments}` after {signal:?}");
    }
}

/// Runs the program in a shell that stays, so that the terminal does.
fn words(arguments: &str) -> String {
    let program = format!("echo $$ > home/pid; exec \"$KEYWAY\" {arguments}");
    format!("sh -c '{program}'; echo ended with $?; cat")
}

/// Returns the program that asks, and its terminal.
fn asked(desk: &Desk) -> (Pid, File) {
    let pid: i32 = desk.folder.read("home/pid").trim().parse().unwrap();
    let device = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NOCTTY.bits().cast_signed())
        .open(format!("/proc/{pid}/fd/0"))
        .unwrap();
    (Pid::from_raw(pid).unwrap(), device)
}

fn is_shown(terminal: &File) -> bool {
    let modes = tcgetattr(terminal).unwrap().local_modes;
    modes.contains(LocalModes::ECHO)
}
