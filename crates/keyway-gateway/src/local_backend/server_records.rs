//! What is known of each server beyond what files and vault tell: how it was when it was last
//! looked at, and what is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use keyway::diagnosis::Diagnosis;
use keyway::redaction_values::RedactionValues;
use keyway_secret::{Clock as _, SystemClock};
use tokio::sync::Notify;

use keyway_dashboard::{ChangeCounter, Changes, Consent, ServerId, Tool};

/// What is known of all servers.
#[derive(Debug, Default)]
pub(super) struct ServerRecords {
    /// Held for one look or one change, never across an await.
    all: Mutex<HashMap<ServerId, ServerRecord>>,
    changed: ChangeCounter,
}

/// What is known of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerRecord {
    pub(super) is_busy: bool,
    /// The questions that wait for an answer; the latest is shown.
    asked: Vec<Asked>,
    /// Whether the last question was given up on the dashboard.
    given_up: bool,
    pub(super) seen: Option<Seen>,
    /// When the token that was last seen ends, and how long it had then.
    lifetime: Option<(i64, i64)>,
    /// What it was given lately.
    redaction_values: RedactionValues,
}

/// A question that waits for an answer.
#[derive(Debug, Clone)]
struct Asked {
    consent: Consent,
    giving_up: Arc<Notify>,
}

impl ServerRecord {
    /// Returns what a person is asked.
    pub(super) fn consent(&self) -> Option<&Consent> {
        self.asked.last().map(|asked| &asked.consent)
    }
}

/// How a server was when it was last examined.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) diagnosis: Diagnosis,
    /// When that was.
    pub(super) at: SystemTime,
    /// Whether it needs no sign-in.
    pub(super) is_open: bool,
    pub(super) tools: Arc<[Tool]>,
}

impl From<Diagnosis> for Seen {
    fn from(mut diagnosis: Diagnosis) -> Self {
        let offer = diagnosis.offer.as_mut();
        let tools = offer.map(|offer| std::mem::take(&mut offer.tools));
        let tools = tools.unwrap_or_default();
        Self {
            diagnosis,
            at: SystemClock.wall(),
            is_open: false,
            tools: tools.iter().filter_map(|raw| Tool::read(raw)).collect(),
        }
    }
}

impl ServerRecords {
    /// Tells of every change.
    pub(super) fn changes(&self) -> Changes {
        self.changed.subscribe()
    }

    /// Tells that something else has changed.
    pub(super) fn tell(&self) {
        self.changed.count();
    }

    /// Returns what is known of a server.
    pub(super) fn of(&self, id: &ServerId) -> ServerRecord {
        self.lock().get(id).cloned().unwrap_or_default()
    }

    /// Returns where it is noted what a server was given.
    pub(super) fn redaction_values(&self, id: &ServerId) -> RedactionValues {
        let mut all = self.lock();
        all.entry(id.clone()).or_default().redaction_values.clone()
    }

    /// Says whether a server was looked at, or is.
    pub(super) fn knows(&self, id: &ServerId) -> bool {
        let record = self.of(id);
        record.is_busy || record.seen.is_some()
    }

    /// Says whether a person is asked about a server.
    pub(super) fn asks(&self, id: &ServerId) -> bool {
        self.of(id).consent().is_some()
    }

    /// Says whether a person has a page open on which a question would appear.
    pub(super) fn is_watched(&self) -> bool {
        self.changed.is_watched()
    }

    /// Begins to work on a server; `None` if another task does already.
    pub(super) fn begin(self: &Arc<Self>, id: &ServerId) -> Option<Turn> {
        let begun = self.change(id, |record| !std::mem::replace(&mut record.is_busy, true));
        begun.then(|| Turn {
            records: Arc::clone(self),
            id: id.clone(),
        })
    }

    /// Begins to work on a server once no other task does; `None` if one asks a person by then.
    ///
    /// Cancel safety: dropping the future begins nothing.
    pub(super) async fn begin_next(self: &Arc<Self>, id: &ServerId) -> Option<Turn> {
        // Before the first look, so that no end of other work is missed.
        let mut changes = self.changes();
        loop {
            if let Some(turn) = self.begin(id) {
                return Some(turn);
            }
            if self.asks(id) || !changes.changed().await {
                return None;
            }
        }
    }

    /// Notes how a server is; the tools that it had stay known if it does not answer any more.
    pub(super) fn note(&self, id: &ServerId, mut seen: Seen) {
        self.change(id, |record| {
            if seen.diagnosis.code.is_some()
                && let Some(before) = &record.seen
            {
                seen.tools = Arc::clone(&before.tools);
            }
            record.seen = Some(seen);
        });
    }

    /// Notes what a person is asked; returns what tells that they gave up.
    pub(super) fn ask(&self, id: &ServerId, consent: Consent) -> Arc<Notify> {
        let giving_up = Arc::<Notify>::default();
        let asked = Asked {
            consent,
            giving_up: Arc::clone(&giving_up),
        };
        self.change(id, |record| {
            record.given_up = false;
            record.asked.push(asked);
        });
        giving_up
    }

    /// Notes that a question is settled.
    pub(super) fn settle(&self, id: &ServerId, giving_up: &Arc<Notify>) {
        self.change(id, |record| {
            record
                .asked
                .retain(|asked| !Arc::ptr_eq(&asked.giving_up, giving_up));
        });
    }

    /// Gives up what a person is asked.
    pub(super) fn cancel(&self, id: &ServerId) {
        self.change(id, |record| {
            if let Some(asked) = record.asked.pop() {
                asked.giving_up.notify_one();
                record.given_up = true;
            }
        });
    }

    /// Says whether the last question about a server was given up, which is not a fault.
    pub(super) fn was_given_up(&self, id: &ServerId) -> bool {
        self.of(id).given_up
    }

    /// Returns how long a token had when it was first seen.
    pub(super) fn lifetime(&self, id: &ServerId, ends_at: i64, left: i64) -> i64 {
        let mut all = self.lock();
        let record = all.entry(id.clone()).or_default();
        match record.lifetime {
            Some((at, whole)) if at == ends_at => whole,
            _ => {
                record.lifetime = Some((ends_at, left));
                left
            }
        }
    }

    fn change<T>(&self, id: &ServerId, how: impl FnOnce(&mut ServerRecord) -> T) -> T {
        let result = how(self.lock().entry(id.clone()).or_default());
        self.tell();
        result
    }

    // Held for single reads and writes of the map, never while something is shown or awaited.
    fn lock(&self) -> MutexGuard<'_, HashMap<ServerId, ServerRecord>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to do something about a server; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    records: Arc<ServerRecords>,
    id: ServerId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.records
            .change(&self.id, |record| record.is_busy = false);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use keyway_dashboard::WantedBy;

    use super::*;

    fn id() -> ServerId {
        ServerId::new("p", "s")
    }

    #[test]
    fn one_thing_at_a_time_is_done_about_a_server() {
        let records = Arc::new(ServerRecords::default());
        let turn = records.begin(&id());
        assert!(turn.is_some() && records.begin(&id()).is_none());
        assert!(records.knows(&id()));
        drop(turn);
        assert!(records.begin(&id()).is_some());
    }

    #[tokio::test]
    async fn a_sign_in_waits_until_a_look_at_the_server_has_ended() {
        let records = Arc::new(ServerRecords::default());
        let look = records.begin(&id()).unwrap();
        let id = id();
        let next = records.begin_next(&id);
        tokio::pin!(next);
        assert!(is_pending_now(next.as_mut()).await);
        drop(look);
        let turn = next.await;
        assert!(turn.is_some());
        // A question that stands already is what the person wants to see.
        records.ask(&id, consent("a"));
        assert!(records.begin_next(&id).await.is_none());
    }

    async fn is_pending_now(mut it: std::pin::Pin<&mut impl Future>) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(it.as_mut().poll(context).is_pending())
        })
        .await
    }

    fn consent(issuer: &str) -> Consent {
        let page = "https://as.example/".parse().unwrap();
        Consent::new(page, issuer.to_owned(), Instant::now(), WantedBy::Client)
    }

    #[tokio::test]
    async fn what_is_given_up_is_the_question_that_is_shown_and_no_other() {
        let records = ServerRecords::default();
        let shown = || records.of(&id()).consent().map(|it| it.issuer.clone());
        let first = records.ask(&id(), consent("a"));
        let second = records.ask(&id(), consent("b"));
        assert_eq!(shown().as_deref(), Some("b"));
        records.cancel(&id());
        second.notified().await;
        assert!(records.was_given_up(&id()));
        assert_eq!(shown().as_deref(), Some("a"));
        records.settle(&id(), &second);
        assert!(records.asks(&id()), "another's end is not its own");
        records.settle(&id(), &first);
        assert!(!records.asks(&id()));
    }

    #[test]
    fn an_open_page_means_that_a_person_can_be_asked() {
        let records = ServerRecords::default();
        assert!(!records.is_watched());
        let page = records.changes();
        assert!(records.is_watched());
        drop(page);
        assert!(!records.is_watched());
    }

    #[test]
    fn a_bar_begins_full_and_again_with_every_new_token() {
        let records = ServerRecords::default();
        assert_eq!(records.lifetime(&id(), 1000, 60), 60);
        assert_eq!(records.lifetime(&id(), 1000, 20), 60);
        assert_eq!(records.lifetime(&id(), 1060, 58), 58);
    }
}
