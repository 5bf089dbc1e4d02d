//! A terminal for a program that asks on one, by way of `script`.

use std::io::{Read as _, Write as _};
use std::process::ChildStdin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::{Keyway, PATIENCE, Running};

/// A terminal of its own, and a person who types; what runs there ends with it. Every method panics
/// on failure: it is for tests.
#[derive(Debug)]
pub struct Terminal {
    running: Running,
    input: ChildStdin,
    screen: Arc<Screen>,
    reader: JoinHandle<()>,
    /// How much was shown when the last line was typed.
    read: usize,
}

/// What was shown so far, and that there is more of it.
#[derive(Debug, Default)]
struct Screen {
    shown: Mutex<Vec<u8>>,
    changed: Condvar,
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
        let screen = Arc::new(Screen::default());
        let written = Arc::clone(&screen);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                written.lock().extend(piece.iter().take(read));
                written.changed.notify_all();
            }
        });
        Self {
            running,
            input,
            screen,
            reader,
            read: 0,
        }
    }

    /// Waits until something is shown that was not there when the last line was typed.
    pub fn wait_for(&self, what: &str) {
        self.wait_for_any(&[what]);
    }

    /// Waits until one of several is shown, and returns which; the first of them wins.
    pub fn wait_for_any(&self, what: &[&str]) -> usize {
        let new = |shown: &[u8]| {
            let new = shown.get(self.read..).unwrap_or_default();
            String::from_utf8_lossy(new).into_owned()
        };
        let found = |shown: &[u8]| what.iter().position(|it| new(shown).contains(it));
        let is_missing = |shown: &mut Vec<u8>| found(shown).is_none();
        let Screen { changed, .. } = &*self.screen;
        let waited = changed.wait_timeout_while(self.screen.lock(), PATIENCE, is_missing);
        let (shown, _) = waited.unwrap_or_else(PoisonError::into_inner);
        found(&shown).unwrap_or_else(|| panic!("never shown: {what:?}: {}", new(&shown)))
    }

    /// Waits for a question, and types.
    pub fn answer(&mut self, question: &str, text: &str) {
        self.wait_for(question);
        self.read = self.screen.lock().len();
        self.input.write_all(text.as_bytes()).expect("a reader");
    }

    /// Waits for the end of what runs, and returns everything that was shown.
    #[must_use]
    pub fn end(mut self) -> String {
        self.reader.join().expect("the reader");
        drop(self.running.child.wait());
        String::from_utf8_lossy(&self.screen.lock()).into_owned()
    }
}

impl Screen {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
