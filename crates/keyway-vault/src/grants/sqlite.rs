//! The grant store on SQLite.

use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{
    ChangeFeed, Claim, ClaimId, Commit, Deleted, Fingerprint, Generation, Grant, GrantKey,
    GrantState, GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, RejectionCause,
    StoppedUsers, StoreError, Timestamp, Tokens, UseMarker,
};

use crate::error::VaultError;
use crate::owner::Liveness;
use crate::store::{DataKey, Listing, Scope, Vault};
use crate::use_marker;

use super::change_feed::SqliteChangeFeed;
use super::claims::{ClaimEnd, OverdueClaim};
use super::journal::Origin;
use super::list;
use super::row::{self, ColumnContext, END_CLAIM, Row};

impl GrantStore for Vault {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        grant.check()?;
        self.read_scope("read a sign-in", |scope| {
            let Some(row) = Row::load(scope, grant)? else {
                return Ok(None);
            };
            let key = scope.load_data_key(&row.data_key)?;
            let access = row.open_access(grant, &key)?;
            Ok(Some(
                Grant::new(row.generation, access, scope.now()?)
                    .with_expiry(row.expires_at)
                    .with_state(row.state)
                    .with_rejection_cause(RejectionCause::of(row.interrupted, row.lost_answers))
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
        Ok(self.claim_from(grant, generation, lifetime, OverdueClaim::Stays)?)
    }

    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        Ok(self.claim_from(grant, generation, lifetime, OverdueClaim::IsReplaced)?)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        grant.check()?;
        self.commit_in_reserve(grant, || self.commit_once(grant, generation, tokens))
            .map_err(Into::into)
    }

    fn journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        grant.check()?;
        Ok(self.write_journal(grant, Origin::Renewal(generation), tokens)?)
    }

    fn journal_sign_in(
        &self,
        grant: &GrantKey,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        grant.check()?;
        Ok(self.write_journal(grant, Origin::SignIn(over), tokens)?)
    }

    fn settle_journal(&self, grant: &GrantKey) -> Result<Option<Generation>, StoreError> {
        grant.check()?;
        self.commit_journal_for(grant)?;
        self.unmark_unstored(grant);
        let stored = |scope: &Scope<'_>| Ok(Row::load(scope, grant)?.map(|row| row.generation));
        Ok(self.read_scope("read a sign-in", stored)?)
    }

    fn reserve(&self, grant: &GrantKey) -> Result<(), StoreError> {
        grant.check()?;
        Ok(self.reserve_for_sign_in(grant)?)
    }

    fn unreserve(&self, grant: &GrantKey) {
        self.free_reserve(grant);
    }

    fn show_unstored(&self, grant: &GrantKey) {
        self.mark_unstored(grant);
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        Ok(self.end_claim(grant, claim, ClaimEnd::NothingSent)?)
    }

    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        Ok(self.end_claim(grant, claim, ClaimEnd::AnswerLost)?)
    }

    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError> {
        Ok(self.end_claim(grant, claim, ClaimEnd::Postponed(wait))?)
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        grant.check()?;
        let marked = self.write_scope("mark a sign-in", |scope| {
            let Some(row) = Row::load(scope, grant)? else {
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
        });
        self.free_reserve(grant);
        Ok(marked?)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        Ok(self.with_owner(|owner| owner.id().clone())?)
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        Ok(self.owners().liveness(owner)? != Liveness::Dead)
    }

    fn owner_process(&self, owner: &OwnerId) -> Option<u32> {
        self.owners().process(owner)
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

    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError> {
        grant.check()?;
        self.read_scope("read a refresh token", |scope| {
            let Some(row) = Row::load(scope, grant)? else {
                return Ok(None);
            };
            let key = scope.load_data_key(&row.data_key)?;
            row.open_refresh(grant, &key)
        })
        .map_err(Into::into)
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        Ok(Box::new(SqliteChangeFeed::new(self.connect()?)?))
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        grant.check()?;
        let marker = self.use_markers().mark(&self.runtime()?, grant)?;
        Ok(Some(Box::new(marker)))
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        grant.check()?;
        Ok(use_marker::stop_users(&self.runtime()?, grant, timeout)?)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        grant.check()?;
        let put = |scope: &Scope<'_>| put_in(scope, grant, tokens);
        let (generation, replaced) =
            self.commit_in_reserve(grant, || self.write_scope("keep a sign-in", put))?;
        self.unmark_unstored(grant);
        if replaced {
            self.erase_now_or_later();
        }
        Ok(generation)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        grant.check()?;
        // Before the row: a sign-in that lies there would be stored once there is none.
        self.clear_journal(grant)?;
        let index = grant.index();
        let delete = |scope: &Scope<'_>| {
            let listing = row::listing(scope, &index)?;
            // Not checked: what was tampered with can at least be got rid of.
            let row = Row::load_unchecked(scope, grant)?;
            if row.is_none() && listing.expected().is_none() {
                return Ok(false);
            }
            remove(scope, grant, listing, row)?;
            Ok(true)
        };
        let existed =
            self.commit_in_reserve(grant, || self.write_scope("delete a sign-in", delete))?;
        Ok(if existed {
            self.erase_now_or_later()
        } else {
            Deleted::Absent
        })
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        let mut all = all(self)?;
        all.retain(|summary| summary.grant.profile() == profile);
        Ok(all)
    }
}

/// Lists the sign-ins of all profiles.
pub(crate) fn all(vault: &Vault) -> Result<Vec<GrantSummary>, VaultError> {
    vault.read_scope("list sign-ins", |scope| {
        let (all, problems) = list::summaries(scope)?;
        match problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(all),
        }
    })
}

impl Vault {
    /// Stores a sign-in in place of `over`, if that is still what is stored.
    pub(super) fn put_over(
        &self,
        grant: &GrantKey,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<Commit, VaultError> {
        let committed = self.write_scope("keep a sign-in", |scope| {
            let current = Row::load(scope, grant)?.map(|row| row.generation);
            if current != over {
                return Ok(Commit::Superseded { current });
            }
            let (generation, _) = put_in(scope, grant, tokens)?;
            Ok(Commit::Committed { generation })
        })?;
        if over.is_some() && matches!(committed, Commit::Committed { .. }) {
            self.erase_now_or_later();
        }
        Ok(committed)
    }

    pub(super) fn commit_once(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, VaultError> {
        let index = grant.index();
        self.write_scope("keep refreshed tokens", |scope| {
            let listing = row::listing(scope, &index)?;
            let row = Row::load_listed(scope, &listing, grant)?;
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
            let generation = store(scope, listing, (grant, &key), &tokens)?;
            if row.state == GrantState::NeedsReauth {
                notify(scope)?;
            }
            Ok(Commit::Committed { generation })
        })
    }
}

/// Stores a sign-in in place of an earlier one; tells whether there was one.
pub(crate) fn put_in(
    scope: &Scope<'_>,
    grant: &GrantKey,
    tokens: &Tokens,
) -> Result<(Generation, bool), VaultError> {
    let index = grant.index();
    let listing = row::listing(scope, &index)?;
    let old = Row::load_listed(scope, &listing, grant)?;
    if let Some(old) = &old {
        scope.destroy_data_key(&old.data_key)?;
    }
    let key = scope.create_data_key()?;
    let generation = store(scope, listing, (grant, &key), tokens)?;
    notify(scope)?;
    Ok((generation, old.is_some()))
}

/// Removes a sign-in of this generation and returns its tokens, with the end of the access token.
pub(crate) fn take_out(
    scope: &Scope<'_>,
    grant: &GrantKey,
    generation: Generation,
) -> Result<Option<(Tokens, Option<Timestamp>)>, VaultError> {
    let index = grant.index();
    let listing = row::listing(scope, &index)?;
    let row = Row::load_listed(scope, &listing, grant)?;
    let Some(row) = row.filter(|row| row.generation == generation) else {
        return Ok(None);
    };
    let key = scope.load_data_key(&row.data_key)?;
    let mut tokens = Tokens::new(row.open_access(grant, &key)?);
    tokens.refresh = row.open_refresh(grant, &key)?;
    tokens.details = Some(row.open_details(grant, &key)?);
    let expires_at = row.expires_at;
    remove(scope, grant, listing, Some(row))?;
    Ok(Some((tokens, expires_at)))
}

/// Says whether there is a sign-in whose refresh token was not rejected.
pub(crate) fn is_good(scope: &Scope<'_>, grant: &GrantKey) -> Result<bool, VaultError> {
    let row = Row::load(scope, grant)?;
    Ok(row.is_some_and(|row| row.state == GrantState::Good))
}

fn remove(
    scope: &Scope<'_>,
    grant: &GrantKey,
    listing: Listing<'_>,
    row: Option<Row>,
) -> Result<(), VaultError> {
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
    listing.forget(scope)?;
    notify(scope)
}

/// Writes the next generation of a grant, and the list of contents with it.
fn store(
    scope: &Scope<'_>,
    listing: Listing<'_>,
    (grant, key): (&GrantKey, &DataKey),
    tokens: &Tokens,
) -> Result<Generation, VaultError> {
    let generation = listing.advance(scope)?;
    row::write(
        scope,
        &ColumnContext {
            grant,
            generation,
            key,
        },
        tokens,
    )?;
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

/// Stores many sign-ins in one transaction, and the list of contents once.
#[cfg(test)]
pub(crate) fn fill(vault: &Vault, all: &[GrantKey], tokens: &Tokens) {
    let fill = |scope: &Scope<'_>| {
        let indexes: Vec<String> = all.iter().map(GrantKey::index).collect();
        let listed = indexes.iter().zip(1..);
        let listed = listed.map(|(index, number)| (index.as_str(), Generation::new(number)));
        for (grant, (_, generation)) in all.iter().zip(listed.clone()) {
            let key = &scope.create_data_key()?;
            let column = ColumnContext {
                grant,
                generation,
                key,
            };
            row::write(scope, &column, tokens)?;
        }
        scope.list_again(row::NAMESPACE, listed, 0)
    };
    vault.write_scope("be filled", fill).unwrap();
}
