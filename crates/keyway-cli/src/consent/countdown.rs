//! A line that says how long a person has left, where it can be drawn.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::say;
use crate::timeouts::FRAME_INTERVAL;

/// A line on the terminal that goes away when this is dropped.
#[derive(Debug)]
pub(super) struct Countdown(JoinHandle<()>);

impl Countdown {
    /// Starts to draw; `None` if standard error is not a terminal.
    pub(super) fn start(patience: Duration) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let end = Instant::now() + patience;
        Some(Self(tokio::spawn(async move {
            for frame in FRAMES.iter().cycle() {
                let left = end.saturating_duration_since(Instant::now()).as_secs();
                say(&format!(
                    "\r{frame} waiting for you, {}:{:02} left \u{1b}[K",
                    left / 60,
                    left % 60
                ));
                tokio::time::sleep(FRAME_INTERVAL).await;
            }
        })))
    }
}

impl Drop for Countdown {
    fn drop(&mut self) {
        self.0.abort();
        say("\r\u{1b}[K");
    }
}

const FRAMES: [&str; 4] = ["⠋", "⠙", "⠸", "⠴"];
