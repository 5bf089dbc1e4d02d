//! The messages of one server, for a person who wants to see them: off until asked for, masked, bounded,
//! in memory only.
//!
//! ```text
//! off ── record ──▶ on ── another server, stop, or an hour ──▶ off, and everything is forgotten
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use keyway_transport::Frame;

use crate::backend::ServerId;
use crate::cut::cut;
use crate::timeouts::MESSAGE_LOG_TIMEOUT;

/// Masks what is confidential in a text.
pub(crate) type Mask = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The messages of at most one server.
#[derive(Debug, Default)]
pub(crate) struct MessageLog {
    /// Whether there may be a server. `Relaxed`: it only spares requests a lock, which orders the rest.
    is_on: AtomicBool,
    /// Held for one look or one change, never while a text is masked.
    recording: Mutex<Option<Recording>>,
}

struct Recording {
    server: ServerId,
    mask: Mask,
    ends: Instant,
    /// Oldest first.
    exchanges: VecDeque<Arc<Exchange>>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// A request and its answer, masked and cut.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) at: SystemTime,
    pub(crate) by: String,
    pub(crate) method: String,
    pub(crate) request: String,
    pub(crate) answer: Option<String>,
}

impl MessageLog {
    /// Records the messages of `server` from now on, and forgets those of any other.
    pub(crate) fn record(&self, server: ServerId, mask: Mask, now: Instant) {
        *self.lock() = Some(Recording {
            server,
            mask,
            ends: now + MESSAGE_LOG_TIMEOUT,
            exchanges: VecDeque::new(),
        });
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Stops, and forgets what was recorded.
    pub(crate) fn stop(&self) {
        *self.lock() = None;
        self.is_on.store(false, Ordering::Relaxed);
    }

    /// Says whether messages may be wanted: cheap, for every request.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Returns what was recorded of a server, latest first; `None` if it is not recorded.
    pub(crate) fn of(&self, server: &ServerId, now: Instant) -> Option<Vec<Arc<Exchange>>> {
        let mut recording = self.lock();
        let ended = recording.take_if(|it| it.ends <= now).is_some();
        if ended {
            self.is_on.store(false, Ordering::Relaxed);
        }
        let found = recording.as_ref().filter(|it| it.server == *server)?;
        Some(found.exchanges.iter().rev().cloned().collect())
    }

    /// Keeps a request and its answer, if messages of that server are wanted.
    pub(crate) fn keep(
        &self,
        server: &ServerId,
        (at, by, method): (SystemTime, &str, &str),
        (request, answer): (&Frame, Option<&Frame>),
    ) {
        let mask = {
            let mut recording = self.lock();
            if recording.take_if(|it| it.ends <= Instant::now()).is_some() {
                self.is_on.store(false, Ordering::Relaxed);
            }
            let wanted = recording.as_ref().filter(|it| it.server == *server);
            match wanted {
                Some(recording) => Arc::clone(&recording.mask),
                None => return,
            }
        };
        let exchange = Arc::new(Exchange {
            at,
            by: by.to_owned(),
            method: method.to_owned(),
            request: shown(request, &mask),
            answer: answer.map(|frame| shown(frame, &mask)),
        });
        let mut recording = self.lock();
        // It may have ended, or be another server's, while the texts were masked.
        if let Some(recording) = recording.as_mut().filter(|it| it.server == *server) {
            if recording.exchanges.len() >= KEPT {
                recording.exchanges.pop_front();
            }
            recording.exchanges.push_back(exchange);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recording>> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Masks a message and cuts it. It is masked as a whole, because a credential that is cut in two would
/// not be found.
fn shown(frame: &Frame, mask: &Mask) -> String {
    let bytes = frame.bytes();
    if bytes.len() > LONGEST {
        return format!("({} bytes are not kept)", bytes.len());
    }
    cut(&mask(&String::from_utf8_lossy(bytes)), SHOWN)
}

/// How many requests are kept.
const KEPT: usize = 50;
/// How much of a message is kept, in bytes.
const SHOWN: usize = 4 * 1024;
/// The longest message of which anything is kept, in bytes.
const LONGEST: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        Frame::new(text.to_owned()).unwrap()
    }

    fn masked() -> Mask {
        Arc::new(|text| text.replace("CANARY", "****"))
    }

    fn keep(log: &MessageLog, server: &ServerId, request: &str, answer: Option<&str>) {
        let answer = answer.map(frame);
        let about = (SystemTime::UNIX_EPOCH, "client", "tools/call");
        log.keep(server, about, (&frame(request), answer.as_ref()));
    }

    #[test]
    fn nothing_is_kept_before_it_is_asked_for_and_nothing_stays_afterwards() {
        let (log, now) = (MessageLog::default(), Instant::now());
        let (one, two) = (ServerId::new("p", "one"), ServerId::new("p", "two"));
        keep(&log, &one, "{}", None);
        assert!(!log.is_on() && log.of(&one, now).is_none());
        log.record(one.clone(), masked(), now);
        keep(&log, &one, "{\"a\":1}", Some("{\"b\":2}"));
        keep(&log, &two, "{\"a\":2}", None);
        let kept = log.of(&one, now).unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].request, "{\"a\":1}");
        assert_eq!(kept[0].answer.as_deref(), Some("{\"b\":2}"));
        assert!(log.of(&two, now).is_none());
        log.record(two.clone(), masked(), now);
        assert!(log.of(&one, now).is_none());
        assert!(log.of(&two, now).unwrap().is_empty());
        log.stop();
        assert!(!log.is_on() && log.of(&two, now).is_none());
    }

    #[test]
    fn recording_ends_after_an_hour() {
        let (log, now) = (MessageLog::default(), Instant::now());
        let server = ServerId::new("p", "s");
        log.record(server.clone(), masked(), now);
        assert!(log.of(&server, now + MESSAGE_LOG_TIMEOUT / 2).is_some());
        assert!(log.of(&server, now + MESSAGE_LOG_TIMEOUT).is_none());
        assert!(!log.is_on());
    }

    #[test]
    fn messages_are_masked_as_a_whole_then_cut_and_the_oldest_go() {
        let (log, now) = (MessageLog::default(), Instant::now());
        let server = ServerId::new("p", "s");
        log.record(server.clone(), masked(), now);
        // The credential lies across the place where the text is cut.
        let long = format!("{{\"a\":\"{}CANARYé\"}}", "x".repeat(SHOWN - 9));
        keep(&log, &server, &long, Some("{\"a\":\"CANARY\"}"));
        let kept = log.of(&server, now).unwrap();
        assert!(!format!("{kept:?}").contains("CAN"), "{kept:?}");
        assert!(
            kept[0].request.len() < SHOWN + 32,
            "{}",
            kept[0].request.len()
        );
        let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(LONGEST));
        keep(&log, &server, &huge, None);
        assert!(
            log.of(&server, now).unwrap()[0]
                .request
                .contains("not kept")
        );
        for at in 0..KEPT {
            keep(&log, &server, &format!("{{\"a\":{at}}}"), None);
        }
        let kept = log.of(&server, now).unwrap();
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept[0].request, format!("{{\"a\":{}}}", KEPT - 1));
    }
}
