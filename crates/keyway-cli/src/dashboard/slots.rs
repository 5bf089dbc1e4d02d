//! What is known of each server beyond what files and vault tell: how it was when it was last
//! looked at, and what is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway::dashboard::{Consent, Fault, ServerId, Tool};
use keyway::states::Standing;
use tokio::sync::{Notify, watch};

/// What is known of all servers.
#[derive(Debug)]
pub(super) struct Slots {
    all: Mutex<HashMap<ServerId, Slot>>,
    changed: watch::Sender<u64>,
}

/// What is known of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    pub(super) is_busy: bool,
    pub(super) consent: Option<Consent>,
    pub(super) seen: Option<Seen>,
    /// When the token that was last seen ends, and how long it had then.
    lifetime: Option<(i64, i64)>,
    cancel: Arc<Notify>,
}

/// How a server was when it was last looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) standing: Option<Standing>,
    pub(super) fault: Option<Fault>,
    pub(super) offers: Option<String>,
    pub(super) tools: Arc<[Tool]>,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }
}

impl Slots {
    /// Tells of every change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Tells that something else has changed.
    pub(super) fn tell(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns what is known of a server.
    pub(super) fn of(&self, id: &ServerId) -> Slot {
        self.lock().get(id).cloned().unwrap_or_default()
    }

    /// Says whether a server was looked at, or is.
    pub(super) fn knows(&self, id: &ServerId) -> bool {
        let slot = self.of(id);
        slot.is_busy || slot.seen.is_some()
    }

    /// Says whether a person is asked about a server.
    pub(super) fn asks(&self, id: &ServerId) -> bool {
        self.of(id).consent.is_some()
    }

    /// Begins to do something about a server; `None` if somebody does already.
    pub(super) fn begin(self: &Arc<Self>, id: &ServerId) -> Option<Turn> {
        let begun = self.change(id, |slot| !std::mem::replace(&mut slot.is_busy, true));
        begun.then(|| Turn {
            slots: Arc::clone(self),
            id: id.clone(),
        })
    }

    /// Notes how a server is; the tools that it had stay known if it does not answer any more.
    pub(super) fn note(&self, id: &ServerId, mut seen: Seen) {
        self.change(id, |slot| {
            if seen.fault.is_some()
                && let Some(before) = &slot.seen
            {
                seen.tools = Arc::clone(&before.tools);
            }
            slot.seen = Some(seen);
        });
    }

    /// Notes what a person is asked, or that nothing is asked any more.
    pub(super) fn ask(&self, id: &ServerId, consent: Option<Consent>) {
        self.change(id, |slot| slot.consent = consent);
    }

    /// Returns what tells that a person gave up.
    pub(super) fn giving_up(&self, id: &ServerId) -> Arc<Notify> {
        self.change(id, |slot| {
            slot.cancel = Arc::default();
            Arc::clone(&slot.cancel)
        })
    }

    /// Gives up what a person is asked.
    pub(super) fn cancel(&self, id: &ServerId) {
        self.change(id, |slot| {
            slot.consent = None;
            slot.cancel.notify_one();
        });
    }

    /// Returns how long a token had when it was first seen.
    pub(super) fn lifetime(&self, id: &ServerId, ends_at: i64, left: i64) -> i64 {
        let mut all = self.lock();
        let slot = all.entry(id.clone()).or_default();
        match slot.lifetime {
            Some((at, whole)) if at == ends_at => whole,
            _ => {
                slot.lifetime = Some((ends_at, left));
                left
            }
        }
    }

    fn change<T>(&self, id: &ServerId, how: impl FnOnce(&mut Slot) -> T) -> T {
        let result = how(self.lock().entry(id.clone()).or_default());
        self.tell();
        result
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ServerId, Slot>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to do something about a server; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    slots: Arc<Slots>,
    id: ServerId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.slots.change(&self.id, |slot| slot.is_busy = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ServerId {
        ServerId {
            plugin: "p".to_owned(),
            name: "s".to_owned(),
        }
    }

    #[test]
    fn one_thing_at_a_time_is_done_about_a_server() {
        let slots = Arc::new(Slots::default());
        let turn = slots.begin(&id());
        assert!(turn.is_some() && slots.begin(&id()).is_none());
        assert!(slots.knows(&id()));
        drop(turn);
        assert!(slots.begin(&id()).is_some());
    }

    #[test]
    fn a_bar_begins_full_and_again_with_every_new_token() {
        let slots = Slots::default();
        assert_eq!(slots.lifetime(&id(), 1000, 60), 60);
        assert_eq!(slots.lifetime(&id(), 1000, 20), 60);
        assert_eq!(slots.lifetime(&id(), 1060, 58), 58);
    }
}
