//! What the programs of a server wrote to standard error, for the case that they fail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyway::connect::{ChildStream, Host};

/// The last lines, already redacted where they come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    /// Returns the host as it was, except that what programs say is kept here as well.
    pub(crate) fn listen(&self, host: &Host) -> Host {
        let (kept, before) = (Arc::clone(&self.0), host.log.clone());
        Host {
            log: Some(Arc::new(move |stream, line| {
                if stream == ChildStream::Error {
                    let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.push_back(line.chars().take(WIDEST).collect());
                    if lines.len() > KEPT {
                        lines.pop_front();
                    }
                }
                if let Some(log) = &before {
                    log(stream, line);
                }
            })),
            ..host.clone()
        }
    }

    /// Returns the lines; those that were written just before the end are still on their way.
    pub(crate) async fn lines(&self) -> Vec<String> {
        tokio::time::sleep(ON_THEIR_WAY).await;
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

const KEPT: usize = 20;
const WIDEST: usize = 1000;
const ON_THEIR_WAY: Duration = Duration::from_millis(100);
