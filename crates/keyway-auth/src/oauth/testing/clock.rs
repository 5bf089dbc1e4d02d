//! Time that is moved by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use crate::BoxFuture;
use crate::ports::Clock;

/// Stands still unless moved.
#[derive(Debug)]
pub(crate) struct Hand {
    start: Instant,
    state: Mutex<State>,
    passes: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    passed: Duration,
    sleepers: Vec<Waker>,
}

impl Default for Hand {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            state: Mutex::default(),
            passes: AtomicU64::new(0),
        }
    }
}

impl Hand {
    /// Moves time on, and wakes who slept.
    pub(crate) fn advance(&self, by: Duration) {
        let sleepers = {
            let mut state = self.state.lock().unwrap();
            state.passed += by;
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// From now on so many milliseconds pass per tick while something runs.
    pub(crate) fn let_pass(&self, step: u64) {
        self.passes.store(step, Ordering::Relaxed);
    }

    /// One tick, if time passes.
    pub(super) fn pass(&self) {
        let step = self.passes.load(Ordering::Relaxed);
        self.advance(Duration::from_millis(step));
    }

    pub(crate) fn passed(&self) -> Duration {
        self.state.lock().unwrap().passed
    }

    /// Sleeps until the hand has moved far enough.
    pub(crate) fn sleep(self: &Arc<Self>, time: Duration) -> BoxFuture<'static, ()> {
        let (hand, until) = (Arc::clone(self), self.passed() + time);
        Box::pin(std::future::poll_fn(move |context| {
            let mut state = hand.state.lock().unwrap();
            if state.passed >= until {
                return Poll::Ready(());
            }
            state.sleepers.push(context.waker().clone());
            Poll::Pending
        }))
    }
}

impl Clock for Hand {
    fn monotonic(&self) -> Instant {
        self.start + self.passed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.passed()
    }
}
