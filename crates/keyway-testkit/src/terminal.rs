//! A terminal for a program that asks on one, by way of `script`.

use std::io::{Read as _, Write as _};
use std::process::ChildStdin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Keyway, PATIENCE, Running};

/// A terminal of its own, and a person who types; what runs there ends with it. Every method panics
/// on failure: it is for tests.
#[derive(Debug)]
pub struct Terminal {
    running: Running,
    input: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    /// How much was shown when the last line was typed.
    read: usize,
}

#[expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its terminal must stop"
)]
impl Terminal {
    /// Runs a shell's words on a terminal, with the folder and the variables of `call`; `KEYWAY` is
    /// its program.
    #[must_use]
    pub fn start(call: &Keyway, words: &str) -> Self {
        let script = call.of_another("/usr/bin/script", "KEYWAY");
        let script = script.env("SHELL", "/bin/sh").env("TERM", "dumb");
        let words = ["--quiet", "--flush", "--return", "--command", words];
        let mut running = script.args(words).args(["/dev/null"]).start();
        let input = running.child.stdin.take().expect("a pipe");
        let mut output = running.child.stdout.take().expect("a pipe");
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let screen = Arc::clone(&shown);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                lock(&screen).extend(piece.iter().take(read));
            }
        });
        Self {
            running,
            input,
            shown,
            reader,
            read: 0,
        }
    }

    /// Waits until something is shown that was not there when the last line was typed.
    pub fn wait_for(&self, what: &str) {
        let started = Instant::now();
        loop {
            let new: Vec<u8> = lock(&self.shown).iter().skip(self.read).copied().collect();
            let new = String::from_utf8_lossy(&new);
            if new.contains(what) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "never shown: {what}: {new}");
            // Between two looks at what another process shows.
            thread::sleep(POLL);
        }
    }

    /// Waits for a question, and types.
    pub fn answer(&mut self, question: &str, text: &str) {
        self.wait_for(question);
        self.read = lock(&self.shown).len();
        self.input.write_all(text.as_bytes()).expect("a reader");
    }

    /// Waits for the end of what runs, and returns everything that was shown.
    #[must_use]
    pub fn end(mut self) -> String {
        self.reader.join().expect("the reader");
        drop(self.running.child.wait());
        String::from_utf8_lossy(&lock(&self.shown)).into_owned()
    }
}

fn lock(shown: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

const POLL: Duration = Duration::from_millis(10);
