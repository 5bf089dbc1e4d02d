//! One question at a time: a lock that all processes of a person share and that dies with its holder.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use blake2::{Blake2b256, Digest as _};
use keyway_auth::ports::{Declined, Turn};
use keyway_store::GrantKey;
use rustix::fs::{Mode, OFlags};

use crate::timeouts::{SIGN_IN_TURN_POLL_INTERVAL, SIGN_IN_TURN_TIMEOUT};
use crate::vault::KeptVault;

/// The right to ask; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    lock: File,
    declined: Option<Declined>,
}

/// Waits for the right to ask for a sign-in; `waiting` is called once if another process has it.
///
/// Without a folder for locks, or after a time that no question outlives, every process may ask.
///
/// The lock is on the file, not on the process: it is released when the file is closed, also by the
/// kernel. It is polled, because waiting for it would block a thread that cannot be told to stop.
///
/// Cancel safety: dropping the future closes the file; a lock that it had got is released.
pub(super) async fn take(
    vault: &Arc<KeptVault>,
    key: &GrantKey,
    waiting: impl FnOnce(),
) -> Option<Held> {
    let (kept, name) = (Arc::clone(vault), name(key));
    let opened = tokio::task::spawn_blocking(move || open(&kept.locks()?.join(name)));
    let lock = opened.await.ok()??;
    let before = Ending::read(&lock);
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
            tokio::time::sleep(SIGN_IN_TURN_POLL_INTERVAL).await;
        }
    };
    let is_ours = tokio::time::timeout(SIGN_IN_TURN_TIMEOUT, locked).await;
    if !is_ours.unwrap_or(false) {
        return None;
    }
    // What ended before we came is not about us.
    let after = Ending::read(&lock).filter(|_| waiting.is_none());
    let declined = after.filter(|after| before.is_none_or(|before| before.number != after.number));
    Some(Held {
        lock,
        declined: declined.map(|ending| ending.how),
    })
}

impl Turn for Held {
    fn declined(&self) -> Option<Declined> {
        self.declined
    }

    fn decline(&self, how: Declined) {
        let number = Ending::read(&self.lock).map_or(0, |ending| ending.number);
        let ending = Ending {
            number: number.wrapping_add(1),
            how,
        };
        // A process that cannot be told asks again.
        let _untold = self.lock.write_all_at(&ending.encode(), 0);
    }
}

/// The last question that ended without a sign-in; the lock's own file says it.
#[derive(Debug, Clone, Copy)]
struct Ending {
    number: u64,
    how: Declined,
}

impl Ending {
    fn read(file: &File) -> Option<Self> {
        let mut bytes = [0; 9];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let [number @ .., how] = bytes;
        Some(Self {
            number: u64::from_be_bytes(number),
            how: match how {
                b'n' => Declined::Refused,
                b's' => Declined::NoAnswer,
                _ => return None,
            },
        })
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = self.number.to_be_bytes().to_vec();
        bytes.push(match self.how {
            Declined::Refused => b'n',
            Declined::NoAnswer => b's',
        });
        bytes
    }
}

/// Opens the file, made for the person alone; it stays, since a process that removed it could not
/// know which others wait for it.
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

#[cfg(test)]
mod tests;
