//! The grant store on SQLite.

use std::time::Duration;

use keyway_store::{
    ChangeFeed, Claim, ClaimId, Claimed, Commit, Deleted, Fingerprint, Generation, Grant, GrantKey,
    GrantState, GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, StoppedUsers, StoreError,
    Timestamp, Tokens, UseMarker,
};
use rusqlite::params;

use crate::error::VaultError;
use crate::owner;
use crate::store::{DataKey, Manifest, Scope, Vault};

use super::change_feed::SqliteChangeFeed;
use super::list;
use super::row::{self, ColumnContext, Row, manifest, save_manifest};
use super::use_marker::{self, LockFileMarker};

impl GrantStore for Vault {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        grant.check()?;
        self.read_scope("read a sign-in", |scope| {
            let Some(row) = Row::load(scope, &manifest(scope)?, grant)? else {
                return Ok(None);
            };
            let key = scope.load_data_key(&row.data_key)?;
            let access = row.open_access(grant, &key)?;
            Ok(Some(
                Grant::new(row.generation, access, scope.now()?)
                    .with_expiry(row.expires_at)
                    .with_state(row.state)
                    .with_refreshable(row.refreshable())
                    .with_details(row.open_details(grant, &key)?),
            ))
        })
        .map_err(Into::into)
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        grant.check()?;
        let me = self.owner()?;
        self.write_scope("claim a refresh", |scope| {
            let Some(row) = Row::load(scope, &manifest(scope)?, grant)? else {
                return Ok(Claim::Absent);
            };
            if row.generation != generation {
                return Ok(Claim::Moved {
                    generation: row.generation,
                });
            }
            if row.state == GrantState::NeedsReauth {
                return Ok(Claim::NeedsReauth);
            }
            let now = scope.now()?;
            if let Some((owner, until)) = self.holder(&row, now)? {
                return Ok(Claim::Held { owner, until });
            }
            let key = scope.load_data_key(&row.data_key)?;
            let Some(refresh) = row.open_refresh(grant, &key)? else {
                return Ok(Claim::NotRefreshable);
            };
            let intent = Intent {
                owner: &me,
                fingerprint: row::fingerprint(&key, &refresh)?,
                from: now,
                until: now.after(lifetime),
                interrupted: row.interrupted.saturating_add(row.claim.is_some().into()),
            };
            let id = intent.record(scope, grant)?;
            let claimed = Claimed::new(id, refresh, intent.fingerprint);
            Ok(Claim::Claimed(claimed.with_interrupted(intent.interrupted)))
        })
        .map_err(Into::into)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        grant.check()?;
        self.write_scope("keep refreshed tokens", |scope| {
            let mut manifest = manifest(scope)?;
            let row = Row::load(scope, &manifest, grant)?;
            let Some(row) = row.as_ref().filter(|row| row.generation == generation) else {
                return Ok(Commit::Superseded {
                    current: row.map(|row| row.generation),
                });
            };
            let old = scope.load_data_key(&row.data_key)?;
            let mut tokens = tokens.clone();
            if tokens.refresh.is_none() {
                tokens.refresh = row.open_refresh(grant, &old)?;
            }
            if tokens.details.is_none() {
                tokens.details = Some(row.open_details(grant, &old)?);
            }
            // After a change of the vault key, a grant gets a new data key at its first refresh.
            let key = if old.is_fresh() {
                old
            } else {
                scope.destroy_data_key(&row.data_key)?;
                scope.create_data_key()?
            };
            let generation = store(scope, &mut manifest, (grant, &key), &tokens)?;
            if row.state == GrantState::NeedsReauth {
                notify(scope)?;
            }
            Ok(Commit::Committed { generation })
        })
        .map_err(Into::into)
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        grant.check()?;
        self.write_scope("release a claim", |scope| {
            scope
                .tx
                .execute(
                    &format!("{END_CLAIM} WHERE profile = ?1 AND name = ?2 AND claim_epoch = ?3"),
                    params![grant.profile(), grant.name(), claim.get()],
                )
                .map(|rows| rows > 0)
                .map_err(VaultError::database("release a claim"))
        })
        .map_err(Into::into)
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        grant.check()?;
        self.write_scope("mark a sign-in", |scope| {
            let Some(row) = Row::load(scope, &manifest(scope)?, grant)? else {
                return Ok(Marked::Superseded { current: None });
            };
            let superseded = Marked::Superseded {
                current: Some(row.generation),
            };
            if row.generation != generation {
                return Ok(superseded);
            }
            let key = scope.load_data_key(&row.data_key)?;
            let stored = match row.open_refresh(grant, &key)? {
                Some(refresh) => Some(row::fingerprint(&key, &refresh)?),
                None => None,
            };
            if stored.as_ref() != Some(rejected) {
                return Ok(superseded);
            }
            scope
                .tx
                .execute(
                    &format!("{END_CLAIM}, needs_reauth = 1 WHERE profile = ?1 AND name = ?2"),
                    [grant.profile(), &grant.name()],
                )
                .map_err(VaultError::database("mark a sign-in"))?;
            notify(scope)?;
            Ok(Marked::Marked)
        })
        .map_err(Into::into)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        Ok(self.with_owner(|owner| owner.id().clone())?)
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        Ok(owner::is_alive(self.runtime(), owner)?)
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        let claims = self.read_scope("list claims", list::claims)?;
        let mut orphans = Vec::new();
        for orphan in claims {
            if !self.owner_alive(&orphan.owner)? {
                orphans.push(orphan);
            }
        }
        Ok(orphans)
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        Ok(Box::new(SqliteChangeFeed::new(self.connect()?)?))
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        grant.check()?;
        let marker = LockFileMarker::new(self.runtime(), grant)?;
        Ok(Some(Box::new(marker)))
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        grant.check()?;
        Ok(use_marker::stop_users(self.runtime(), grant, timeout)?)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        grant.check()?;
        let (generation, replaced) = self.write_scope("keep a sign-in", |scope| {
            let mut manifest = manifest(scope)?;
            let old = Row::load(scope, &manifest, grant)?;
            if let Some(old) = &old {
                scope.destroy_data_key(&old.data_key)?;
            }
            let key = scope.create_data_key()?;
            let generation = store(scope, &mut manifest, (grant, &key), tokens)?;
            notify(scope)?;
            Ok((generation, old.is_some()))
        })?;
        if replaced {
            self.erase_now_or_later();
        }
        Ok(generation)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        grant.check()?;
        let existed = self.write_scope("delete a sign-in", |scope| {
            let mut manifest = manifest(scope)?;
            // Not checked: what was tampered with can at least be got rid of.
            let row = Row::load_unchecked(scope, grant)?;
            if row.is_none() && manifest.expected(&grant.index()).is_none() {
                return Ok(false);
            }
            scope
                .tx
                .execute(
                    "DELETE FROM grants WHERE profile = ?1 AND name = ?2",
                    [grant.profile(), &grant.name()],
                )
                .map_err(VaultError::database("delete a sign-in"))?;
            if let Some(row) = row {
                scope.destroy_data_key(&row.data_key)?;
            }
            manifest.forget(&grant.index());
            save_manifest(scope, &manifest)?;
            notify(scope)?;
            Ok(true)
        })?;
        Ok(if existed {
            self.erase_now_or_later()
        } else {
            Deleted::Absent
        })
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        self.read_scope("list sign-ins", |scope| {
            let (mut all, problems) = list::summaries(scope)?;
            if let Some(problem) = problems.into_iter().next() {
                return Err(problem);
            }
            all.retain(|summary| summary.grant.profile() == profile);
            Ok(all)
        })
        .map_err(Into::into)
    }
}

impl Vault {
    /// Returns the owner of a claim that is still valid, and when it ends.
    fn holder(
        &self,
        row: &Row,
        now: Timestamp,
    ) -> Result<Option<(OwnerId, Timestamp)>, VaultError> {
        let Some(claim) = row.claim.as_ref().filter(|claim| claim.until > now) else {
            return Ok(None);
        };
        let owner = OwnerId::new(&claim.owner);
        let is_alive = owner::is_alive(self.runtime(), &owner)?;
        Ok(is_alive.then_some((owner, claim.until)))
    }
}

/// What a claim leaves on disk before any request is sent.
struct Intent<'a> {
    owner: &'a OwnerId,
    fingerprint: Fingerprint,
    from: Timestamp,
    until: Timestamp,
    interrupted: u32,
}

impl Intent<'_> {
    fn record(&self, scope: &Scope<'_>, grant: &GrantKey) -> Result<ClaimId, VaultError> {
        let failed = || VaultError::database("claim a refresh");
        let epoch: i64 = scope
            .tx
            .query_row(
                "UPDATE header SET epochs = epochs + 1 RETURNING epochs",
                [],
                |row| row.get(0),
            )
            .map_err(failed())?;
        scope
            .tx
            .execute(
                "UPDATE grants SET claim_epoch = ?3, claim_owner = ?4, claim_fingerprint = ?5,
                 claimed_at = ?6, claimed_until = ?7, interrupted = ?8
                 WHERE profile = ?1 AND name = ?2",
                params![
                    grant.profile(),
                    grant.name(),
                    epoch,
                    self.owner.to_string(),
                    self.fingerprint.as_bytes(),
                    self.from.unix_millis(),
                    self.until.unix_millis(),
                    self.interrupted,
                ],
            )
            .map_err(failed())?;
        Ok(ClaimId::new(epoch))
    }
}

/// Writes the next generation of a grant, and the list of contents with it.
fn store(
    scope: &Scope<'_>,
    manifest: &mut Manifest,
    (grant, key): (&GrantKey, &DataKey),
    tokens: &Tokens,
) -> Result<Generation, VaultError> {
    let generation = manifest.advance(&grant.index());
    row::write(
        scope,
        &ColumnContext {
            grant,
            generation,
            key,
        },
        tokens,
    )?;
    save_manifest(scope, manifest)?;
    Ok(generation)
}

/// Counts a change that change feeds report.
fn notify(scope: &Scope<'_>) -> Result<(), VaultError> {
    scope
        .tx
        .execute("UPDATE header SET notices = notices + 1", [])
        .map(drop)
        .map_err(VaultError::database("note a change"))
}

const END_CLAIM: &str = "UPDATE grants SET claim_epoch = NULL, claim_owner = NULL,
    claim_fingerprint = NULL, claimed_at = NULL, claimed_until = NULL";
