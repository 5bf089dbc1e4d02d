//! The ports that any process on tokio has: tasks, threads; and a clock that several share.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
#[cfg(feature = "stdio")]
use std::time::{Instant, SystemTime};

use keyway_auth::BoxFuture;
pub use keyway_auth::ports::{Hold, Tasks};
#[cfg(feature = "stdio")]
use keyway_secret::{BootTime, Clock};

use tokio::runtime::Builder;

use crate::in_flight::InFlight;
use crate::timeouts::THREAD_KEEP_ALIVE;

/// Runs a future on a runtime of its own: one thread, and one more for what blocks. Threads that
/// still block afterwards are waited for at most so long.
///
/// Tokio panics if the system refuses the first thread of its pool, and only queues the work if it
/// refuses another. So the first is asked for here, where that is an error, and never let go.
///
/// # Errors
///
/// Returns what the system says if it refuses a thread; the future was not polled then.
pub fn block_on<T>(work: impl Future<Output = T>, shutdown: Duration) -> io::Result<T> {
    drop(thread::Builder::new().spawn(|| ())?.join());
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .build()?;
    drop(runtime.spawn(async {
        loop {
            drop(tokio::task::spawn_blocking(|| ()).await);
            tokio::time::sleep(THREAD_KEEP_ALIVE / 2).await;
        }
    }));
    let output = runtime.block_on(work);
    runtime.shutdown_timeout(shutdown);
    Ok(output)
}

/// How many threads do blocking work at once; what comes then waits for its turn. A thread costs
/// memory for as long as it lives, which is as long as there is such work at all. None of that work
/// waits for other work of its kind, and one vault is used by one thread at a time.
const BLOCKING_THREADS: usize = 64;

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
