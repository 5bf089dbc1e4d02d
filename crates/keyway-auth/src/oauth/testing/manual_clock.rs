//! Time that is moved by hand.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use keyway_secret::{BootTime, Clock};

use crate::BoxFuture;

/// Stands still unless moved.
#[derive(Debug)]
pub(crate) struct ManualClock {
    start: Instant,
    state: Mutex<State>,
    passes: AtomicU64,
    waits_for: AtomicUsize,
    /// By how many seconds the time of day was set back.
    set_back: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    passed: Duration,
    sleepers: Vec<Waker>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            state: Mutex::default(),
            passes: AtomicU64::new(0),
            waits_for: AtomicUsize::new(0),
            set_back: AtomicU64::new(0),
        }
    }
}

impl ManualClock {
    /// Moves time on, and wakes sleeping tasks.
    pub(crate) fn advance(&self, by: Duration) {
        let sleepers = {
            let mut state = self.state.lock().unwrap();
            state.passed += by;
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// Sets the time of day back; no other time moves.
    pub(crate) fn set_back(&self, by: Duration) {
        self.set_back.store(by.as_secs(), Ordering::Relaxed);
    }

    /// Says whether a task waits for time to pass.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.state.lock().unwrap().sleepers.is_empty()
    }

    /// From now on this many milliseconds pass per tick while something runs.
    pub(crate) fn let_pass(&self, step: u64) {
        self.passes.store(step, Ordering::Relaxed);
    }

    /// Keeps time from passing by itself: what waits for a disk takes no time here.
    pub(super) fn stand_still(self: &Arc<Self>) -> Stillness {
        self.waits_for.fetch_add(1, Ordering::SeqCst);
        Stillness(Arc::clone(self))
    }

    /// One tick, if time passes.
    pub(super) fn pass(&self) {
        if self.waits_for.load(Ordering::SeqCst) > 0 {
            return;
        }
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

/// Time stands still as long as there is one.
pub(super) struct Stillness(Arc<ManualClock>);

impl Drop for Stillness {
    fn drop(&mut self) {
        self.0.waits_for.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Instant {
        self.start + self.passed()
    }

    fn wall(&self) -> SystemTime {
        let back = Duration::from_secs(self.set_back.load(Ordering::Relaxed));
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.passed() - back
    }

    fn boot(&self) -> Option<BootTime> {
        Some(BootTime::new("a boot", self.passed().as_secs()))
    }
}
