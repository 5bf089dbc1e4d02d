//! A line on the terminal while something takes longer than half a second, and nothing elsewhere.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use keyway::host::ChildLines;
use keyway_secret::printable;
use tokio::task::JoinHandle;
use unicode_width::UnicodeWidthChar as _;

use crate::consent::{is_asking, say};
use crate::context::CommandContext;
use crate::report::Verbosity;
use crate::timeouts::{FRAME_INTERVAL, SPINNER_DELAY};

/// What a program wrote last, if one runs.
pub(crate) type LastLine = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The line; it is wiped when this is dropped. It gives way to a question.
#[derive(Debug)]
pub(crate) struct Waiting {
    task: Option<JoinHandle<()>>,
    /// Whether there is a line to wipe.
    /// Relaxed: the runtime has one thread, so no frame is drawn while it is read.
    is_drawn: Arc<AtomicBool>,
}

impl Waiting {
    /// Begins to wait for `what`, such as "connecting to `docs`". Needs a runtime.
    pub(crate) fn start(context: &CommandContext, what: String, last: Option<LastLine>) -> Self {
        Self::until(Arc::default(), context, what, last)
    }

    /// The same, until `news` becomes true: then another line is drawn in its place.
    pub(crate) fn until(
        news: Arc<AtomicBool>,
        context: &CommandContext,
        what: String,
        last: Option<LastLine>,
    ) -> Self {
        let is_drawn = Arc::new(AtomicBool::new(false));
        if !io::stderr().is_terminal() || context.verbosity == Verbosity::Quiet {
            return Self {
                task: None,
                is_drawn,
            };
        }
        let (drawn, begun) = (Arc::clone(&is_drawn), Instant::now());
        let task = tokio::spawn(async move {
            tokio::time::sleep(SPINNER_DELAY).await;
            for frame in FRAMES.iter().cycle() {
                if news.load(Ordering::Relaxed) {
                    return;
                }
                // The question has a line of its own.
                if !is_asking() {
                    drawn.store(true, Ordering::Relaxed);
                    let seconds = begun.elapsed().as_secs();
                    let last = last.as_ref().and_then(|last| last());
                    say(&format!("\r{}\u{1b}[K", line(frame, &what, seconds, last)));
                }
                tokio::time::sleep(FRAME_INTERVAL).await;
            }
        });
        Self {
            task: Some(task),
            is_drawn,
        }
    }
}

/// Shows the line for `what` while `work` takes long, and what `program` writes.
///
/// Cancel safety: dropping the future drops `work` and wipes the line.
pub(crate) async fn waiting_for<T>(
    context: &CommandContext,
    what: String,
    program: Option<ChildLines>,
    work: impl Future<Output = T>,
) -> T {
    let last = program.map(|lines| -> LastLine { Arc::new(move || lines.last()) });
    let _waiting = Waiting::start(context, what, last);
    work.await
}

/// Says that a server is signed in to, while that takes long.
pub(crate) fn signing_in(server: &str) -> String {
    format!("signing in to `{}`", printable(server))
}

/// Says that a server is asked, while that takes long.
pub(crate) fn asking(server: &str) -> String {
    format!("waiting for `{}`", printable(server))
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        if self.is_drawn.load(Ordering::Relaxed) && !is_asking() {
            say("\r\u{1b}[K");
        }
    }
}

/// Writes one line that fits into the terminal.
fn line(frame: &str, what: &str, seconds: u64, last: Option<String>) -> String {
    let width = terminal_size::terminal_size_of(io::stderr());
    let width = width.map_or(80, |(width, _)| usize::from(width.0));
    let mut text = format!("{frame} {what}, {seconds} s");
    if let Some(last) = last {
        text.push_str(&format!(": {}", printable(last.trim())));
    }
    let mut used = 0_usize;
    text.chars()
        .take_while(|c| {
            used = used.saturating_add(c.width().unwrap_or_default());
            used < width
        })
        .collect()
}

const FRAMES: [&str; 4] = ["⠋", "⠙", "⠸", "⠴"];
