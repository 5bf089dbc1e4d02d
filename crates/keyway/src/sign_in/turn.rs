//! One question at a time: a lock that all processes of a person share and that dies with its holder.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use blake2::{Blake2b256, Digest as _};
use keyway_vault::GrantKey;
use rustix::fs::{Mode, OFlags};

use super::KeptVault;

/// The right to ask; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _lock: File,
}

/// Waits for the right to ask for a sign-in; `waiting` is called once if somebody else has it.
///
/// Without a place for locks, or after a patience that no question outlives, everybody may.
pub(super) async fn take(
    vault: &Arc<KeptVault>,
    key: &GrantKey,
    waiting: impl FnOnce(),
) -> Option<Turn> {
    let (kept, name) = (Arc::clone(vault), name(key));
    let opened = tokio::task::spawn_blocking(move || open(&kept.locks()?.join(name)));
    let lock = opened.await.ok()??;
    let mut waiting = Some(waiting);
    let locked = async {
        loop {
            match lock.try_lock() {
                Ok(()) => return true,
                Err(TryLockError::WouldBlock) => {
                    if let Some(tell) = waiting.take() {
                        tell();
                    }
                }
                Err(TryLockError::Error(_)) => return false,
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let is_ours = tokio::time::timeout(PATIENCE, locked).await;
    is_ours.unwrap_or(false).then_some(Turn { _lock: lock })
}

/// Opens the file, made for the person alone; it stays, since whoever removed it could not know
/// who waits for it.
fn open(path: &Path) -> Option<File> {
    let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDWR;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    opened.ok().map(File::from)
}

/// Names the file such that it tells nothing about the sign-in.
fn name(key: &GrantKey) -> String {
    let hash = Blake2b256::digest(format!("{key:?}"));
    let digits: String = hash
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sign-in-{digits}")
}

const LOOK_AGAIN: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(600);
