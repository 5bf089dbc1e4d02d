//! Taking over a sign-in from another store, once.

use keyway_store::{Generation, GrantKey, StoreError, Tokens};

use super::PostgresGrants;
use super::sealed::{Place, SealedTokens};
use crate::error::PostgresError;
use crate::sessions::Values;

/// What became of a sign-in that was to be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Import {
    /// It is stored now.
    Stored {
        /// As this generation.
        generation: Generation,
    },
    /// An earlier call stored it, whatever has become of it since.
    Before,
    /// Another sign-in is stored under this name, and stays.
    Occupied,
}

impl PostgresGrants {
    /// Stores a sign-in that another store held until now, unless one is stored under its name.
    ///
    /// `transfer` names this one move: the call can be repeated after any failure, also after the
    /// sign-in was renewed or deleted here, and stores nothing twice.
    ///
    /// # Errors
    ///
    /// Returns why it is not known whether it is stored.
    pub fn import(
        &self,
        grant: &GrantKey,
        tokens: &Tokens,
        transfer: &str,
    ) -> Result<Import, StoreError> {
        let place = self.place(grant)?;
        let imported = async {
            if self.has_imported(transfer).await? {
                return Ok(Import::Before);
            }
            match self.import_once(&place, tokens, transfer).await? {
                Some(generation) => Ok(Import::Stored { generation }),
                // Ours, if the answer of an earlier call was lost between the two statements.
                None if self.has_imported(transfer).await? => Ok(Import::Before),
                None => Ok(Import::Occupied),
            }
        };
        Ok(self.replica.wait(imported)?)
    }

    async fn has_imported(&self, transfer: &str) -> Result<bool, PostgresError> {
        let person = &self.person;
        let id = self.transfer_id(transfer);
        let values: Values<'_> = &[&person.tenant(), &person.person(), &id];
        let sessions = &self.replica.sessions;
        let rows = sessions.query("look for a move", Some(person), MOVE, values);
        Ok(!rows.await?.is_empty())
    }

    async fn import_once(
        &self,
        place: &Place,
        tokens: &Tokens,
        transfer: &str,
    ) -> Result<Option<Generation>, PostgresError> {
        let sessions = &self.replica.sessions;
        let key = self.replica.keys.current(sessions, &self.person).await?;
        let generation = self.next_sign_in().await?;
        let new = SealedTokens::new(place, generation, &key, tokens)?;
        let topic = self.person.topic();
        let profile = place.grant.profile().as_bytes();
        let name = place.grant.name().into_bytes();
        let id = self.transfer_id(transfer);
        let values: Values<'_> = &[
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
            &id,
        ];
        let stored = self.query("store a sign-in", place, IMPORT, values).await?;
        Ok((!stored.is_empty()).then_some(generation))
    }

    fn transfer_id(&self, transfer: &str) -> Vec<u8> {
        let named = self.person.place("postgres import").text(transfer);
        named.digest().to_vec()
    }
}

const MOVE: &str = "SELECT FROM keyway.records
    WHERE tenant = $1 AND person = $2 AND kind = 'import' AND record_id = $3";
/// The sign-in and the record of its move, or neither.
const IMPORT: &str = "WITH stored AS (
        INSERT INTO keyway.grants (tenant, person, grant_id, profile, name, generation,
            key_id, access, refresh, details, fingerprint, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, keyway.now() + $12)
        ON CONFLICT DO NOTHING
        RETURNING key_id),
    moved AS (
        INSERT INTO keyway.records (tenant, person, kind, record_id, key_id, value)
        SELECT $1, $2, 'import', $15, key_id, ''::bytea FROM stored
        RETURNING 1)
    SELECT pg_notify('keyway', $13)::text,
        keyway.note($1, $2, 'sign-in', 'stored', 'migrated', $14, $4, $5, $6)
    FROM moved";
