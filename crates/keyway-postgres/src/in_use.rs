//! Which replicas use a sign-in, and how they are asked to stop.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use keyway_store::{StoppedUsers, UseMarker};
use tokio::time::Instant;

use crate::error::PostgresError;
use crate::live_replica::{LiveReplica, random_number};
use crate::presence::{Listener, News};
use crate::sessions::Sessions;
use crate::timeouts::{UNMARK_TIMEOUT, USERS_POLL_INTERVAL};

/// A row that says that this replica uses a sign-in.
#[derive(Debug)]
pub(crate) struct PostgresMarker {
    user: Arc<User>,
    replica: Arc<LiveReplica>,
}

/// Hears when the user of a sign-in is asked to stop.
struct User {
    marker: i64,
    /// Only ever set. Relaxed: it guards no other data, and the user looks at it again and again.
    is_asked: Arc<AtomicBool>,
    sessions: Sessions,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User").finish_non_exhaustive()
    }
}

impl Listener for User {
    fn heard(&self, news: News) {
        match news {
            News::Announced => self.is_asked.store(true, Ordering::Relaxed),
            News::Missed => {
                let look = look(self.sessions.clone(), self.marker, self.is_asked.clone());
                tokio::spawn(look);
            }
        }
    }
}

/// Reads what was asked while no process listened.
async fn look(sessions: Sessions, marker: i64, is_asked: Arc<AtomicBool>) {
    let asked = sessions
        .query("look for a request to stop", None, ASKED, &[&marker])
        .await;
    // If this fails the session is lost again, and this is done again when it is back.
    if asked.is_ok_and(|rows| !rows.is_empty()) {
        is_asked.store(true, Ordering::Relaxed);
    }
}

impl UseMarker for PostgresMarker {
    fn is_stop_requested(&self) -> bool {
        self.user.is_asked.load(Ordering::Relaxed)
    }
}

impl Drop for PostgresMarker {
    fn drop(&mut self) {
        let (sessions, marker) = (self.user.sessions.clone(), self.user.marker);
        let (done, ended) = sync_channel(1);
        self.replica.spawn(async move {
            let unmarked = sessions.query("end a use", None, UNMARK, &[&marker]).await;
            drop(unmarked);
            let _ = done.try_send(());
        });
        // A row that stays is taken for a user until its replica ends.
        let _ = ended.recv_timeout(UNMARK_TIMEOUT);
    }
}

/// Shows that this replica uses a sign-in.
pub(crate) async fn mark(
    replica: &Arc<LiveReplica>,
    place: Vec<u8>,
) -> Result<PostgresMarker, PostgresError> {
    let user = Arc::new(User {
        marker: random_number()?,
        is_asked: Arc::default(),
        sessions: replica.sessions.clone(),
    });
    let listener: Arc<dyn Listener> = Arc::clone(&user) as _;
    // Before the row is there: no process can ask before we listen.
    let topic = format!("stop {}", user.marker);
    replica.presence.listen(topic, Arc::downgrade(&listener));
    replica
        .sessions
        .query(
            "show that a sign-in is in use",
            None,
            MARK,
            &[&user.marker, &replica.presence.owner, &place],
        )
        .await?;
    Ok(PostgresMarker {
        user,
        replica: Arc::clone(replica),
    })
}

/// Asks all users of a sign-in to stop, and waits for them.
pub(crate) async fn stop(
    replica: &LiveReplica,
    place: &[u8],
    timeout: Duration,
) -> Result<StoppedUsers, PostgresError> {
    let sessions = &replica.sessions;
    let end = Instant::now().checked_add(timeout);
    let rows = sessions
        .query("ask users to stop", None, ASK, &[&place])
        .await?;
    let mut dead = HashSet::new();
    let owners: HashSet<i64> = rows.iter().map(|row| row.get(1)).collect();
    for owner in owners {
        if replica.is_dead(owner).await? {
            dead.insert(owner);
        }
    }
    let living = rows.iter().filter(|row| !dead.contains(&row.get(1)));
    let asked: Vec<i64> = living.map(|row| row.get(0)).collect();
    let mut remaining = asked.len();
    while remaining > 0 {
        let left = sessions
            .query("wait for users to stop", None, LEFT, &[&asked])
            .await?;
        remaining = left.len();
        if remaining == 0 || end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        tokio::time::sleep(USERS_POLL_INTERVAL).await;
    }
    let stopped = asked.len().saturating_sub(remaining);
    Ok(StoppedUsers::new(stopped, remaining))
}

const MARK: &str = "INSERT INTO keyway.in_use (marker, owner, place) VALUES ($1, $2, $3)";
const UNMARK: &str = "DELETE FROM keyway.in_use WHERE marker = $1";
const ASKED: &str = "SELECT FROM keyway.in_use WHERE marker = $1 AND stop";
const LEFT: &str = "SELECT FROM keyway.in_use WHERE marker = ANY($1)";
/// Each user has an announcement of its own: one that begins a moment later is not meant.
const ASK: &str = "WITH asked AS (
        UPDATE keyway.in_use SET stop = true WHERE place = $1 RETURNING marker, owner)
    SELECT marker, owner, pg_notify('keyway', 'stop ' || marker)::text FROM asked";
