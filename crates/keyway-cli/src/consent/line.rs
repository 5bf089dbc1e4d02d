//! Reading one line that is not shown: what comes back from a consent page holds a code.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::Mutex;
use std::sync::PoisonError;

use keyway_secret::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// How the terminal was before typing was hidden.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Reads a line; `None` at the end of the input.
pub(super) async fn read() -> Option<Secret<String>> {
    hide_typing();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // A thread of its own: nothing waits for one that sits in a read when the command ends.
    drop(std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let line = Secret::new(line);
        drop(sender.send(match read {
            Ok(1..) => Some(line),
            _ => None,
        }));
    }));
    let line = receiver.await.ok().flatten()?;
    Some(Secret::new(line.expose().trim().to_owned()))
}

/// Shows again what is typed.
pub(super) fn show_typing() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _lost = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

fn hide_typing() {
    if !io::stdin().is_terminal() {
        return;
    }
    let Ok(now) = tcgetattr(io::stdin()) else {
        return;
    };
    let mut hidden = now.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    if tcsetattr(io::stdin(), OptionalActions::Now, &hidden).is_ok() {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.get_or_insert(now);
    }
}
