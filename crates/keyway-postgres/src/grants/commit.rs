//! Storing tokens: at sign-in, after a refresh, and from the journal.

use keyway_secret::Secret;
use keyway_store::{Commit, Generation, Grant, Timestamp, Tokens};
use tokio_postgres::types::ToSql;

use crate::error::PostgresError;
use crate::journal::{self, Entry, Origin};
use crate::person_keys::PersonKey;
use crate::recent_commits::{COMMIT, CommitRow};
use crate::sessions::Values;

use super::sealed::{DETAILS, Place, REFRESH, SealedTokens};
use super::{PostgresGrants, moment};

/// Where committed tokens come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    TokenEndpoint,
    Journal,
}

impl Source {
    /// Returns the cause that the audit names, if there is one.
    const fn cause(self) -> &'static str {
        match self {
            Self::TokenEndpoint => "",
            Self::Journal => "journal",
        }
    }
}

impl PostgresGrants {
    /// Stores a sign-in as the first generation of a new number.
    pub(super) async fn put_tokens(
        &self,
        place: &Place,
        tokens: &Tokens,
    ) -> Result<Generation, PostgresError> {
        for _ in 0..TRIES {
            if let Some(generation) = self.put_once(place, tokens, PUT, &[]).await? {
                return Ok(generation);
            }
            // Another sign-in with a later number was stored first: ours is the newer one.
        }
        Err(PostgresError::Busy)
    }

    /// Stores a sign-in in place of this generation, or of none; what has replaced that since stays.
    async fn put_over(
        &self,
        place: &Place,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<(), PostgresError> {
        let over = over.map(Generation::get);
        self.put_once(place, tokens, PUT_OVER, &[&over]).await?;
        Ok(())
    }

    /// Stores a sign-in if the statement finds nothing in its way; returns its generation.
    async fn put_once(
        &self,
        place: &Place,
        tokens: &Tokens,
        statement: &str,
        more: Values<'_>,
    ) -> Result<Option<Generation>, PostgresError> {
        let sessions = &self.replica.sessions;
        let key = self.replica.keys.current(sessions, &self.person).await?;
        let generation = self.next_sign_in().await?;
        let new = SealedTokens::new(place, generation, &key, tokens)?;
        let topic = self.person.topic();
        let profile = place.grant.profile().as_bytes();
        let name = place.grant.name().into_bytes();
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![
            &profile,
            &name,
            &new.generation,
            &new.key_id,
            &new.access,
            &new.refresh,
            &new.details,
            &new.fingerprint,
            &new.lifetime,
            &topic,
            &self.replica.presence.owner,
        ];
        values.extend_from_slice(more);
        let stored = self
            .query("store a sign-in", place, statement, &values)
            .await?;
        self.replica.recent_commits.forget(&self.person, &place.id);
        Ok((!stored.is_empty()).then_some(generation))
    }

    /// Numbers a new sign-in: the first of its generations.
    pub(super) async fn next_sign_in(&self) -> Result<Generation, PostgresError> {
        let sessions = &self.replica.sessions;
        let rows = sessions.query("number a sign-in", None, NUMBER, &[]);
        let number: i64 = rows.await?.first().map_or(0, |row| row.get(0));
        Ok(Generation::new(number << REFRESHES))
    }

    /// Replaces a generation by the next, whichever owner has the claim; returns what is stored then,
    /// if that is it.
    pub(super) async fn commit_tokens(
        &self,
        place: &Place,
        generation: Generation,
        tokens: &Tokens,
        source: Source,
    ) -> Result<(Commit, Option<Grant>), PostgresError> {
        let sessions = &self.replica.sessions;
        let key = match self.replica.keys.cached(&self.person) {
            Some(key) => key,
            None => self.replica.keys.current(sessions, &self.person).await?,
        };
        let Some(tokens) = self.completed(place, generation, tokens).await? else {
            return self.superseded(place).await;
        };
        let next = Generation::new(generation.get().saturating_add(1));
        let new = SealedTokens::new(place, next, &key, &tokens)?;
        let row = CommitRow {
            person: self.person.clone(),
            id: place.id.clone(),
            generation: generation.get(),
            next: new.generation,
            key_id: new.key_id,
            access: new.access,
            refresh: new.refresh,
            details: new.details,
            fingerprint: new.fingerprint,
            lifetime: new.lifetime,
        };
        // Before it is sent: an answer that is lost leaves a commit behind that may be lost as well.
        self.replica.recent_commits.note(row.clone());
        let whose = (row.person.tenant(), row.person.person());
        let by = (self.replica.presence.owner, source.cause());
        let topic = row.person.topic();
        let values = row.values(&whose, &topic, &by);
        let rows = sessions
            .query("commit a refresh", Some(&self.person), COMMIT, &values)
            .await?;
        let Some(stored) = rows.first() else {
            return self.superseded(place).await;
        };
        let now = Timestamp::from_unix_millis(stored.get("now"));
        let details = tokens.details.unwrap_or_else(|| Secret::new(Vec::new()));
        let grant = Grant::new(next, tokens.access, now)
            .with_expiry(moment(stored, "expires_at"))
            .with_refreshable(tokens.refresh.is_some())
            .with_details(details);
        Ok((Commit::Committed { generation: next }, Some(grant)))
    }

    async fn superseded(&self, place: &Place) -> Result<(Commit, Option<Grant>), PostgresError> {
        let current = self.stored_generation(place).await?;
        Ok((Commit::Superseded { current }, None))
    }

    /// Adds what a refresh did not return from the generation that it replaces (RFC 6749
    /// section 6); `None` if that is not the stored one.
    ///
    /// Read apart from the commit, which holds only if the generation is still the same.
    async fn completed(
        &self,
        place: &Place,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Option<Tokens>, PostgresError> {
        let mut tokens = tokens.clone();
        if tokens.refresh.is_some() && tokens.details.is_some() {
            return Ok(Some(tokens));
        }
        let rows = self
            .query("read a sign-in", place, KEPT, &[&generation.get()])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let key: PersonKey = self.key_named(row.get("key_id")).await?;
        let of = (&key, generation);
        if let (None, Some(sealed)) = (&tokens.refresh, row.get::<_, Option<&[u8]>>("refresh")) {
            tokens = tokens.with_refresh(place.open_text(of, REFRESH, sealed)?);
        }
        if let (None, Some(sealed)) = (&tokens.details, row.get::<_, Option<&[u8]>>("details")) {
            tokens = tokens.with_details(place.open(of, DETAILS, sealed)?);
        }
        Ok(Some(tokens))
    }

    /// Keeps tokens in the folder of the journal, sealed with a key that is in memory: the database
    /// may be away.
    ///
    /// Of sign-ins over the same one the last counts: what a person does later is what they want.
    pub(super) fn write_journal(
        &self,
        place: &Place,
        origin: Origin,
        tokens: &Tokens,
    ) -> Result<(), PostgresError> {
        let none = || PostgresError::Journal { source: None };
        let folder = self.replica.settings.journal.as_ref().ok_or_else(none)?;
        // The owner of the claim has opened the refresh token with it, and a sign-in has reserved it.
        let key = self.replica.keys.cached(&self.person).ok_or_else(none)?;
        let written = journal::write(folder, (&self.person, &place.grant, origin), &key, tokens)?;
        if matches!(origin, Origin::SignIn(_)) {
            let is_same = |entry: &Entry| entry.open(&key).is_some_and(|(it, _)| it == origin);
            // One that stays is as good as this one, and only the second choice.
            let entries = self.journaled(place).unwrap_or_default();
            let earlier = entries.iter().filter(|entry| entry.path != written);
            earlier.filter(|it| is_same(it)).for_each(Entry::remove);
        }
        Ok(())
    }

    /// Lists what the journal holds of this sign-in.
    fn journaled(&self, place: &Place) -> Result<Vec<Entry>, PostgresError> {
        let Some(folder) = &self.replica.settings.journal else {
            return Ok(Vec::new());
        };
        let mut entries = journal::list(folder).map_err(|source| PostgresError::Journal {
            source: Some(source),
        })?;
        entries.retain(|entry| entry.person == self.person && entry.grant == place.grant);
        Ok(entries)
    }

    /// Forgets what the journal holds of this sign-in.
    pub(super) fn clear_journal(&self, place: &Place) -> Result<(), PostgresError> {
        self.journaled(place)?.iter().for_each(Entry::remove);
        Ok(())
    }

    /// Commits what the journal holds of this sign-in.
    ///
    /// Fails if it may hold the successor of this generation and that cannot be stored now: then
    /// nothing may be redeemed.
    pub(super) async fn commit_journal(
        &self,
        place: &Place,
        generation: Generation,
    ) -> Result<(), PostgresError> {
        for entry in self.journaled(place)? {
            match self.commit_entry(place, &entry).await {
                Err(error) if entry.generation == Some(generation) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Commits all that the journal holds of this sign-in; returns what is stored then.
    pub(super) async fn settle(&self, place: &Place) -> Result<Option<Generation>, PostgresError> {
        for entry in self.journaled(place)? {
            self.commit_entry(place, &entry).await?;
        }
        self.stored_generation(place).await
    }

    async fn commit_entry(&self, place: &Place, entry: &Entry) -> Result<(), PostgresError> {
        // A key that is gone took the sign-in with it: the person signed out.
        let key = match self.key_named(&entry.key_id).await {
            Ok(key) => key,
            Err(PostgresError::Corrupt { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        match entry.open(&key) {
            Some((Origin::Renewal(generation), tokens)) => {
                self.commit_tokens(place, generation, &tokens, Source::Journal)
                    .await?;
            }
            Some((Origin::SignIn(over), tokens)) => self.put_over(place, over, &tokens).await?,
            None => return Ok(()),
        }
        entry.remove();
        Ok(())
    }
}

const NUMBER: &str = "SELECT nextval('keyway.sign_ins')";
/// A sign-in never replaces one with a later number.
const PUT: &str = "WITH stored AS (
        INSERT INTO keyway.grants AS old (tenant, person, grant_id, profile, name, generation,
            key_id, access, refresh, details, fingerprint, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, keyway.now() + $12)
        ON CONFLICT (tenant, person, grant_id) DO UPDATE
        SET generation = EXCLUDED.generation, key_id = EXCLUDED.key_id, access = EXCLUDED.access,
            refresh = EXCLUDED.refresh, details = EXCLUDED.details,
            fingerprint = EXCLUDED.fingerprint, expires_at = EXCLUDED.expires_at,
            needs_reauth = false, claim = NULL, claim_owner = NULL, claimed_at = NULL,
            claimed_until = NULL, claim_server = NULL, interrupted = 0, lost_answers = 0,
            postponed_until = NULL, restored = false
        WHERE old.generation < EXCLUDED.generation
        RETURNING 1)
    SELECT pg_notify('keyway', $13)::text,
        keyway.note($1, $2, 'sign-in', 'stored', '', $14, $4, $5, $6)
    FROM stored";
/// A sign-in over the one of this generation, `$15`, or over none: a person who signed out since, or
/// in again, wants that. The lock makes a sign-out at the same moment wait, and find what is stored.
const PUT_OVER: &str = "WITH replaced AS (
        SELECT 1 FROM keyway.grants
        WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND generation = $15 FOR UPDATE),
    stored AS (
        INSERT INTO keyway.grants AS old (tenant, person, grant_id, profile, name, generation,
            key_id, access, refresh, details, fingerprint, expires_at)
        SELECT $1, $2, $3, $4::bytea, $5::bytea, $6::bigint, $7::bytea, $8::bytea, $9::bytea,
            $10::bytea, $11::bytea, keyway.now() + $12::bigint
        WHERE $15::bigint IS NULL OR EXISTS (SELECT 1 FROM replaced)
        ON CONFLICT (tenant, person, grant_id) DO UPDATE
        SET generation = EXCLUDED.generation, key_id = EXCLUDED.key_id, access = EXCLUDED.access,
            refresh = EXCLUDED.refresh, details = EXCLUDED.details,
            fingerprint = EXCLUDED.fingerprint, expires_at = EXCLUDED.expires_at,
            needs_reauth = false, claim = NULL, claim_owner = NULL, claimed_at = NULL,
            claimed_until = NULL, claim_server = NULL, interrupted = 0, lost_answers = 0,
            postponed_until = NULL, restored = false
        WHERE old.generation = $15
        RETURNING 1)
    SELECT pg_notify('keyway', $13)::text,
        keyway.note($1, $2, 'sign-in', 'stored', 'journal', $14, $4, $5, $6)
    FROM stored";
const KEPT: &str = "SELECT key_id, refresh, details FROM keyway.grants
    WHERE tenant = $1 AND person = $2 AND grant_id = $3 AND generation = $4";
/// How many bits of a generation count refreshes.
const REFRESHES: u32 = 32;
const TRIES: usize = 8;
