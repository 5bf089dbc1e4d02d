//! The connections of people to one server: each ends when what it was made of has changed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use keyway::store::ChangeFeed;
use keyway::{Approved, Plan};
use keyway_auth::BoxFuture;
use keyway_people::Person;
use keyway_transport::{Connection, Frame, Link, RequestId, TransportError};

use super::Team;
use super::programs::ProgramPlace;
use crate::timeouts::PERSON_PLAN_CACHE_TIME;

/// Plans with the time at which they were made, by the digest of their person.
type Plans = HashMap<[u8; 32], (Instant, Approved<Plan>)>;

/// What is known of the people of one server.
#[derive(Default)]
pub(crate) struct PeopleConnections {
    /// Plans that count for a moment, by the digest of the person. Held for one look or one change.
    plans: Mutex<Plans>,
    /// The connections that may be open. Held for one look or one change; the links are ended after it
    /// is released.
    open: Mutex<Vec<OpenConnection>>,
}

/// A connection of a person, and what it was made of.
struct OpenConnection {
    person: Person,
    fingerprint: [u8; 32],
    link: Weak<PersonLink>,
    feeds: Vec<Box<dyn ChangeFeed>>,
}

impl fmt::Debug for PeopleConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeopleConnections")
    }
}

impl PeopleConnections {
    /// Returns a plan that was made a moment ago.
    pub(crate) fn plan(&self, person: &Person) -> Option<Approved<Plan>> {
        let plans = self.plans();
        let (made, plan) = plans.get(&person.digest())?;
        (made.elapsed() < PERSON_PLAN_CACHE_TIME).then(|| plan.clone())
    }

    /// Keeps a plan that was begun to be made at a time.
    pub(crate) fn keep(&self, person: &Person, (begun, plan): (Instant, &Approved<Plan>)) {
        let mut plans = self.plans();
        plans.retain(|_, (made, _)| made.elapsed() < PERSON_PLAN_CACHE_TIME);
        plans.insert(person.digest(), (begun, plan.clone()));
    }

    /// Takes a connection of a person in; it ends when a plan has another fingerprint.
    pub(crate) fn hold(
        &self,
        (team, person): (&Team, &Person),
        fingerprint: [u8; 32],
        (connection, place): (Connection, Option<ProgramPlace>),
    ) -> Connection {
        // Heard from now on: what changed before is in the plan, or found by the next look.
        let feeds = team.change_feeds(Some(person));
        let Connection {
            link,
            events,
            watch,
            ..
        } = connection;
        let link = Arc::new(PersonLink {
            inner: Mutex::new(Some(link)),
            _place: place,
        });
        // Those that have ended are taken out by the next look.
        self.open().push(OpenConnection {
            person: person.clone(),
            fingerprint,
            link: Arc::downgrade(&link),
            feeds,
        });
        let mut held = Connection::new(link, events);
        held.watch = watch;
        held
    }

    /// Ends connections of which something has changed; `plan` makes the fingerprint of a person's plan
    /// as it would be now, and blocks. With `is_due` all are looked at, otherwise those whose stores
    /// tell of a change.
    pub(crate) fn look(&self, is_due: bool, plan: impl Fn(&Person) -> Option<[u8; 32]>) {
        let mut concerned = Vec::new();
        {
            let mut open = self.open();
            open.retain(|it| it.link.strong_count() > 0);
            for it in open.iter_mut() {
                // Every feed is asked: each remembers what it has told.
                let mut told = false;
                for feed in &mut it.feeds {
                    // One that cannot be heard may have missed something.
                    told |= feed.changed().unwrap_or(true);
                }
                if is_due || told {
                    concerned.push((it.person.clone(), it.fingerprint, Weak::clone(&it.link)));
                }
            }
        }
        if concerned.is_empty() {
            return;
        }
        self.plans().clear();
        let mut now: HashMap<[u8; 32], Option<[u8; 32]>> = HashMap::new();
        for (person, fingerprint, link) in concerned {
            let found = now.entry(person.digest()).or_insert_with(|| plan(&person));
            if *found != Some(fingerprint)
                && let Some(link) = link.upgrade()
            {
                link.end();
            }
        }
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Vec<OpenConnection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending side of a person's connection, which can be ended from outside.
struct PersonLink {
    /// Dropping the last copy ends the connection, and kills a program. Held for a copy.
    inner: Mutex<Option<Arc<dyn Link>>>,
    _place: Option<ProgramPlace>,
}

impl PersonLink {
    fn inner(&self) -> Option<Arc<dyn Link>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clone()
    }

    fn end(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = inner.take();
        drop(inner);
        // Ends a process, perhaps, and takes no lock of ours.
        drop(ended);
    }
}

impl fmt::Debug for PersonLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PersonLink")
    }
}

impl Link for PersonLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let inner = self.inner().ok_or(TransportError::Closed)?;
            inner.send(frame).await
        })
    }

    fn abandon(&self, id: &RequestId) {
        if let Some(inner) = self.inner() {
            inner.abandon(id);
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(inner) = self.inner() {
                inner.close().await;
            }
        })
    }

    fn end_session(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(inner) = self.inner() {
                inner.end_session().await;
            }
        })
    }

    fn reopen_lost_streams(&self) {
        if let Some(inner) = self.inner() {
            inner.reopen_lost_streams();
        }
    }
}
