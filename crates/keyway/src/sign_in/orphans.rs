//! Claims of processes that died in the middle of a renewal, as one process sees them.
//!
//! A server with a grace period takes the old token once more for a short while. So whichever process
//! runs on and uses the sign-in renews it at once, without being asked for a token.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use keyway_store::{Generation, GrantKey, GrantStore};
use tokio::sync::Mutex;

use crate::timeouts::ORPHAN_POLL_INTERVAL;

/// Looks for orphaned claims, once for all connections of a process.
pub(crate) struct OrphanWatch {
    grants: Arc<dyn GrantStore>,
    /// Held over the await while the store is asked: one asks for all, on one thread, and the others
    /// wait as tasks. A thread for each connection that waits would be kept for long afterwards.
    last: Mutex<Option<Look>>,
}

struct Look {
    at: Instant,
    found: Vec<(GrantKey, Generation)>,
}

impl OrphanWatch {
    pub(crate) fn new(grants: Arc<dyn GrantStore>) -> Self {
        Self {
            grants,
            last: Mutex::new(None),
        }
    }

    /// Tells which generation of this sign-in a process was renewing when it died; asks the store
    /// every few seconds.
    ///
    /// Cancel safety: a look that is dropped is made again by the next caller.
    pub(crate) async fn of(&self, grant: &GrantKey) -> Option<Generation> {
        let mut last = self.last.lock().await;
        let is_recent = |look: &Look| look.at.elapsed() < ORPHAN_POLL_INTERVAL;
        if !last.as_ref().is_some_and(is_recent) {
            let grants = Arc::clone(&self.grants);
            let looking = tokio::task::spawn_blocking(move || grants.orphans());
            // A store that cannot be read has no news.
            let orphans = looking
                .await
                .map_or_else(|_| Vec::new(), Result::unwrap_or_default);
            *last = Some(Look {
                at: Instant::now(),
                found: orphans
                    .into_iter()
                    .map(|orphan| (orphan.grant, orphan.generation))
                    .collect(),
            });
        }
        let found = last.as_ref()?.found.iter().find(|(key, _)| key == grant)?;
        Some(found.1)
    }
}

impl fmt::Debug for OrphanWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrphanWatch").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "vault"))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use keyway_vault::{Folders, KeySources, Vault, VaultError};

    use super::*;
    use crate::vault::KeptVault;

    /// Every connection looks, and on a busy machine all of them at once: with a thread for each,
    /// `serve` had a hundred threads that it kept.
    #[test]
    fn two_hundred_connections_look_on_one_thread() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::below(home.path().join("kw"));
        drop(Vault::open(&folders, KeySources::default()).unwrap());
        let (release, released) = mpsc::channel::<()>();
        let (released, at) = (std::sync::Mutex::new(released), folders.clone());
        // A slow disk: the store answers when other blocking work has been done.
        let open = move || {
            let released = released.lock().unwrap();
            let waited = released.recv_timeout(Duration::from_secs(10));
            waited.map_err(|_| VaultError::Busy)?;
            Vault::open(&at, KeySources::default())
        };
        let vault = Arc::new(KeptVault::new(folders, Box::new(open)));
        let watch = Arc::new(OrphanWatch::new(Arc::clone(&vault) as _));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(2)
            .build()
            .unwrap();
        runtime.block_on(async {
            let grant = GrantKey::new("default").plugin("p").server("s");
            let looks = (0..200).map(|_| {
                let (watch, grant) = (Arc::clone(&watch), grant.clone());
                tokio::spawn(async move { watch.of(&grant).await })
            });
            let looks: Vec<_> = looks.collect();
            tokio::task::yield_now().await;
            let other = tokio::task::spawn_blocking(move || release.send(()));
            for look in looks {
                assert_eq!(look.await.unwrap(), None);
            }
            other.await.unwrap().unwrap();
        });
        assert!(vault.existing().unwrap().is_some());
        let opened = vault.get().unwrap().statistics();
        assert_eq!(opened.reads, 1, "one looks for all");
    }
}
