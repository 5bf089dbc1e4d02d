//! The end of what a child wrote to standard error.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps the last lines, up to [`KEPT_BYTES`].
/// The lock is held for one line or one report.
#[derive(Debug, Default)]
pub(super) struct Tail(Mutex<TailLines>);

#[derive(Debug, Default)]
struct TailLines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    /// Adds a line, dropping the oldest ones that no longer fit.
    pub(super) fn push(&self, line: String) {
        let mut kept = self.lock();
        kept.bytes += line.len();
        kept.lines.push_back(line);
        while kept.bytes > KEPT_BYTES || kept.lines.len() > KEPT_LINES {
            let Some(oldest) = kept.lines.pop_front() else {
                break;
            };
            kept.bytes -= oldest.len();
        }
    }

    /// Returns the lines for a report on why the child ended.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let kept = self.lock();
        let skipped = kept.lines.len().saturating_sub(REPORTED_LINES);
        kept.lines.iter().skip(skipped).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, TailLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const KEPT_BYTES: usize = 64 * 1024;
/// Against a flood of empty lines.
const KEPT_LINES: usize = 2048;
const REPORTED_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Threat D14.
    #[test]
    fn d14_standard_error_does_not_grow_without_limit() {
        let tail = Tail::default();
        for number in 0..100_000 {
            tail.push(format!("{number} {}", "x".repeat(100)));
        }
        let lines = tail.last_lines();
        assert_eq!(lines.len(), REPORTED_LINES);
        assert!(lines.last().unwrap().starts_with("99999 "));
        assert!(tail.lock().bytes <= KEPT_BYTES);
        for _ in 0..10_000 {
            tail.push(String::new());
        }
        assert_eq!(tail.lock().lines.len(), KEPT_LINES);
    }
}
