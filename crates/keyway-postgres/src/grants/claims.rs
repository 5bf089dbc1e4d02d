//! Claims: made by one conditional update, and taken over from owners that died.

use std::sync::Arc;
use std::time::Duration;

use keyway_store::{
    Claim, ClaimId, Claimed, Damage, Fingerprint, Generation, GrantKey, OrphanedClaim, Timestamp,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::PostgresError;
use crate::live_replica::{owner_id, random_number};
use crate::records::millis;
use crate::sessions::Values;

use super::PostgresGrants;
use super::sealed::{Place, REFRESH};
use crate::timeouts::CLAIM_RETRY_PAUSE;

/// What happens to the claim of a living owner that is older than its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverdueClaim {
    Stays,
    IsReplaced,
}

/// How a claim ends without new tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClaimEnd {
    NothingSent,
    AnswerLost,
    Postponed(Duration),
}

impl PostgresGrants {
    pub(super) async fn claim_from(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
        overdue: OverdueClaim,
    ) -> Result<Claim, PostgresError> {
        let place = self.place(grant)?;
        // Before the row is looked at: what lies there may be the successor of its token.
        self.commit_journal(&place, generation).await?;
        // Without its lock, others may think that this replica died.
        self.replica.presence.held().await?;
        let mut free = None;
        for _ in 0..TRIES {
            let attempt = Attempt {
                id: random_number()?,
                generation,
                lifetime,
                free,
            };
            if let Some(claimed) = self.try_claim(&place, &attempt).await? {
                return Ok(Claim::Claimed(claimed));
            }
            match self.obstacle(&place, generation, overdue).await? {
                Obstacle::Answer(answer) => return Ok(answer),
                Obstacle::Freed(claim) => free = claim,
            }
        }
        Err(PostgresError::Busy)
    }

    /// Records the claim if nothing stands in its way; durable when this returns.
    async fn try_claim(
        &self,
        place: &Place,
        attempt: &Attempt,
    ) -> Result<Option<Claimed>, PostgresError> {
        let (generation, lifetime) = (attempt.generation.get(), millis(attempt.lifetime));
        let owner = self.replica.presence.owner;
        let mut values: Vec<&(dyn ToSql + Sync)> =
            vec![&generation, &attempt.id, &owner, &lifetime];
        let statement = match &attempt.free {
            None => CLAIM,
            Some(Freed { claim, cause }) => {
                values.extend([claim as &(dyn ToSql + Sync), cause]);
                TAKE_OVER
            }
        };
        let asked = self.query("claim a refresh", place, statement, &values);
        let asked = asked.await;
        let rows = match asked {
            Ok(rows) => rows,
            Err(error) => {
                // It may be recorded all the same, and no process will redeem for it.
                self.abandon(place, attempt.id);
                return Err(error);
            }
        };
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let opened = self.opened(place, attempt, row).await;
        if opened.is_err() {
            self.abandon(place, attempt.id);
        } else if let Some(taken) = &attempt.free {
            self.replica.takeovers.count(taken.cause);
        }
        opened.map(Some)
    }

    async fn opened(
        &self,
        place: &Place,
        attempt: &Attempt,
        row: &Row,
    ) -> Result<Claimed, PostgresError> {
        let key = self.key_named(row.get("key_id")).await?;
        let sealed: &[u8] = row.get("refresh");
        let refresh = place.open_text((&key, attempt.generation), REFRESH, sealed)?;
        let fingerprint = place.fingerprint(&key, &refresh)?;
        // Rejections are compared with the stored one, in the database.
        if row.get::<_, Option<&[u8]>>("fingerprint") != Some(fingerprint.as_bytes().as_slice()) {
            let what = "the fingerprint of a refresh token";
            return Err(PostgresError::corrupt(what, Damage::Altered));
        }
        let postponed: Option<i64> = row.get("postponed");
        let postponed = postponed.and_then(|millis| u64::try_from(millis).ok());
        let postponed = postponed.filter(|millis| *millis > 0);
        Ok(Claimed::new(ClaimId::new(attempt.id), refresh, fingerprint)
            .with_interrupted(count(row.get("interrupted")))
            .with_lost_answers(count(row.get("lost_answers")))
            .with_postponed(postponed.map(Duration::from_millis)))
    }

    /// Says why a claim was not recorded.
    async fn obstacle(
        &self,
        place: &Place,
        wanted: Generation,
        overdue: OverdueClaim,
    ) -> Result<Obstacle, PostgresError> {
        let owner = self.replica.presence.owner;
        let rows = self
            .query("look at a claim", place, OBSTACLE, &[&owner])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(Obstacle::Answer(Claim::Absent));
        };
        let generation = Generation::new(row.get("generation"));
        if generation != wanted {
            return Ok(Obstacle::Answer(Claim::Moved { generation }));
        }
        if row.get("needs_reauth") {
            return Ok(Obstacle::Answer(Claim::NeedsReauth));
        }
        if let Some(held) = OpenClaim::of(row) {
            let claim = held.id;
            return Ok(match self.why_free(&held, overdue).await? {
                Some(cause) => Obstacle::Freed(Some(Freed { claim, cause })),
                None => Obstacle::Answer(Claim::Held {
                    owner: owner_id(held.owner),
                    is_overdue: held.is_overdue,
                }),
            });
        }
        if !row.get::<_, bool>("is_refreshable") {
            return Ok(Obstacle::Answer(Claim::NotRefreshable));
        }
        if row.get("is_lock_free") {
            return Err(PostgresError::LostLock);
        }
        Ok(Obstacle::Freed(None))
    }

    /// Says why a claim may be replaced; `None` if it may not.
    ///
    /// A living owner keeps it whatever the clocks say. After a restart of the server all locks are
    /// free, so nothing is known of an owner that claimed before it until the claim is overdue.
    async fn why_free(
        &self,
        held: &OpenClaim,
        overdue: OverdueClaim,
    ) -> Result<Option<&'static str>, PostgresError> {
        if held.is_overdue && overdue == OverdueClaim::IsReplaced {
            return Ok(Some("overdue"));
        }
        let may_look = held.is_of_this_run || held.is_overdue;
        if may_look && !self.replica.is_dead(held.owner).await? {
            return Ok(None);
        }
        // One that is dead by its lock may have said itself that it ends.
        let has_ended = self.replica.has_ended(held.owner).await?;
        Ok(match (has_ended, may_look) {
            (true, _) => Some("replica-ended"),
            (false, true) => Some("replica-died"),
            (false, false) => None,
        })
    }

    /// Ends, as soon as the database can be reached, a claim for which nothing was sent.
    fn abandon(&self, place: &Place, claim: i64) {
        let (store, place) = (self.weak(), place.clone());
        self.replica.spawn(async move {
            loop {
                // The replica ends: then so does its claim.
                let Some(store) = store.upgrade() else { return };
                let ended = store.end_claim(&place, claim, ClaimEnd::NothingSent);
                if ended.await.is_ok() {
                    return;
                }
                drop(store);
                tokio::time::sleep(CLAIM_RETRY_PAUSE).await;
            }
        });
    }

    pub(super) async fn end_claim(
        &self,
        place: &Place,
        claim: i64,
        end: ClaimEnd,
    ) -> Result<bool, PostgresError> {
        let (lost, wait) = match end {
            ClaimEnd::NothingSent => (0_i32, None),
            ClaimEnd::AnswerLost => (1, None),
            ClaimEnd::Postponed(wait) => (0, Some(millis(wait))),
        };
        let values: Values<'_> = &[&claim, &lost, &wait, &self.replica.presence.owner];
        let rows = self.query("end a claim", place, END, values).await?;
        Ok(!rows.is_empty())
    }

    pub(super) async fn orphaned(&self) -> Result<Vec<OrphanedClaim>, PostgresError> {
        let rows = self
            .replica
            .sessions
            .query(
                "list claims",
                Some(&self.person),
                CLAIMS,
                &[&self.person.tenant(), &self.person.person()],
            )
            .await?;
        let mut orphans = Vec::new();
        for row in &rows {
            let Some(held) = OpenClaim::of(row) else {
                continue;
            };
            let free = self.why_free(&held, OverdueClaim::Stays).await?;
            if free.is_some() {
                orphans.push(orphan(row, &held)?);
            }
        }
        Ok(orphans)
    }
}

/// Why a claim was not recorded.
enum Obstacle {
    Answer(Claim),
    /// Nothing stands in the way any more, this claim excepted.
    Freed(Option<Freed>),
}

/// A claim that may be replaced, and why.
struct Freed {
    claim: i64,
    /// As the audit names it.
    cause: &'static str,
}

/// A claim that is about to be recorded.
struct Attempt {
    /// Chosen here, so that a claim whose answer is lost can be ended.
    id: i64,
    generation: Generation,
    lifetime: Duration,
    /// The claim that it may replace: exactly that one, so that only one survivor does.
    free: Option<Freed>,
}

/// A claim that was neither committed nor given back.
struct OpenClaim {
    id: i64,
    owner: i64,
    is_overdue: bool,
    /// Whether the server has not restarted since.
    is_of_this_run: bool,
}

impl OpenClaim {
    fn of(row: &Row) -> Option<Self> {
        Some(Self {
            id: row.get::<_, Option<i64>>("claim")?,
            owner: row.get::<_, Option<i64>>("claim_owner")?,
            is_overdue: row.get::<_, Option<bool>>("is_overdue")?,
            is_of_this_run: row.get::<_, Option<bool>>("is_of_this_run")?,
        })
    }
}

fn orphan(row: &Row, held: &OpenClaim) -> Result<OrphanedClaim, PostgresError> {
    let fingerprint = row.get::<_, Option<&[u8]>>("fingerprint");
    let fingerprint = fingerprint.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let grant = super::grant_of(row)?;
    let unknown = || PostgresError::corrupt("a claim", Damage::UnknownFormat);
    Ok(OrphanedClaim::new(
        grant,
        Generation::new(row.get("generation")),
        owner_id(held.owner),
        Fingerprint::new(fingerprint.ok_or_else(unknown)?),
        Timestamp::from_unix_millis(row.get("claimed_at")),
    ))
}

fn count(number: i32) -> u32 {
    number.try_into().unwrap_or(0)
}

impl PostgresGrants {
    fn weak(&self) -> WeakGrants {
        WeakGrants {
            replica: Arc::downgrade(&self.replica),
            person: self.person.clone(),
        }
    }
}

/// A store that does not keep its replica alive.
struct WeakGrants {
    replica: std::sync::Weak<crate::live_replica::LiveReplica>,
    person: crate::person::Person,
}

impl WeakGrants {
    fn upgrade(&self) -> Option<PostgresGrants> {
        let replica = self.replica.upgrade()?;
        Some(PostgresGrants::new(replica, self.person.clone()))
    }
}

/// The last condition asks the database itself whether this replica holds its lock: a link that was
/// cut may look whole from here for some seconds.
const CLAIM: &str = "UPDATE keyway.grants
    SET claim = $5, claim_owner = $6, claimed_at = keyway.now(),
        claimed_until = keyway.now() + $7, claim_server = keyway.server_start()
    WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND generation = $4
      AND NOT needs_reauth AND refresh IS NOT NULL AND claim IS NULL
      AND NOT pg_try_advisory_xact_lock_shared($6)
    RETURNING key_id, refresh, fingerprint, interrupted, lost_answers,
        postponed_until - keyway.now() AS postponed";
/// The same in place of the claim `$8`, for the cause `$9`.
const TAKE_OVER: &str = "WITH taken AS (
        UPDATE keyway.grants
        SET claim = $5, claim_owner = $6, claimed_at = keyway.now(),
            claimed_until = keyway.now() + $7, claim_server = keyway.server_start(),
            interrupted = interrupted + 1
        WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND generation = $4
          AND NOT needs_reauth AND refresh IS NOT NULL AND claim = $8
          AND NOT pg_try_advisory_xact_lock_shared($6)
        RETURNING key_id, refresh, fingerprint, interrupted, lost_answers, profile, name,
            postponed_until - keyway.now() AS postponed)
    SELECT key_id, refresh, fingerprint, interrupted, lost_answers, postponed,
        keyway.note($1, $2, 'claim', 'taken-over', $9, $6, profile, name, $4)
    FROM taken";
const OBSTACLE: &str = "SELECT generation, needs_reauth, refresh IS NOT NULL AS is_refreshable,
        claim, claim_owner, claimed_until <= keyway.now() AS is_overdue,
        claim_server = keyway.server_start() AS is_of_this_run,
        pg_try_advisory_xact_lock_shared($4) AS is_lock_free
    FROM keyway.grants WHERE tenant = $1 AND person = $2 AND grant_id = $3";
const END: &str = "WITH ended AS (UPDATE keyway.grants
    SET claim = NULL, claim_owner = NULL, claimed_at = NULL, claimed_until = NULL,
        claim_server = NULL, lost_answers = lost_answers + $5,
        postponed_until = coalesce(keyway.now() + $6, postponed_until)
    WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND claim = $4
    RETURNING profile, name, generation)
    SELECT CASE WHEN $5 > 0 THEN
        keyway.note($1, $2, 'refresh', 'answer-lost', '', $7, profile, name, generation) END
    FROM ended";
const CLAIMS: &str =
    "SELECT profile, name, generation, fingerprint, claimed_at, claim, claim_owner,
        claimed_until <= keyway.now() AS is_overdue,
        claim_server = keyway.server_start() AS is_of_this_run
    FROM keyway.grants WHERE tenant = $1 AND person = $2 AND claim IS NOT NULL";
/// Others may claim and give back between our statements, each time once more.
const TRIES: usize = 8;
