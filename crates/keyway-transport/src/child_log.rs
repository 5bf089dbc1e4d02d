//! What children print beside the protocol, redacted.

use std::sync::Arc;

#[cfg(feature = "stdio")]
use keyway_auth::{ConfinementNote, Redactor};
#[cfg(feature = "stdio")]
use keyway_secret::Secret;

/// Takes one line that a child printed beside the protocol, redacted and at most 8 KiB long.
pub type Log = Arc<dyn Fn(ChildStream, &str) + Send + Sync>;

/// Compares the files that a program runs with those that the person approved; names one that
/// differs.
pub type Verify = Arc<dyn Fn(VerifyMoment) -> Result<(), String> + Send + Sync>;

/// When the files of a program are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyMoment {
    /// Right before it starts.
    BeforeStart,
    /// Right after: by now it may have written files of its own.
    AfterStart,
}

/// Which stream of a child a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildStream {
    /// Standard output: a line that is not a JSON-RPC message.
    Output,
    /// Standard error.
    Error,
}

/// Redacts what one child prints, and hands it on.
#[cfg(feature = "stdio")]
#[derive(Clone)]
pub(crate) struct ChildLog {
    redactor: Redactor,
    sink: Option<Log>,
}

#[cfg(feature = "stdio")]
impl ChildLog {
    pub(crate) fn new(secrets: &[Secret<String>], sink: Option<Log>) -> Self {
        Self {
            redactor: Redactor::new(secrets),
            sink,
        }
    }

    /// Logs one line and returns it as it was logged.
    pub(crate) fn line(&self, stream: ChildStream, line: &[u8]) -> String {
        let text = self.shown(line);
        if let Some(sink) = self.sink.as_ref().filter(|_| !text.is_empty()) {
            sink(stream, &text);
        }
        text
    }

    /// Logs that a program which failed ran confined.
    pub(crate) fn confinement(&self, note: &ConfinementNote) {
        let ConfinementNote { what, hint, .. } = note;
        self.line(ChildStream::Error, format!("keyway: {what}").as_bytes());
        self.line(
            ChildStream::Error,
            format!("keyway: hint: {hint}").as_bytes(),
        );
    }

    fn shown(&self, line: &[u8]) -> String {
        if line.len() > MAX_READ_BYTES {
            return format!("[a line of {} bytes]", line.len());
        }
        // Redacted before it is cut: half of a secret would not be recognised.
        let mut text = self.redactor.line(line);
        if text.len() > MAX_LINE_BYTES {
            text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
            text.push_str(" [cut]");
        }
        text
    }
}

#[cfg(feature = "stdio")]
const MAX_LINE_BYTES: usize = 8 * 1024;
/// Longer lines are not even redacted: that would take longer than reading them is worth.
#[cfg(feature = "stdio")]
const MAX_READ_BYTES: usize = 1024 * 1024;

#[cfg(all(test, feature = "stdio"))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn logged_lines_are_redacted_and_bounded() {
        let lines: Arc<Mutex<Vec<(ChildStream, String)>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let sink: Log = Arc::new(move |stream, line| {
            kept.lock().unwrap().push((stream, line.to_owned()));
        });
        let secrets = [Secret::new("hunter2222".to_owned())];
        let log = ChildLog::new(&secrets, Some(sink));
        log.line(ChildStream::Error, b"key hunter2222");
        log.line(ChildStream::Output, b"");
        // The secret lies across the place where the line is cut.
        let long = format!("{}hunter2222 tail", "- ".repeat(MAX_LINE_BYTES / 2 - 2));
        log.line(ChildStream::Output, long.as_bytes());
        log.line(ChildStream::Output, &vec![b'x'; MAX_READ_BYTES + 1]);
        let lines = lines.lock().unwrap();
        assert_eq!(lines[0], (ChildStream::Error, "key [redacted]".to_owned()));
        assert!(lines[1].1.ends_with(" [cut]") && lines[1].1.len() < MAX_LINE_BYTES + 10);
        assert!(!lines[1].1.contains("hun"));
        assert_eq!(lines[2].1, "[a line of 1048577 bytes]");
    }
}
