//! What is known of each server beyond what files and vault tell: how it was when it was last
//! looked at, and what is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway::redaction_values::RedactionValues;
use keyway_gateway::dashboard::{Consent, Fault, ServerId, Tool};
use keyway_mcp::states::Standing;
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
    /// The questions that wait for an answer; the latest is shown.
    asked: Vec<Asked>,
    /// Whether the last question was given up on the dashboard.
    given_up: bool,
    pub(super) seen: Option<Seen>,
    /// When the token that was last seen ends, and how long it had then.
    lifetime: Option<(i64, i64)>,
    /// What it was given lately.
    supplied: RedactionValues,
}

/// A question that waits for an answer.
#[derive(Debug, Clone)]
struct Asked {
    consent: Consent,
    giving_up: Arc<Notify>,
}

impl Slot {
    /// Returns what a person is asked.
    pub(super) fn consent(&self) -> Option<&Consent> {
        self.asked.last().map(|asked| &asked.consent)
    }
}

/// How a server was when it was last looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) standing: Option<Standing>,
    /// Whether nobody has to sign in.
    pub(super) is_open: bool,
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

    /// Returns where it is noted what a server was given.
    pub(super) fn supplied(&self, id: &ServerId) -> RedactionValues {
        let mut all = self.lock();
        all.entry(id.clone()).or_default().supplied.clone()
    }

    /// Says whether a server was looked at, or is.
    pub(super) fn knows(&self, id: &ServerId) -> bool {
        let slot = self.of(id);
        slot.is_busy || slot.seen.is_some()
    }

    /// Says whether a person is asked about a server.
    pub(super) fn asks(&self, id: &ServerId) -> bool {
        self.of(id).consent().is_some()
    }

    /// Says whether a person has a page open on which a question would appear.
    pub(super) fn is_watched(&self) -> bool {
        self.changed.receiver_count() > 0
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

    /// Notes what a person is asked; returns what tells that they gave up.
    pub(super) fn ask(&self, id: &ServerId, consent: Consent) -> Arc<Notify> {
        let giving_up = Arc::<Notify>::default();
        let asked = Asked {
            consent,
            giving_up: Arc::clone(&giving_up),
        };
        self.change(id, |slot| {
            slot.given_up = false;
            slot.asked.push(asked);
        });
        giving_up
    }

    /// Notes that a question is settled.
    pub(super) fn settle(&self, id: &ServerId, giving_up: &Arc<Notify>) {
        self.change(id, |slot| {
            slot.asked
                .retain(|asked| !Arc::ptr_eq(&asked.giving_up, giving_up));
        });
    }

    /// Gives up what a person is asked.
    pub(super) fn cancel(&self, id: &ServerId) {
        self.change(id, |slot| {
            if let Some(asked) = slot.asked.pop() {
                asked.giving_up.notify_one();
                slot.given_up = true;
            }
        });
    }

    /// Says whether the last question about a server was given up, which is no fault of anybody's.
    pub(super) fn was_given_up(&self, id: &ServerId) -> bool {
        self.of(id).given_up
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
    use std::time::Instant;

    use keyway_gateway::dashboard::WantedBy;

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

    fn consent(issuer: &str) -> Consent {
        Consent {
            page: "https://as.example/".parse().unwrap(),
            issuer: issuer.to_owned(),
            client: None,
            scopes: Vec::new(),
            new_scopes: Vec::new(),
            code: None,
            ends_at: Instant::now(),
            wanted_by: WantedBy::Client,
        }
    }

    #[tokio::test]
    async fn what_is_given_up_is_the_question_that_is_shown_and_no_other() {
        let slots = Slots::default();
        let shown = || slots.of(&id()).consent().map(|it| it.issuer.clone());
        let first = slots.ask(&id(), consent("a"));
        let second = slots.ask(&id(), consent("b"));
        assert_eq!(shown().as_deref(), Some("b"));
        slots.cancel(&id());
        second.notified().await;
        assert!(slots.was_given_up(&id()));
        assert_eq!(shown().as_deref(), Some("a"));
        slots.settle(&id(), &second);
        assert!(slots.asks(&id()), "another's end is not its own");
        slots.settle(&id(), &first);
        assert!(!slots.asks(&id()));
    }

    #[test]
    fn who_has_a_page_open_is_somebody_to_ask() {
        let slots = Slots::default();
        assert!(!slots.is_watched());
        let page = slots.changes();
        assert!(slots.is_watched());
        drop(page);
        assert!(!slots.is_watched());
    }

    #[test]
    fn a_bar_begins_full_and_again_with_every_new_token() {
        let slots = Slots::default();
        assert_eq!(slots.lifetime(&id(), 1000, 60), 60);
        assert_eq!(slots.lifetime(&id(), 1000, 20), 60);
        assert_eq!(slots.lifetime(&id(), 1060, 58), 58);
    }
}
