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
    state: ConnectionState,
    link: Weak<PersonLink>,
    feeds: Vec<Box<dyn ChangeFeed>>,
    /// Whether it holds the place of a program.
    runs_program: bool,
    /// Set while the store does not say whether there is a sign-in: it is asked again.
    is_in_doubt: bool,
}

/// What a connection of a person depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionState {
    /// Of the plan.
    pub(crate) fingerprint: [u8; 32],
    /// Whether the person is signed in to the server; `None` if the store did not say.
    pub(crate) is_signed_in: Option<bool>,
}

impl OpenConnection {
    /// Says whether it may go on as things are `now`, and takes note of that. A connection that may hold
    /// a token does not outlive its sign-in.
    fn goes_on(&mut self, now: ConnectionState) -> bool {
        let before = self.state;
        let is_signed_out = before.is_signed_in == Some(true) && now.is_signed_in == Some(false);
        self.is_in_doubt = now.is_signed_in.is_none();
        // A person who has signed in since: the server may have asked for their token.
        self.state.is_signed_in = now.is_signed_in.or(before.is_signed_in);
        before.fingerprint == now.fingerprint && !is_signed_out
    }
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

    /// Takes a connection of a person in; it ends when a plan has another fingerprint, or the sign-in is
    /// gone. `feeds` tell of changes since before the connection was made.
    pub(crate) fn hold(
        &self,
        (person, feeds): (&Person, Vec<Box<dyn ChangeFeed>>),
        state: ConnectionState,
        (connection, place): (Connection, Option<ProgramPlace>),
    ) -> Connection {
        let Connection {
            link,
            events,
            watch,
            ..
        } = connection;
        let runs_program = place.is_some();
        let link = Arc::new(PersonLink {
            inner: Mutex::new(Some(link)),
            _place: place,
        });
        // Those that have ended are taken out by the next look.
        self.open().push(OpenConnection {
            person: person.clone(),
            state,
            link: Arc::downgrade(&link),
            feeds,
            runs_program,
            is_in_doubt: false,
        });
        let mut held = Connection::new(link, events);
        held.watch = watch;
        held
    }

    /// Ends connections of which something has changed; `plan` returns what a connection of a person would
    /// depend on now, and blocks. With `is_due` all are looked at, otherwise those whose stores tell of
    /// a change: of others no store is asked anything.
    pub(crate) fn look(&self, is_due: bool, plan: impl Fn(&Person) -> Option<ConnectionState>) {
        let mut concerned = Vec::new();
        {
            let mut open = self.open();
            open.retain(|it| it.link.strong_count() > 0);
            for it in open.iter_mut() {
                // Every feed is asked: each remembers what it has told.
                let mut told = it.is_in_doubt;
                for feed in &mut it.feeds {
                    // One that cannot be heard may have missed something.
                    told |= feed.changed().unwrap_or(true);
                }
                if is_due || told {
                    concerned.push((it.person.clone(), Weak::clone(&it.link)));
                }
            }
        }
        if concerned.is_empty() {
            return;
        }
        self.plans().clear();
        let mut now: HashMap<[u8; 32], Option<ConnectionState>> = HashMap::new();
        let found: HashMap<_, _> = concerned
            .iter()
            .map(|(person, link)| {
                let planned = now.entry(person.digest()).or_insert_with(|| plan(person));
                (Weak::as_ptr(link), *planned)
            })
            .collect();
        let mut ended = Vec::new();
        for it in self.open().iter_mut() {
            // One that was opened meanwhile is made of what is newer.
            let Some(found) = found.get(&Weak::as_ptr(&it.link)) else {
                continue;
            };
            if !found.is_some_and(|found| it.goes_on(found)) {
                ended.extend(it.link.upgrade());
            }
        }
        for link in ended {
            link.end();
        }
    }

    /// Says whether a program runs for a person.
    pub(crate) fn has_program_of(&self, person: &Person) -> bool {
        let is_theirs = |it: &OpenConnection| {
            it.runs_program && it.link.strong_count() > 0 && it.person == *person
        };
        self.open().iter().any(is_theirs)
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
