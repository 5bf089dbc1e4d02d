//! Moving the sign-ins of a machine's vault into the database.
//!
//! Each sign-in goes by itself, and a move that was interrupted anywhere is continued by the next:
//!
//! 1. the vault takes it out of use and keeps its tokens ([`Vault::begin_migration`]);
//! 2. the database stores it once, under the name of this move ([`PostgresGrants::import`]);
//! 3. it is read back from the database and compared;
//! 4. the vault notes that it has arrived.
//!
//! A refresh token has one holder throughout: nothing redeems it between 1 and 2.

use keyway::store::{
    Generation, Grant, GrantKey, GrantState, GrantStore as _, RecordStore as _, StoreError,
};
use keyway::vault::{Vault, VaultError};
use keyway_postgres::{Import, PostgresGrants};
use keyway_secret::Secret;
use keyway_vault::{Migration, Namespace};

use super::Database;
use crate::migration_report::{Migrated, MigrationOutcome, MigrationReport};

impl Database {
    /// Moves the sign-ins of a vault into the database, as those of a person (issuer and subject) or
    /// of the tenant, and copies the client registrations that belong to them. What cannot be moved
    /// stays in use in the vault, and is named. Blocks.
    ///
    /// `address` is what the vault says of where they went.
    ///
    /// # Errors
    ///
    /// Returns why the vault or the database cannot be used; the next call continues.
    pub fn migrate(
        &self,
        vault: &Vault,
        address: &str,
        person: Option<(&str, &str)>,
    ) -> Result<MigrationReport, StoreError> {
        let person = self.person(person)?;
        let grants = self.replica.grants(person.clone());
        let records = self.replica.records(person);
        // First, because a sign-in cannot be renewed without the client that it was made with.
        let registrations = copy_registrations(vault, &records)?;
        let mut sign_ins = Vec::new();
        let stored = vault.all_grants()?;
        for migration in vault.migrations()? {
            // A later sign-in in its place is told of below.
            if !stored.iter().any(|it| it.grant == migration.grant) {
                sign_ins.push(resume(vault, &grants, (&migration, address))?);
            }
        }
        for summary in stored {
            let grant = &summary.grant;
            let moved = match summary.state {
                GrantState::NeedsReauth => stays(grant, "it has ended; sign in again"),
                _ => move_one(vault, &grants, (grant, address))?,
            };
            sign_ins.push(moved);
        }
        Ok(MigrationReport {
            schema_version: 1,
            to: address.to_owned(),
            sign_ins,
            registrations,
        })
    }
}

fn move_one(
    vault: &Vault,
    grants: &PostgresGrants,
    (grant, address): (&GrantKey, &str),
) -> Result<Migrated, StoreError> {
    if grants.read(grant)?.is_some() {
        return Ok(conflict(grant));
    }
    match vault.begin_migration(grant, address) {
        Ok(Some(migration)) => deliver(vault, grants, &migration),
        Ok(None) => Ok(stays(grant, "the person has just signed out")),
        Err(VaultError::Busy) => Ok(stays(grant, "it is being renewed; run the command again")),
        Err(error @ VaultError::Transfer(_)) => Ok(stays(grant, &error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Continues what an earlier run began.
fn resume(
    vault: &Vault,
    grants: &PostgresGrants,
    (migration, address): (&Migration, &str),
) -> Result<Migrated, StoreError> {
    let grant = &migration.grant;
    if migration.has_arrived {
        return Ok(said(grant, MigrationOutcome::MovedBefore, None));
    }
    if migration.destination != address {
        let reason = format!(
            "it is on its way to {}; run the command with that address first",
            migration.destination
        );
        return Ok(stays(grant, &reason));
    }
    deliver(vault, grants, migration)
}

/// Stores a sign-in in the database, compares it, and notes that it is there.
fn deliver(
    vault: &Vault,
    grants: &PostgresGrants,
    migration: &Migration,
) -> Result<Migrated, StoreError> {
    let grant = &migration.grant;
    let outcome = match grants.import(grant, &migration.tokens, &migration.transfer)? {
        Import::Stored { generation } => {
            compare(grants, migration, generation)?;
            MigrationOutcome::Moved
        }
        // Nothing is left to compare: it may have been renewed there, or deleted.
        Import::Before => MigrationOutcome::Moved,
        _ => {
            vault.take_back(migration)?;
            return Ok(conflict(grant));
        }
    };
    vault.note_arrival(migration)?;
    Ok(said(grant, outcome, None))
}

/// Reads a sign-in back and compares all of it, unless a gateway has renewed it already.
fn compare(
    grants: &PostgresGrants,
    migration: &Migration,
    stored: Generation,
) -> Result<(), StoreError> {
    let grant = &migration.grant;
    let (refresh, found) = (grants.refresh_to_revoke(grant)?, grants.read(grant)?);
    let Some(found) = found.filter(|found| found.generation == stored) else {
        return Ok(());
    };
    let tokens = &migration.tokens;
    let is_same_refresh = match (&refresh, &tokens.refresh) {
        (Some(found), Some(moved)) => found.is_same_as(moved),
        (found, moved) => found.is_none() && moved.is_none(),
    };
    if is_same_refresh && is_same(&found, migration) {
        return Ok(());
    }
    // It stays on its way: the next run looks again, and the vault has the original.
    let what = "the sign-in that was just moved".to_owned();
    let how = keyway_vault::Damage::Altered;
    Err(StoreError::Corrupt { what, how })
}

fn is_same(found: &Grant, migration: &Migration) -> bool {
    let tokens = &migration.tokens;
    let nothing = Secret::new(Vec::new());
    let details = tokens.details.as_ref().unwrap_or(&nothing);
    found.access.is_same_as(&tokens.access)
        && found.details.expose() == details.expose()
        && found.expires_at.is_some() == tokens.lifetime.is_some()
}

/// Copies the registrations that the database does not have; returns how many.
fn copy_registrations(
    vault: &Vault,
    records: &keyway_postgres::PostgresRecords,
) -> Result<usize, StoreError> {
    let mut copied = 0_usize;
    for (name, record) in vault.sealed(Namespace::new("registrations")?).read_all()? {
        // The vault keeps those of all profiles; a database has one place for all.
        let Some(name) = without_profile(&name) else {
            continue;
        };
        if records.get(name).is_none() {
            records.put(name, record.value.expose())?;
            copied = copied.saturating_add(1);
        }
    }
    Ok(copied)
}

/// Takes the profile off the name of a registration: its length, a colon, and itself.
fn without_profile(name: &str) -> Option<&str> {
    let (length, rest) = name.split_once(':')?;
    let (_, name) = rest.split_at_checked(length.parse().ok()?)?;
    Some(name)
}

fn conflict(grant: &GrantKey) -> Migrated {
    let reason = "the database has another sign-in to this server; sign out of one of them";
    said(grant, MigrationOutcome::Conflict, Some(reason))
}

fn stays(grant: &GrantKey, reason: &str) -> Migrated {
    said(grant, MigrationOutcome::Stays, Some(reason))
}

fn said(grant: &GrantKey, outcome: MigrationOutcome, reason: Option<&str>) -> Migrated {
    Migrated {
        profile: grant.profile().to_owned(),
        plugin: grant.plugin_name().to_owned(),
        server: grant.server_name().to_owned(),
        account: grant.account_name().to_owned(),
        outcome,
        reason: reason.map(str::to_owned),
    }
}
