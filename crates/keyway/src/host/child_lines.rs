//! What the programs of a server wrote to standard error, for the case that they fail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use keyway_transport::ChildStream;

use super::Host;
use crate::timeouts::LAST_LINES_TIMEOUT;

/// The last lines, already redacted where they come from.
///
/// The lock is released before the log that was there before is called.
#[derive(Debug, Clone, Default)]
pub struct ChildLines(Arc<Mutex<VecDeque<String>>>);

impl ChildLines {
    /// Returns the host as it was, except that what programs say is kept here as well.
    #[must_use]
    pub fn listen(&self, host: &Host) -> Host {
        let (kept, before) = (Arc::clone(&self.0), host.log.clone());
        let mut host = host.clone();
        host.log = Some(Arc::new(move |stream, line| {
            if stream == ChildStream::Error {
                let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(line.chars().take(LONGEST_LINE).collect());
                if lines.len() > LINES {
                    lines.pop_front();
                }
            }
            if let Some(log) = &before {
                log(stream, line);
            }
        }));
        host
    }

    /// Returns the last line so far.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.back().cloned()
    }

    /// Returns the lines; those that were written just before the end are still on their way.
    ///
    /// Cancel safety: cancel safe; the lines are kept.
    pub async fn lines(&self) -> Vec<String> {
        tokio::time::sleep(LAST_LINES_TIMEOUT).await;
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

const LINES: usize = 20;
const LONGEST_LINE: usize = 1000;
