//! The ports that any process on tokio has: tasks, threads; and a clock that several share.

use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "stdio")]
use std::time::{Instant, SystemTime};

use keyway_auth::BoxFuture;
pub use keyway_auth::ports::{Hold, Tasks};
#[cfg(feature = "stdio")]
use keyway_secret::{BootTime, Clock};

use crate::in_flight::InFlight;

/// A clock that several share.
#[cfg(feature = "stdio")]
#[derive(Debug, Clone)]
pub(crate) struct SharedClock(pub(crate) Arc<dyn Clock>);

#[cfg(feature = "stdio")]
impl Clock for SharedClock {
    fn monotonic(&self) -> Instant {
        self.0.monotonic()
    }

    fn wall(&self) -> SystemTime {
        self.0.wall()
    }

    fn boot(&self) -> Option<BootTime> {
        self.0.boot()
    }
}

/// Tasks of a process that counts what it must not end in the middle of.
#[derive(Debug, Clone)]
pub(crate) struct CountedTasks {
    pub(crate) tasks: Arc<dyn Tasks>,
    pub(crate) in_flight: InFlight,
}

impl Tasks for CountedTasks {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tasks.spawn(task);
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) {
        self.tasks.block(work);
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.tasks.sleep(time)
    }

    fn hold(&self) -> Hold {
        // Both: a host's own tasks may count as well.
        Arc::new((self.tasks.hold(), self.in_flight.storing()))
    }
}

/// The tasks and threads of the runtime that the caller is in.
#[derive(Debug, Clone, Copy)]
pub struct TokioTasks;

impl Tasks for TokioTasks {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        drop(tokio::spawn(task));
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) {
        drop(tokio::task::spawn_blocking(work));
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}
