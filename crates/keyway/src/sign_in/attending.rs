//! Looking after the sign-ins of connections: a session ends when a person signs out elsewhere, and a
//! renewal that another process left behind is made up for. Servers with a grace period take the old
//! token once more for a short while.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use keyway_auth::oauth::OAuth;
use keyway_store::{GrantKey, GrantStore};
use keyway_transport::Link;
use tokio::task::spawn_blocking;

use crate::timeouts::{ATTENDANCE_POLL_INTERVAL, ORPHAN_POLL_INTERVAL};

/// The connections of a host and its variants, all looked at by the same two tasks: with a timer for
/// each, 3,333 connections that did nothing took a sixth of a processor.
#[derive(Clone, Default)]
pub(crate) struct Attendance(Arc<Mutex<Attended>>);

type Store = Arc<dyn GrantStore>;

#[derive(Default)]
struct Attended {
    connections: Vec<Attendee>,
    /// Alive while they are looked at, which ends with the runtime in which it began.
    watched: Weak<()>,
}

struct Attendee {
    oauth: OAuth,
    /// Is asked for what processes left behind, unless the host does that.
    store: Option<Store>,
    link: Weak<dyn Link>,
}

impl Attendance {
    /// Looks after a connection for as long as it is held.
    ///
    /// A sign-out waits for the session to end, so that it ends with a token that still counts.
    pub(crate) fn look_after(&self, oauth: OAuth, store: Option<Store>, link: &Arc<dyn Link>) {
        let link = Arc::downgrade(link);
        let mut attended = self.lock();
        attended.connections.push(Attendee { oauth, store, link });
        if attended.watched.strong_count() == 0 {
            let watched = Arc::new(());
            attended.watched = Arc::downgrade(&watched);
            drop(tokio::spawn(self.clone().recover(Arc::downgrade(&watched))));
            drop(tokio::spawn(self.clone().watch(watched)));
        }
    }

    async fn watch(self, _watched: Arc<()>) {
        loop {
            tokio::time::sleep(ATTENDANCE_POLL_INTERVAL).await;
            let Some(asked) = self.stopping() else { return };
            for attendee in asked {
                drop(tokio::spawn(self.clone().stop(attendee)));
            }
        }
    }

    /// Takes out the connections whose sign-in is to end; `None` if there are no connections.
    fn stopping(&self) -> Option<Vec<Attendee>> {
        let mut attended = self.lock();
        let all = &mut attended.connections;
        let is_closed = |it: &mut Attendee| it.link.strong_count() == 0;
        let closed: Vec<_> = all.extract_if(.., is_closed).collect();
        if !closed.is_empty() {
            // The last user of a sign-in takes its mark from the store.
            drop(spawn_blocking(move || drop(closed)));
        }
        if all.is_empty() {
            attended.watched = Weak::new();
            return None;
        }
        let asked = all.extract_if(.., |it| it.oauth.is_stop_requested());
        Some(asked.collect())
    }

    async fn stop(self, it: Attendee) {
        if let Some(link) = it.link.upgrade() {
            link.end_session().await;
            it.oauth.leave();
            self.look_after(it.oauth, it.store, &link);
        }
    }

    /// Renews tokens if the process that was renewing them died.
    async fn recover(self, watched: Weak<()>) {
        while watched.strong_count() > 0 {
            tokio::time::sleep(ORPHAN_POLL_INTERVAL).await;
            for store in self.stores() {
                let asked = Arc::clone(&store);
                // A store that cannot be read has no news.
                let orphans = spawn_blocking(move || asked.orphans()).await;
                for orphan in orphans.into_iter().flatten().flatten() {
                    for oauth in self.users(&store, &orphan.grant) {
                        let generation = orphan.generation;
                        // In a task of its own, because a renewal takes as long as its server. What
                        // fails here is told to the next request.
                        drop(tokio::spawn(async move { oauth.recover(generation).await }));
                    }
                }
            }
        }
    }

    /// Returns the stores to ask, each once.
    fn stores(&self) -> Vec<Store> {
        let attended = self.lock();
        let stores = attended.connections.iter().map(|it| it.store.clone());
        let mut stores: Vec<_> = stores.flatten().collect();
        stores.sort_by_key(|it| Arc::as_ptr(it).addr());
        stores.dedup_by(|one, other| Arc::ptr_eq(one, other));
        stores
    }

    fn users(&self, store: &Store, grant: &GrantKey) -> Vec<OAuth> {
        let attended = self.lock();
        let is_its = |it: &Attendee| it.store.as_ref().is_some_and(|it| Arc::ptr_eq(it, store));
        let users = attended.connections.iter().filter(|it| is_its(it));
        let users = users.map(|it| &it.oauth);
        users.filter(|it| it.grant() == grant).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Attended> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many connections are looked after, and whether they are looked at.
    #[cfg(test)]
    pub(crate) fn extent(&self) -> (usize, bool) {
        let it = self.lock();
        (it.connections.len(), it.watched.strong_count() > 0)
    }
}

impl fmt::Debug for Attendance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attendance").finish_non_exhaustive()
    }
}
