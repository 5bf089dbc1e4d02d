//! Tasks on two threads; work that blocks gets a thread of its own.

use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use super::ManualClock;
use crate::BoxFuture;
use crate::ports::{Hold, Tasks};

/// Runs tasks; sleeping is left to the hand that moves the clock.
pub(crate) struct Threads {
    queue: Sender<Arc<Job>>,
    clock: Arc<ManualClock>,
    holds: Arc<()>,
}

struct Job {
    work: Mutex<Option<BoxFuture<'static, ()>>>,
    queue: Sender<Arc<Self>>,
}

impl Wake for Job {
    fn wake(self: Arc<Self>) {
        let queue = self.queue.clone();
        drop(queue.send(self));
    }
}

impl Threads {
    pub(crate) fn new(clock: Arc<ManualClock>) -> Self {
        let (queue, jobs) = channel::<Arc<Job>>();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..2 {
            let jobs = Arc::clone(&jobs);
            std::thread::spawn(move || {
                loop {
                    let next = jobs.lock().unwrap().recv();
                    let Ok(job) = next else { return };
                    let waker = Arc::clone(&job).into();
                    let mut work = job.work.lock().unwrap();
                    let polled = work
                        .as_mut()
                        .map(|work| work.as_mut().poll(&mut Context::from_waker(&waker)));
                    if polled == Some(Poll::Ready(())) {
                        *work = None;
                    }
                }
            });
        }
        Self {
            queue,
            clock,
            holds: Arc::default(),
        }
    }

    /// Says whether the process would wait before it ends.
    pub(crate) fn is_held(&self) -> bool {
        Arc::strong_count(&self.holds) > 1
    }
}

impl Tasks for Threads {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        let job = Arc::new(Job {
            work: Mutex::new(Some(task)),
            queue: self.queue.clone(),
        });
        job.wake();
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) {
        let stillness = self.clock.stand_still();
        drop(std::thread::spawn(move || {
            work();
            drop(stillness);
        }));
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.clock.sleep(time)
    }

    fn hold(&self) -> Hold {
        Arc::<()>::clone(&self.holds)
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}
