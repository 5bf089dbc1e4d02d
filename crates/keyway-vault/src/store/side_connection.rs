//! A connection beside that of a vault's transactions.
//!
//! Connections of one process share their locks: a lock that could not be given up goes when the
//! last of them is closed. So a vault that finds one closes these as well, and they are opened again
//! when they are next used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rusqlite::Connection;

use super::connection;
use crate::error::VaultError;
use crate::folders::Folder;

/// The connection, and where to open it again.
#[derive(Debug)]
pub(crate) struct SideConnection {
    data: Folder,
    /// Held while it is used or closed. Taken under the lock of the vault; nothing is under it.
    current: Mutex<Option<Connection>>,
}

/// The side connections of a vault that are in use.
#[derive(Debug, Default)]
pub(super) struct SideConnections(Vec<Weak<SideConnection>>);

impl SideConnection {
    pub(super) fn open(data: &Folder) -> Result<Arc<Self>, VaultError> {
        let data = Folder::open(data.path())?;
        let first = connection::open_beside(&data)?.connection;
        let current = Mutex::new(Some(first));
        Ok(Arc::new(Self { data, current }))
    }

    /// Uses the connection; `work` is told whether it is another one than before.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection, bool) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        let mut current = self.lock();
        match &*current {
            Some(same) => work(same, false),
            None => {
                let opened = connection::open_beside(&self.data)?.connection;
                work(current.insert(opened), true)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SideConnections {
    pub(super) fn add(&mut self, side: &Arc<SideConnection>) {
        self.0.retain(|it| it.strong_count() > 0);
        self.0.push(Arc::downgrade(side));
    }

    /// Closes all of them, until they are used again.
    pub(super) fn close(&self) {
        for side in self.0.iter().filter_map(Weak::upgrade) {
            drop(side.lock().take());
        }
    }
}
