//! The sign-ins of one person.
//!
//! A generation is the number of the sign-in, which the database gives out once, in its upper half,
//! and how often it was refreshed in its lower half. So a commit knows its generation before it is
//! sent, and is one statement.

mod claims;
mod commit;
mod import;
mod sealed;

use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{
    ChangeFeed, Claim, ClaimId, Commit, Damage, Deleted, Fingerprint, Generation, Grant, GrantKey,
    GrantState, GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, RejectionCause,
    StoppedUsers, StoreError, Timestamp, Tokens, UseMarker,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::claims::{ClaimEnd, OverdueClaim};
use self::commit::Source;
pub use self::import::Import;
use self::sealed::{ACCESS, DETAILS, Place, REFRESH};
use crate::change_feed::PostgresFeed;
use crate::error::PostgresError;
use crate::in_use;
use crate::journal::Origin;
use crate::live_replica::{LiveReplica, owner_id, parse_owner};
use crate::person::Person;
use crate::person_keys::PersonKey;
use crate::recent_commits::{REJECT, RejectionRow};
use crate::sessions::Values;

/// A [`GrantStore`] on PostgreSQL.
#[derive(Clone, Debug)]
pub struct PostgresGrants {
    replica: Arc<LiveReplica>,
    person: Person,
}

impl PostgresGrants {
    pub(crate) const fn new(replica: Arc<LiveReplica>, person: Person) -> Self {
        Self { replica, person }
    }

    fn place(&self, grant: &GrantKey) -> Result<Place, PostgresError> {
        Place::new(&self.person, grant)
    }

    /// Runs a statement on one row, whose tenant, person and hash are its first three values.
    async fn query(
        &self,
        action: &'static str,
        place: &Place,
        sql: &str,
        more: Values<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        let (tenant, person) = (self.person.tenant(), self.person.person());
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &person, &place.id];
        values.extend_from_slice(more);
        let sessions = &self.replica.sessions;
        sessions
            .query(action, Some(&self.person), sql, &values)
            .await
    }

    async fn key_named(&self, id: &[u8]) -> Result<PersonKey, PostgresError> {
        let keys = &self.replica.keys;
        keys.named(&self.replica.sessions, &self.person, id).await
    }

    async fn read_row(&self, place: &Place) -> Result<Option<Grant>, PostgresError> {
        let rows = self.query("read a sign-in", place, READ, &[]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let generation = Generation::new(row.get("generation"));
        let key = self.key_named(row.get("key_id")).await?;
        let of = (&key, generation);
        let access = place.open_text(of, ACCESS, row.get("access"))?;
        let details = match row.get::<_, Option<&[u8]>>("details") {
            Some(sealed) => place.open(of, DETAILS, sealed)?,
            None => Secret::new(Vec::new()),
        };
        let now = Timestamp::from_unix_millis(row.get("now"));
        Ok(Some(
            Grant::new(generation, access, now)
                .with_expiry(moment(row, "expires_at"))
                .with_state(state(row))
                .with_rejection_cause(rejection_cause(row))
                .with_refreshable(row.get("is_refreshable"))
                .with_details(details),
        ))
    }

    async fn read_refresh(&self, place: &Place) -> Result<Option<Secret<String>>, PostgresError> {
        let rows = self.query("read a refresh token", place, REFRESH_TOKEN, &[]);
        let rows = rows.await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let key = self.key_named(row.get("key_id")).await?;
        let generation = Generation::new(row.get("generation"));
        let refresh = place.open_text((&key, generation), REFRESH, row.get("refresh"))?;
        Ok(Some(refresh))
    }

    async fn stored_generation(&self, place: &Place) -> Result<Option<Generation>, PostgresError> {
        let rows = self
            .query("read a generation", place, GENERATION, &[])
            .await?;
        Ok(rows.first().map(|row| Generation::new(row.get(0))))
    }
}

impl GrantStore for PostgresGrants {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        let place = self.place(grant)?;
        Ok(self.replica.wait(self.read_row(&place))?)
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        let claim = self.claim_from(grant, generation, lifetime, OverdueClaim::Stays);
        Ok(self.replica.wait(claim)?)
    }

    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        let claim = self.claim_from(grant, generation, lifetime, OverdueClaim::IsReplaced);
        Ok(self.replica.wait(claim)?)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        let (committed, _) = self.commit_and_read(grant, generation, tokens)?;
        Ok(committed)
    }

    fn commit_and_read(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(Commit, Option<Grant>), StoreError> {
        let place = self.place(grant)?;
        let committed = self.commit_tokens(&place, generation, tokens, Source::TokenEndpoint);
        Ok(self.replica.wait(committed)?)
    }

    fn journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        let place = self.place(grant)?;
        Ok(self.write_journal(&place, Origin::Renewal(generation), tokens)?)
    }

    fn journal_sign_in(
        &self,
        grant: &GrantKey,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        let place = self.place(grant)?;
        Ok(self.write_journal(&place, Origin::SignIn(over), tokens)?)
    }

    fn settle_journal(&self, grant: &GrantKey) -> Result<Option<Generation>, StoreError> {
        let place = self.place(grant)?;
        Ok(self.replica.wait(self.settle(&place))?)
    }

    /// Has the person's key made and known: with it the journal is sealed if the database is away
    /// by the time that the person has consented.
    fn reserve(&self, grant: &GrantKey) -> Result<(), StoreError> {
        self.place(grant)?;
        let LiveReplica { keys, sessions, .. } = &*self.replica;
        let key = async { keys.current(sessions, &self.person).await.map(drop) };
        Ok(self.replica.wait(key)?)
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let place = self.place(grant)?;
        let ended = self.end_claim(&place, claim.get(), ClaimEnd::NothingSent);
        Ok(self.replica.wait(ended)?)
    }

    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let place = self.place(grant)?;
        let ended = self.end_claim(&place, claim.get(), ClaimEnd::AnswerLost);
        Ok(self.replica.wait(ended)?)
    }

    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError> {
        let place = self.place(grant)?;
        let ended = self.end_claim(&place, claim.get(), ClaimEnd::Postponed(wait));
        Ok(self.replica.wait(ended)?)
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        let place = self.place(grant)?;
        let marked = async {
            let mut row = RejectionRow {
                person: self.person.clone(),
                id: place.id.clone(),
                generation: generation.get(),
                fingerprint: rejected.as_bytes().to_vec(),
                interrupted: 0,
                lost_answers: 0,
            };
            let whose = (row.person.tenant(), row.person.person());
            let by = (self.replica.presence.owner, false);
            let topic = row.person.topic();
            let values = row.values(&whose, &topic, &by);
            let sessions = &self.replica.sessions;
            let marked = sessions
                .query("mark a sign-in", Some(&self.person), REJECT, &values)
                .await;
            let recent = &self.replica.recent_commits;
            let rows = match marked {
                Ok(rows) => rows,
                Err(error) => {
                    // It may be marked at a server that is gone now.
                    recent.note_rejection(row);
                    return Err(error);
                }
            };
            if let Some(found) = rows.first() {
                row.interrupted = found.get("interrupted");
                row.lost_answers = found.get("lost_answers");
                recent.note_rejection(row);
                return Ok(Marked::Marked);
            }
            let current = self.stored_generation(&place).await?;
            Ok(Marked::Superseded { current })
        };
        Ok(self.replica.wait(marked)?)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        Ok(owner_id(self.replica.presence.owner))
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        let Some(owner) = parse_owner(owner) else {
            return Ok(true);
        };
        let dead = self.replica.is_dead(owner);
        Ok(!self.replica.wait(dead)?)
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        Ok(self.replica.wait(self.orphaned())?)
    }

    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError> {
        let place = self.place(grant)?;
        Ok(self.replica.wait(self.read_refresh(&place))?)
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        Ok(Box::new(PostgresFeed::new(&self.replica, &self.person)))
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        let place = self.place(grant)?;
        let marker = in_use::mark(&self.replica, place.id);
        let marker = self.replica.wait(marker)?;
        Ok(Some(Box::new(marker)))
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        let place = self.place(grant)?;
        let stopped = in_use::stop(&self.replica, &place.id, timeout);
        Ok(self.replica.wait(stopped)?)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        let place = self.place(grant)?;
        Ok(self.replica.wait(self.put_tokens(&place, tokens))?)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        let place = self.place(grant)?;
        // Before the row: a sign-in that lies there would be stored once there is none.
        self.clear_journal(&place)?;
        let deleted = async {
            let topic = self.person.topic();
            let values: Values<'_> = &[&topic, &self.replica.presence.owner];
            let deleted = self
                .query("delete a sign-in", &place, DELETE, values)
                .await?;
            self.replica.recent_commits.forget(&self.person, &place.id);
            Ok(if deleted.is_empty() {
                Deleted::Absent
            } else {
                // The key is the person's and lives on; old rows go with the next vacuum.
                Deleted::WipePending
            })
        };
        Ok(self.replica.wait(deleted)?)
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        let listed = async {
            let person = &self.person;
            let values: Values<'_> = &[&person.tenant(), &person.person(), &profile.as_bytes()];
            let sessions = &self.replica.sessions;
            let rows = sessions.query("list sign-ins", Some(person), LIST, values);
            rows.await?.iter().map(summary).collect()
        };
        Ok(self.replica.wait(listed)?)
    }
}

fn summary(row: &Row) -> Result<GrantSummary, PostgresError> {
    let generation = Generation::new(row.get("generation"));
    Ok(GrantSummary::new(grant_of(row)?, generation)
        .with_expiry(moment(row, "expires_at"))
        .with_state(state(row))
        .with_refreshable(row.get("is_refreshable")))
}

/// Reads which sign-in a row is.
fn grant_of(row: &Row) -> Result<GrantKey, PostgresError> {
    let text = |column| std::str::from_utf8(row.get::<_, &[u8]>(column)).ok();
    let key = text("profile").and_then(|profile| GrantKey::parse(profile, text("name")?));
    key.ok_or_else(|| PostgresError::corrupt("the name of a sign-in", Damage::UnknownFormat))
}

fn moment(row: &Row, column: &str) -> Option<Timestamp> {
    let millis: Option<i64> = row.get(column);
    millis.map(Timestamp::from_unix_millis)
}

fn state(row: &Row) -> GrantState {
    if row.get("needs_reauth") {
        GrantState::NeedsReauth
    } else {
        GrantState::Good
    }
}

fn rejection_cause(row: &Row) -> RejectionCause {
    if row.get("restored") {
        return RejectionCause::Restored;
    }
    let count = |column| u32::try_from(row.get::<_, i32>(column)).unwrap_or_default();
    RejectionCause::of(count("interrupted"), count("lost_answers"))
}

/// The refresh token is not even read.
const READ: &str = "SELECT generation, key_id, access, details, expires_at, needs_reauth,
        interrupted, lost_answers, restored,
        refresh IS NOT NULL AS is_refreshable, keyway.now() AS now
    FROM keyway.grants WHERE tenant = $1 AND person = $2 AND grant_id = $3";
const REFRESH_TOKEN: &str = "SELECT generation, key_id, refresh FROM keyway.grants
    WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND refresh IS NOT NULL";
const GENERATION: &str = "SELECT generation FROM keyway.grants
    WHERE tenant = $1 AND person = $2 AND grant_id = $3";
const DELETE: &str = "WITH deleted AS (
        DELETE FROM keyway.grants WHERE tenant = $1 AND person = $2 AND grant_id = $3
        RETURNING profile, name, generation)
    SELECT pg_notify('keyway', $4)::text,
        keyway.note($1, $2, 'sign-out', 'deleted', '', $5, profile, name, generation)
    FROM deleted";
const LIST: &str = "SELECT profile, name, generation, expires_at, needs_reauth,
        refresh IS NOT NULL AS is_refreshable
    FROM keyway.grants WHERE tenant = $1 AND person = $2 AND profile = $3 ORDER BY name";
