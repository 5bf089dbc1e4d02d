//! What others changed, as announced by the database.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use keyway_store::{ChangeFeed, StoreError};

use crate::live_replica::LiveReplica;
use crate::person::Person;
use crate::presence::{Listener, News};

/// Counts announcements about one person.
#[derive(Debug)]
pub(crate) struct PostgresFeed {
    heard: Arc<Heard>,
    seen: u64,
    /// Its session hears the announcements.
    _replica: Arc<LiveReplica>,
}

#[derive(Debug, Default)]
struct Heard {
    /// Held to count and to wait: `changed` releases it while it waits, so no announcement is missed.
    count: Mutex<u64>,
    changed: Condvar,
}

impl Listener for Heard {
    fn heard(&self, _: News) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }
}

impl PostgresFeed {
    pub(crate) fn new(replica: &Arc<LiveReplica>, person: &Person) -> Self {
        Self::of_topic(replica, person.topic())
    }

    pub(crate) fn of_topic(replica: &Arc<LiveReplica>, topic: String) -> Self {
        let heard = Arc::new(Heard::default());
        let listener: Arc<dyn Listener> = Arc::clone(&heard) as _;
        let listener = Arc::downgrade(&listener);
        replica.presence.listen(topic, listener);
        Self {
            heard,
            seen: 0,
            _replica: Arc::clone(replica),
        }
    }
}

impl ChangeFeed for PostgresFeed {
    fn changed(&mut self) -> Result<bool, StoreError> {
        self.wait(Duration::ZERO)
    }

    fn wait(&mut self, at_most: Duration) -> Result<bool, StoreError> {
        let seen = self.seen;
        let count = &self.heard.count;
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        // A gateway asks one for each person every second: waiting for no time would be a system call.
        if at_most.is_zero() {
            self.seen = *count;
            return Ok(self.seen != seen);
        }
        let changed = &self.heard.changed;
        let waited = changed.wait_timeout_while(count, at_most, |count| *count == seen);
        (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.seen = *count;
        Ok(self.seen != seen)
    }
}
