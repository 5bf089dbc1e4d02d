//! Whether the owner of a claim lives.
//!
//! A free lock is not death: a cut connection, a terminated session and a restart of the server free
//! the locks of replicas that live and have a request out. They take it again at once. So a lock
//! must be free in two looks, some time apart, and not be seen held in between.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::PostgresError;
use crate::sessions::Sessions;
use crate::timeouts::{OWNER_LOOK_INTERVAL, OWNER_LOOK_LIFETIME};

/// What is known of other replicas.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// Whose lock was free at our last look. Never held across an await.
    free: Mutex<HashMap<i64, Free>>,
}

/// For how long a lock was free whenever it was looked at.
#[derive(Clone, Copy, Debug)]
struct Free {
    since: Instant,
    last: Instant,
}

/// What one look shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// It said itself that it ends.
    Ended,
    Held,
    Free,
}

impl Owners {
    /// Tells whether an owner is dead; looks twice where one look could be wrong.
    pub(crate) async fn is_dead(
        &self,
        sessions: &Sessions,
        owner: i64,
    ) -> Result<bool, PostgresError> {
        loop {
            match look(sessions, owner).await? {
                Look::Ended => return Ok(true),
                Look::Held => {
                    self.lock().remove(&owner);
                    return Ok(false);
                }
                Look::Free => {}
            }
            let free_for = self.note(owner, Instant::now());
            if free_for >= OWNER_LOOK_INTERVAL {
                return Ok(true);
            }
            tokio::time::sleep(OWNER_LOOK_INTERVAL.saturating_sub(free_for)).await;
        }
    }

    /// Tells whether an owner said itself that it ends.
    pub(crate) async fn has_ended(sessions: &Sessions, owner: i64) -> Result<bool, PostgresError> {
        Ok(look(sessions, owner).await? == Look::Ended)
    }

    /// Notes a look that found the lock free; returns since when all looks did.
    fn note(&self, owner: i64, now: Instant) -> Duration {
        let mut free = self.lock();
        let fresh = Free {
            since: now,
            last: now,
        };
        let known = free.entry(owner).or_insert(fresh);
        // Between two looks that lie far apart it may have been held, and lost again just now.
        if now.saturating_duration_since(known.last) > OWNER_LOOK_LIFETIME {
            *known = fresh;
        }
        known.last = now;
        let free_for = now.saturating_duration_since(known.since);
        free.retain(|_, known| now.saturating_duration_since(known.last) <= OWNER_LOOK_LIFETIME);
        free_for
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Free>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look(sessions: &Sessions, owner: i64) -> Result<Look, PostgresError> {
    // Shared, so that those who look do not see each other; it ends with the statement.
    let rows = sessions
        .query(
            "look whether a replica lives",
            None,
            "SELECT EXISTS (SELECT FROM keyway.replicas WHERE owner = $1),
                    pg_try_advisory_xact_lock_shared($1)",
            &[&owner],
        )
        .await?;
    let row = rows.first();
    Ok(match row.map(|row| (row.get(0), row.get(1))) {
        Some((false, true)) => Look::Ended,
        Some((true, true)) => Look::Free,
        _ => Look::Held,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_lie_far_apart_count_as_the_first() {
        let owners = Owners::default();
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(owners.note(7, at(0)), Duration::ZERO);
        assert_eq!(owners.note(7, at(450)), Duration::from_millis(450));
        assert_eq!(owners.note(7, at(1800)), Duration::from_millis(1800));
        assert_eq!(owners.note(7, at(9000)), Duration::ZERO);
        owners.lock().remove(&7);
        assert_eq!(owners.note(7, at(9100)), Duration::ZERO, "it was held");
    }
}
