//! What this replica committed in the last minute, sealed as it was stored, to be committed again.
//!
//! A standby that takes over may lack the last commits of the server before it. The refresh tokens
//! that it has instead are spent, and sending one costs a sign-in. So the replica that made such a
//! commit makes it again, by its generation, before it takes its lock on the new server; and no replica
//! claims there until all replicas have come back, or could have. The same goes for refresh tokens that
//! were refused: otherwise a person would not be asked to sign in, and the audit would not say why.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::error::PostgresError;
use crate::person::Person;
use crate::sessions::Values;
use crate::timeouts::{COMMIT_MEMORY, FAILOVER_POLL_INTERVAL, FAILOVER_WAIT_TIMEOUT};

/// A commit as its statement takes it.
#[derive(Clone, Debug)]
pub(crate) struct CommitRow {
    pub(crate) person: Person,
    pub(crate) id: Vec<u8>,
    /// What is replaced.
    pub(crate) generation: i64,
    pub(crate) next: i64,
    pub(crate) key_id: Vec<u8>,
    pub(crate) access: Vec<u8>,
    pub(crate) refresh: Option<Vec<u8>>,
    pub(crate) details: Option<Vec<u8>>,
    pub(crate) fingerprint: Option<Vec<u8>>,
    /// In milliseconds.
    pub(crate) lifetime: Option<i64>,
}

/// A refresh token that was refused, as its statement takes it.
#[derive(Clone, Debug)]
pub(crate) struct RejectionRow {
    pub(crate) person: Person,
    pub(crate) id: Vec<u8>,
    pub(crate) generation: i64,
    pub(crate) fingerprint: Vec<u8>,
    /// What came before, from which the cause follows; nothing where it is not known.
    pub(crate) interrupted: i32,
    pub(crate) lost_answers: i32,
}

#[derive(Clone, Debug)]
enum Change {
    Commit(CommitRow),
    Rejection(RejectionRow),
}

impl Change {
    const fn person(&self) -> &Person {
        match self {
            Self::Commit(row) => &row.person,
            Self::Rejection(row) => &row.person,
        }
    }

    fn id(&self) -> &[u8] {
        match self {
            Self::Commit(row) => &row.id,
            Self::Rejection(row) => &row.id,
        }
    }
}

/// The commits and refused refresh tokens of the last minute.
#[derive(Debug, Default)]
pub(crate) struct RecentCommits {
    /// Oldest first; never held across an await.
    kept: Mutex<VecDeque<(Instant, Change)>>,
    /// Of the server that we were with last. Never held across an await.
    timeline: Mutex<Option<String>>,
}

/// The server at the other end of a session.
#[derive(Debug)]
pub(crate) struct Server {
    timeline: Option<String>,
    /// Whether it is another one than before, and may lack commits.
    pub(crate) is_other: bool,
}

impl RecentCommits {
    /// Remembers a commit, which may come to nothing: made again, it is refused like the first time.
    pub(crate) fn note(&self, row: CommitRow) {
        self.note_at(Change::Commit(row), Instant::now());
    }

    /// Remembers a refresh token that was refused, whether or not that could be stored.
    pub(crate) fn note_rejection(&self, row: RejectionRow) {
        self.note_at(Change::Rejection(row), Instant::now());
    }

    fn note_at(&self, change: Change, now: Instant) {
        let mut kept = self.lock();
        let is_old = |at: Instant| now.saturating_duration_since(at) > COMMIT_MEMORY;
        while kept.len() >= MOST || kept.front().is_some_and(|(at, _)| is_old(*at)) {
            kept.pop_front();
        }
        kept.push_back((now, change));
    }

    /// Forgets a sign-in that a person ended or replaced.
    pub(crate) fn forget(&self, person: &Person, id: &[u8]) {
        self.lock()
            .retain(|(_, change)| change.person() != person || change.id() != id);
    }

    /// Forgets all of a person.
    pub(crate) fn forget_person(&self, person: &Person) {
        self.lock().retain(|(_, change)| change.person() != person);
    }

    /// Tells which server a session leads to.
    pub(crate) async fn meet(&self, client: &Client) -> Server {
        let asked = client.query_one(TIMELINE, &[]).await;
        let timeline = asked.and_then(|row| row.try_get::<_, String>(0)).ok();
        let known = self.timeline();
        Server {
            // One that does not say is taken for another one, which costs time and nothing else.
            is_other: timeline.is_none() || *known != timeline,
            timeline,
        }
    }

    /// Takes a server for the one that we are with.
    pub(crate) fn accept(&self, server: Server) {
        *self.timeline() = server.timeline;
    }

    /// Commits again what the server lacks; returns how many that were.
    pub(crate) async fn repeat(&self, client: &Client, owner: i64) -> Result<u64, PostgresError> {
        let changes: Vec<_> = self.lock().iter().cloned().collect();
        let mut repeated = 0;
        for (at, change) in changes {
            let topic = change.person().topic();
            let stored = match change {
                Change::Commit(mut row) => {
                    let passed = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
                    row.lifetime = row.lifetime.map(|all| all.saturating_sub(passed).max(0));
                    let whose = (row.person.tenant(), row.person.person());
                    let by = (owner, CAUSE);
                    let values = row.values(&whose, &topic, &by);
                    store_again(client, whose, (COMMIT, &values)).await?
                }
                Change::Rejection(row) => {
                    let whose = (row.person.tenant(), row.person.person());
                    let by = (owner, true);
                    let values = row.values(&whose, &topic, &by);
                    store_again(client, whose, (REJECT, &values)).await?
                }
            };
            repeated += u64::from(stored);
        }
        Ok(repeated)
    }

    fn timeline(&self) -> MutexGuard<'_, Option<String>> {
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, Change)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommitRow {
    /// Returns the values of [`COMMIT`], for a tenant and a person, from a replica for a cause.
    pub(crate) fn values<'a>(
        &'a self,
        (tenant, person): &'a (&'a str, &'a str),
        topic: &'a String,
        (owner, cause): &'a (i64, &'a str),
    ) -> [&'a (dyn ToSql + Sync); 14] {
        [
            tenant,
            person,
            &self.id,
            &self.generation,
            &self.next,
            &self.key_id,
            &self.access,
            &self.refresh,
            &self.details,
            &self.fingerprint,
            &self.lifetime,
            topic,
            owner,
            cause,
        ]
    }
}

impl RejectionRow {
    /// Returns the values of [`REJECT`], for a tenant and a person, from a replica, which does it once
    /// more or not.
    pub(crate) fn values<'a>(
        &'a self,
        (tenant, person): &'a (&'a str, &'a str),
        topic: &'a String,
        (owner, is_again): &'a (i64, bool),
    ) -> [&'a (dyn ToSql + Sync); 10] {
        [
            tenant,
            person,
            &self.id,
            &self.generation,
            &self.fingerprint,
            topic,
            owner,
            &self.interrupted,
            &self.lost_answers,
            is_again,
        ]
    }
}

/// Runs a statement for a person once more; says whether it changed anything.
async fn store_again(
    client: &Client,
    (tenant, person): (&str, &str),
    (sql, values): (&str, Values<'_>),
) -> Result<bool, PostgresError> {
    let failed = || PostgresError::statement("commit again after a failover");
    client.batch_execute("BEGIN").await.map_err(failed())?;
    let whose: Values<'_> = &[&tenant, &person];
    client.query(NAME_PERSON, whose).await.map_err(failed())?;
    let stored = client.query(sql, values).await.map_err(failed())?;
    client.batch_execute("COMMIT").await.map_err(failed())?;
    Ok(!stored.is_empty())
}

/// Waits until all replicas hold their locks, and so have made their commits again; for a while only,
/// because one that died does not come back.
pub(crate) async fn all_are_back(client: &Client) {
    let deadline = Instant::now() + FAILOVER_WAIT_TIMEOUT;
    while Instant::now() < deadline {
        let asked = client.query_one(ABSENT, &[]).await;
        match asked.and_then(|row| row.try_get::<_, i64>(0)) {
            Ok(0) => return,
            // A session that ended is noticed by its keeper.
            Err(_) if client.is_closed() => return,
            _ => tokio::time::sleep(FAILOVER_POLL_INTERVAL).await,
        }
    }
}

/// What the audit names for a commit that was made again.
const CAUSE: &str = "failover";
/// As long as a minute at a thousand renewals a second would be.
const MOST: usize = 60_000;
/// The first eight digits of a name: promotion begins another timeline.
const TIMELINE: &str = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
const ABSENT: &str = "SELECT count(*) FROM keyway.replicas r WHERE NOT EXISTS (
    SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted
      AND l.objsubid = 1 AND (l.classid::bigint << 32) | l.objid::bigint = r.owner)";
const NAME_PERSON: &str =
    "SELECT set_config('keyway.tenant', $1, true), set_config('keyway.person', $2, true)";
/// An earlier generation of the same sign-in is replaced as well: only a dump that was restored since
/// has it, and its refresh token is spent.
///
/// The cause is that of the journal, `$14`, or else what came before: it names the commit that
/// followed a takeover or a lost answer. Announced only if the sign-in counted as lost: a plain refresh concerns no other replica.
pub(crate) const COMMIT: &str = "WITH old AS (
        SELECT needs_reauth, interrupted, lost_answers FROM keyway.grants
        WHERE tenant = $1 AND person = $2 AND grant_id = $3
          AND generation BETWEEN ($4::bigint >> 32) << 32 AND $4 FOR UPDATE),
    stored AS (
        UPDATE keyway.grants
        SET generation = $5, key_id = $6, access = $7, refresh = $8, details = $9,
            fingerprint = $10, expires_at = keyway.now() + $11, needs_reauth = false,
            claim = NULL, claim_owner = NULL, claimed_at = NULL, claimed_until = NULL,
            claim_server = NULL, interrupted = 0, lost_answers = 0, postponed_until = NULL,
            restored = false
        FROM old
        WHERE tenant = $1 AND person = $2 AND grant_id = $3
          AND generation BETWEEN ($4::bigint >> 32) << 32 AND $4
        RETURNING old.needs_reauth, old.interrupted, old.lost_answers, profile, name, expires_at)
    SELECT expires_at, keyway.now() AS now, CASE WHEN needs_reauth THEN pg_notify('keyway', $12)::text END,
        keyway.note($1, $2, 'refresh', 'committed',
            CASE WHEN $14::text <> '' THEN $14 WHEN lost_answers > 0 THEN 'answer-lost'
                 WHEN interrupted > 0 THEN 'replica-died' ELSE '' END, $13, profile, name, $5)
    FROM stored";

/// What came before is told with it: a claim that was taken over may be lacking as well. The cause is
/// that of [`RejectionCause::of`](keyway_store::RejectionCause::of).
pub(crate) const REJECT: &str = "WITH marked AS (
        UPDATE keyway.grants
        SET needs_reauth = true, claim = NULL, claim_owner = NULL, claimed_at = NULL,
            claimed_until = NULL, claim_server = NULL,
            interrupted = greatest(interrupted, $8), lost_answers = greatest(lost_answers, $9)
        WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND generation = $4
          AND fingerprint = $5 AND NOT ($10 AND needs_reauth)
        RETURNING profile, name, generation, interrupted, lost_answers)
    SELECT interrupted, lost_answers, pg_notify('keyway', $6)::text,
        keyway.note($1, $2, 'refresh', 'rejected',
            CASE WHEN lost_answers > 0 THEN 'answer-lost' WHEN interrupted > 0 THEN 'replica-died'
                 ELSE 'server' END, $7, profile, name, generation)
    FROM marked";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn row(id: u8) -> CommitRow {
        CommitRow {
            person: Person::new("acme", "https://idp.example ada").unwrap(),
            id: vec![id],
            generation: 1,
            next: 2,
            key_id: Vec::new(),
            access: Vec::new(),
            refresh: None,
            details: None,
            fingerprint: None,
            lifetime: None,
        }
    }

    #[test]
    fn commits_are_remembered_for_a_minute_and_not_after_a_sign_out() {
        let recent = RecentCommits::default();
        let start = Instant::now();
        for (id, second) in [(1, 0), (2, 30), (3, 61)] {
            recent.note_at(Change::Commit(row(id)), start + Duration::from_secs(second));
        }
        let ids = || -> Vec<u8> { recent.lock().iter().map(|(_, it)| it.id()[0]).collect() };
        assert_eq!(ids(), [2, 3]);
        recent.forget(&row(2).person, &[2]);
        assert_eq!(ids(), [3]);
        recent.forget_person(&row(3).person);
        assert_eq!(ids(), [0; 0]);
    }
}
