//! The stored grant of one server, and the mark that tells other processes that it is in use.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use keyway_store::{Grant, GrantKey, GrantStore, StoreError, UseMarker};

use super::blocking::BlockingTasks;
use super::vault_error::vault_error;
use crate::error::OAuthError;

/// Reads and changes one grant, on threads that may wait for the disk.
pub(super) struct GrantAccess {
    handle: GrantHandle,
    /// Whether other processes are to see that the grant is in use here.
    ///
    /// Relaxed: it only decides whether the next read also marks, and guards no other data.
    is_marked_in_use: AtomicBool,
    /// What they see, once it is marked.
    marker: SharedMarker,
}

type SharedMarker = Arc<Mutex<Option<Box<dyn UseMarker>>>>;

impl GrantAccess {
    pub(super) fn new(key: GrantKey, store: Arc<dyn GrantStore>, blocking: BlockingTasks) -> Self {
        let handle = GrantHandle {
            key,
            store,
            blocking,
        };
        Self {
            handle,
            is_marked_in_use: AtomicBool::new(false),
            marker: Arc::default(),
        }
    }

    pub(super) const fn key(&self) -> &GrantKey {
        &self.handle.key
    }

    /// Returns what a task of its own can change the grant with.
    pub(super) fn handle(&self) -> GrantHandle {
        self.handle.clone()
    }

    /// Does something with the store and the key of this grant.
    pub(super) async fn with<T, W>(&self, work: W) -> Result<T, OAuthError>
    where
        T: Clone + Send + Sync + 'static,
        W: FnOnce(&dyn GrantStore, &GrantKey) -> Result<T, StoreError> + Send + 'static,
    {
        self.handle.with(work).await
    }

    /// Reads the grant; a process that uses it is marked before that.
    ///
    /// In this order, so that a sign-out either sees the mark or is seen by the read.
    pub(super) async fn read(&self) -> Result<Option<Grant>, OAuthError> {
        let is_marked_in_use = self.is_marked_in_use.load(Ordering::Relaxed);
        let marker = Arc::clone(&self.marker);
        self.with(move |store, key| {
            // Held while the mark is made, so that two reads do not make two. This is a thread that
            // may wait.
            let mut marker = lock(&marker);
            if is_marked_in_use && marker.is_none() {
                // Where it cannot be shown, a sign-out is noticed when the token is refused.
                *marker = store.mark_in_use(key).ok().flatten();
            }
            drop(marker);
            store.read(key)
        })
        .await
    }

    /// Shows the use of the grant to other processes from the next read on.
    pub(super) fn mark_in_use(&self) {
        self.is_marked_in_use.store(true, Ordering::Relaxed);
    }

    /// Never waits: while a mark is made, nothing is asked of it yet.
    pub(super) fn is_stop_requested(&self) -> bool {
        let marker = match self.marker.try_lock() {
            Ok(marker) => marker,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let marker = marker.as_ref();
        marker.is_some_and(|marker| marker.is_stop_requested())
    }

    /// Removes the mark.
    pub(super) fn unmark(&self) {
        drop(lock(&self.marker).take());
    }
}

/// One grant in its store.
#[derive(Clone)]
pub(super) struct GrantHandle {
    key: GrantKey,
    store: Arc<dyn GrantStore>,
    blocking: BlockingTasks,
}

impl GrantHandle {
    /// Does something with the store and the key of this grant.
    pub(super) async fn with<T, W>(&self, work: W) -> Result<T, OAuthError>
    where
        T: Clone + Send + Sync + 'static,
        W: FnOnce(&dyn GrantStore, &GrantKey) -> Result<T, StoreError> + Send + 'static,
    {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let work = move || work(&*store, &key).map_err(|error| vault_error(&error));
        self.blocking.run(work).await
    }
}

impl fmt::Debug for GrantHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for GrantAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantAccess").finish_non_exhaustive()
    }
}

fn lock(marker: &Mutex<Option<Box<dyn UseMarker>>>) -> MutexGuard<'_, Option<Box<dyn UseMarker>>> {
    marker.lock().unwrap_or_else(PoisonError::into_inner)
}
