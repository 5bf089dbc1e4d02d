//! Progress of a call as one line on the terminal, and nothing anywhere else.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_mcp::session::Progress;
use keyway_secret::printable;
use serde::Deserialize;
use unicode_width::UnicodeWidthChar as _;

use crate::context::CommandContext;
use crate::report::Verbosity;

/// The line; it is wiped when this is dropped.
#[derive(Debug)]
pub(super) struct Line {
    is_shown: bool,
    /// Whether the server has told its progress: then the spinner gives way.
    /// Relaxed: it guards no other data; a spinner that sees it late draws one frame too many.
    news: Arc<AtomicBool>,
}

impl Line {
    /// Prepares a line, which is shown if standard error is a terminal and the person wants it.
    pub(super) fn new(context: &CommandContext) -> Self {
        let is_shown = io::stderr().is_terminal() && context.verbosity != Verbosity::Quiet;
        Self {
            is_shown,
            news: Arc::default(),
        }
    }

    /// Returns what becomes true with the first progress.
    pub(super) fn news(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.news)
    }

    /// Returns what is told of progress; `None` if it is not shown.
    pub(super) fn teller(&self) -> Option<Progress> {
        if !self.is_shown {
            return None;
        }
        let news = Arc::clone(&self.news);
        Some(Arc::new(move |frame| {
            let notice = serde_json::from_slice::<Notice>(frame.bytes());
            if let Ok(notice) = notice {
                news.store(true, Ordering::Relaxed);
                let width = terminal_size::terminal_size_of(io::stderr());
                let width = width.map_or(80, |(width, _)| usize::from(width.0));
                let text = format!("\r{}\x1b[K", notice.params.render(width));
                drop(io::stderr().lock().write_all(text.as_bytes()));
            }
        }))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.is_shown {
            drop(io::stderr().lock().write_all(b"\r\x1b[K"));
        }
    }
}

#[derive(Deserialize)]
struct Notice {
    params: Report,
}

/// What a server says of its progress; all of it is shown, none of it believed.
#[derive(Debug, Deserialize)]
struct Report {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Report {
    /// Writes one line that fits into `width` columns.
    fn render(&self, width: usize) -> String {
        let total = self
            .total
            .filter(|total| *total > 0.0 && self.progress.is_finite());
        let mut line = match total {
            Some(total) => {
                let share = (self.progress / total).clamp(0.0, 1.0);
                let full =
                    (0..CELLS).filter(|cell| f64::from(*cell) + 0.5 <= share * f64::from(CELLS));
                let full = full.count();
                let empty = (CELLS as usize).saturating_sub(full);
                format!(
                    "[{}{}] {:3.0}%",
                    "#".repeat(full),
                    "-".repeat(empty),
                    share * 100.0
                )
            }
            None => format!("… {}", self.progress),
        };
        if let Some(message) = &self.message {
            line.push(' ');
            line.push_str(&printable(message));
        }
        let mut used = 0_usize;
        line.chars()
            .take_while(|c| {
                used = used.saturating_add(c.width().unwrap_or_default());
                used < width
            })
            .collect()
    }
}

/// How wide the bar is.
const CELLS: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn render(json: &str, width: usize) -> String {
        serde_json::from_str::<Report>(json).unwrap().render(width)
    }

    #[test]
    fn a_bar_is_as_full_as_the_server_says_and_never_fuller() {
        let bar = |json| render(json, 80);
        assert_eq!(
            bar(r#"{"progress": 0, "total": 4}"#),
            "[------------------------]   0%"
        );
        assert_eq!(
            bar(r#"{"progress": 1, "total": 4, "message": "one"}"#),
            "[######------------------]  25% one"
        );
        assert_eq!(
            bar(r#"{"progress": 9, "total": 4}"#),
            "[########################] 100%"
        );
        assert_eq!(
            bar(r#"{"progress": -9, "total": 4}"#),
            "[------------------------]   0%"
        );
        assert_eq!(bar(r#"{"progress": 3, "message": "x"}"#), "… 3 x");
        assert_eq!(bar(r#"{"progress": 3, "total": 0}"#), "… 3");
    }

    #[test]
    fn a_line_stays_one_line_whatever_the_server_says() {
        let line = render(r#"{"progress": 1, "message": "a\nb\u001b[2Jc"}"#, 80);
        assert!(!line.contains(['\n', '\u{1b}']), "{line:?}");
        let long = format!(
            r#"{{"progress": 1, "total": 2, "message": "{}"}}"#,
            "検".repeat(100)
        );
        let line = render(&long, 40);
        let width: usize = line.chars().filter_map(|c| c.width()).sum();
        assert!(width < 40, "{width}");
    }
}
