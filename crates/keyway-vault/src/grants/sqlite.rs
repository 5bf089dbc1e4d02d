//! The grant store on SQLite.

use std::time::Duration;

use rusqlite::params;

use crate::error::VaultError;
use crate::store::{DataKey, Deleted, Generation, Manifest, Scope, Timestamp, Vault};

use super::list;
use super::owner::{self, OwnerId};
use super::presence::{self, Attendance};
use super::row::{self, Place, Row};
use super::watch::SqliteWatch;
use super::{
    Claim, Claimed, Commit, Dismissed, Epoch, Fingerprint, Grant, GrantKey, GrantState, GrantStore,
    Marked, Orphan, Presence, Summary, Tokens, Watch,
};

impl GrantStore for Vault {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, VaultError> {
        grant.check()?;
        self.read_scope("read a sign-in", |scope| {
            let Some(row) = Row::load(scope, &manifest(scope)?, grant)? else {
                return Ok(None);
            };
            let key = scope.load_data_key(&row.data_key)?;
            Ok(Some(Grant {
                generation: row.generation,
                access: row.open_access(grant, &key)?,
                expires_at: row.expires_at,
                now: scope.now()?,
                state: row.state,
                refreshable: row.refreshable(),
                details: row.open_details(grant, &key)?,
            }))
        })
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, VaultError> {
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
            let epoch = intent.record(scope, grant)?;
            let Intent {
                fingerprint,
                interrupted,
                ..
            } = intent;
            Ok(Claim::Claimed(Claimed {
                epoch,
                refresh,
                fingerprint,
                interrupted,
            }))
        })
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, VaultError> {
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
    }

    fn release(&self, grant: &GrantKey, epoch: Epoch) -> Result<bool, VaultError> {
        grant.check()?;
        self.write_scope("release a claim", |scope| {
            scope
                .tx
                .execute(
                    &format!("{END_CLAIM} WHERE profile = ?1 AND name = ?2 AND claim_epoch = ?3"),
                    params![grant.profile(), grant.name(), epoch.0],
                )
                .map(|rows| rows > 0)
                .map_err(VaultError::database("release a claim"))
        })
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, VaultError> {
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
    }

    fn owner(&self) -> Result<OwnerId, VaultError> {
        self.with_owner(|owner| owner.id().clone())
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, VaultError> {
        owner::is_alive(self.runtime(), owner)
    }

    fn orphans(&self) -> Result<Vec<Orphan>, VaultError> {
        let claims = self.read_scope("list claims", list::claims)?;
        let mut orphans = Vec::new();
        for orphan in claims {
            if !self.owner_alive(&orphan.owner)? {
                orphans.push(orphan);
            }
        }
        Ok(orphans)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, VaultError> {
        Ok(Box::new(SqliteWatch::new(self.connect()?)?))
    }

    fn attend(&self, grant: &GrantKey) -> Result<Option<Box<dyn Presence>>, VaultError> {
        grant.check()?;
        let attendance = Attendance::new(self.runtime(), grant)?;
        Ok(Some(Box::new(attendance)))
    }

    fn dismiss(&self, grant: &GrantKey, patience: Duration) -> Result<Dismissed, VaultError> {
        grant.check()?;
        presence::dismiss(self.runtime(), grant, patience)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, VaultError> {
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

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, VaultError> {
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
            scope.save_manifest(NAMESPACE, &manifest)?;
            notify(scope)?;
            Ok(true)
        })?;
        Ok(if existed {
            self.erase_now_or_later()
        } else {
            Deleted::Absent
        })
    }

    fn list(&self, profile: &str) -> Result<Vec<Summary>, VaultError> {
        self.read_scope("list sign-ins", |scope| {
            let (mut all, problems) = list::summaries(scope)?;
            if let Some(problem) = problems.into_iter().next() {
                return Err(problem);
            }
            all.retain(|summary| summary.grant.profile() == profile);
            Ok(all)
        })
    }
}

impl Vault {
    /// Returns who holds a claim that still counts.
    fn holder(
        &self,
        row: &Row,
        now: Timestamp,
    ) -> Result<Option<(OwnerId, Timestamp)>, VaultError> {
        let Some(claim) = row.claim.as_ref().filter(|claim| claim.until > now) else {
            return Ok(None);
        };
        match OwnerId::parse(&claim.owner) {
            Some(owner) if self.owner_alive(&owner)? => Ok(Some((owner, claim.until))),
            _ => Ok(None),
        }
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
    fn record(&self, scope: &Scope<'_>, grant: &GrantKey) -> Result<Epoch, VaultError> {
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
                    self.fingerprint.0,
                    self.from.0,
                    self.until.0,
                    self.interrupted,
                ],
            )
            .map_err(failed())?;
        Ok(Epoch(epoch))
    }
}

pub(super) fn manifest(scope: &Scope<'_>) -> Result<Manifest, VaultError> {
    scope.manifest(NAMESPACE)
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
        &Place {
            grant,
            generation,
            key,
        },
        tokens,
    )?;
    scope.save_manifest(NAMESPACE, manifest)?;
    Ok(generation)
}

/// Tells watchers that something happened.
fn notify(scope: &Scope<'_>) -> Result<(), VaultError> {
    scope
        .tx
        .execute("UPDATE header SET notices = notices + 1", [])
        .map(drop)
        .map_err(VaultError::database("tell others"))
}

/// No namespace of records can have this name.
const NAMESPACE: &str = "Grants";
const END_CLAIM: &str = "UPDATE grants SET claim_epoch = NULL, claim_owner = NULL,
    claim_fingerprint = NULL, claimed_at = NULL, claimed_until = NULL";
