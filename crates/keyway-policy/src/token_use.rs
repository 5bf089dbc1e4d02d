//! When gateway tokens were last used.
//!
//! It stands in a file of its own in the folder for data, not in the vault: every change of the
//! vault makes the gateway look at its servers again. The file holds hashes of tokens and times.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::gateway_token::{GatewayToken, TokenHash};
use crate::timeouts::TOKEN_USE_INTERVAL;

/// The last use of every token.
#[derive(Debug, Default)]
pub struct TokenUses {
    file: Option<PathBuf>,
    /// Held for one look or one change, never while the file is read or written.
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    /// In seconds since 1970, by the hash of the token: every request looks here.
    uses: HashMap<TokenHash, u64>,
    is_changed: bool,
    stored_at: Option<Instant>,
}

impl TokenUses {
    /// Reads what was stored in the folder for data; what cannot be read is forgotten.
    #[must_use]
    pub fn read(data: &Path) -> Self {
        let file = data.join(FILE);
        Self {
            noted: Mutex::new(Noted {
                uses: stored(&file),
                ..Noted::default()
            }),
            file: Some(file),
        }
    }

    /// Returns when a token was last used, to the minute.
    #[must_use]
    pub fn last(&self, token: &GatewayToken) -> Option<SystemTime> {
        let at = self.lock().uses.get(&token.hash()).copied()?;
        UNIX_EPOCH.checked_add(Duration::from_secs(at))
    }

    /// Notes that a token is used now.
    pub fn note(&self, token: &GatewayToken, now: SystemTime) {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let mut noted = self.lock();
        let before = noted.uses.insert(token.hash(), now);
        noted.is_changed |= before != Some(now);
    }

    /// Stores what was noted, once a minute at most.
    ///
    /// Cancel safety: the file is written to its end.
    pub async fn store_if_due(self: &Arc<Self>) {
        let is_due = {
            let noted = self.lock();
            let is_old = noted
                .stored_at
                .is_none_or(|at| at.elapsed() >= TOKEN_USE_INTERVAL);
            noted.is_changed && is_old
        };
        if is_due {
            let uses = Arc::clone(self);
            // What could not be stored is tried again with the next use.
            let _ended = tokio::task::spawn_blocking(move || uses.store()).await;
        }
    }

    /// Stores what was noted. Blocks.
    ///
    /// # Errors
    ///
    /// Returns what the system says.
    pub fn store(&self) -> io::Result<()> {
        let uses = {
            let mut noted = self.lock();
            noted.stored_at = Some(Instant::now());
            if !std::mem::take(&mut noted.is_changed) {
                return Ok(());
            }
            noted.uses.clone()
        };
        let Some(file) = &self.file else {
            return Ok(());
        };
        // Another gateway may have stored its own meanwhile.
        let mut all = stored(file);
        for (hash, at) in uses {
            let latest = all.entry(hash).or_default();
            *latest = at.max(*latest);
        }
        let mut lines: Vec<String> = all
            .iter()
            .map(|(hash, at)| format!("{hash} {at}\n"))
            .collect();
        lines.sort_unstable();
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let new = file.with_extension(std::process::id().to_string());
        File::create(&new)?.write_all(lines.concat().as_bytes())?;
        fs::rename(&new, file)
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stored(file: &Path) -> HashMap<TokenHash, u64> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    if read.is_err() {
        return HashMap::new();
    }
    let line = |line: &str| {
        let (hash, at) = line.split_once(' ')?;
        Some((hash.parse().ok()?, at.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

const FILE: &str = "gateway-token-use";
const MOST_BYTES: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_use_is_known_to_other_processes_and_two_gateways_keep_the_later() {
        let data = tempfile::tempdir().unwrap();
        let (one, other) = (TokenUses::read(data.path()), TokenUses::read(data.path()));
        let (a, b) = (
            GatewayToken::for_test("a", None),
            GatewayToken::for_test("b", None),
        );
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        one.note(&a, at(20));
        other.note(&a, at(10));
        other.note(&b, at(5));
        one.store().unwrap();
        other.store().unwrap();
        let read = TokenUses::read(data.path());
        assert_eq!((read.last(&a), read.last(&b)), (Some(at(20)), Some(at(5))));
        assert_eq!(read.last(&GatewayToken::for_test("c", None)), None);
        let text = fs::read_to_string(data.path().join(FILE)).unwrap();
        assert!(!text.contains("test"), "names stay in the vault: {text}");
    }

    #[tokio::test(start_paused = true)]
    async fn uses_are_stored_once_a_minute() {
        let data = tempfile::tempdir().unwrap();
        let uses = Arc::new(TokenUses::read(data.path()));
        let token = GatewayToken::for_test("a", None);
        let stored = || TokenUses::read(data.path()).last(&token);
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        uses.note(&token, at(1));
        uses.store_if_due().await;
        assert_eq!(stored(), Some(at(1)));
        uses.note(&token, at(2));
        uses.store_if_due().await;
        assert_eq!(stored(), Some(at(1)));
        tokio::time::advance(TOKEN_USE_INTERVAL).await;
        uses.store_if_due().await;
        assert_eq!(stored(), Some(at(2)));
    }

    #[test]
    fn a_file_of_anything_else_is_no_uses() {
        let data = tempfile::tempdir().unwrap();
        let mut file = File::create(data.path().join(FILE)).unwrap();
        file.write_all(b"\xff\n x y\nh 1x\n\n").unwrap();
        let token = GatewayToken::for_test("a", None);
        assert_eq!(TokenUses::read(data.path()).last(&token), None);
    }
}
