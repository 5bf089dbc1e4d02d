//! Claims on a refresh token: making one, ending one, and the disk space that its commit needs.

use std::time::Duration;

use keyway_store::{
    Claim, ClaimId, Claimed, Fingerprint, Generation, GrantKey, GrantState, OwnerId, Timestamp,
};
use rusqlite::params;

use crate::error::VaultError;
use crate::owner::Liveness;
use crate::store::{Scope, Vault};

use super::reserve;
use super::row::{self, ClaimRow, END_CLAIM, Row};
use super::uptime::Uptime;

/// What happens to the claim of a living owner that is older than its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverdueClaim {
    Stays,
    IsReplaced,
}

/// A renewal that a living process has begun and not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenewalUnderWay {
    /// The process, where that is known.
    pub process: Option<u32>,
    /// For how long, in time that the machine ran.
    pub age: Duration,
}

/// How a claim ends without new tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClaimEnd {
    NothingSent,
    AnswerLost,
    Postponed(Duration),
}

impl Vault {
    pub(super) fn claim_from(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
        overdue: OverdueClaim,
    ) -> Result<Claim, VaultError> {
        grant.check()?;
        // Before the row is looked at: what lies there may be the successor of its token.
        self.commit_journal(grant, generation)?;
        let me = self.with_owner(|owner| owner.id().clone())?;
        // Before the claim is recorded: without disk space for the answer nothing may be sent.
        let has_reserved = self.take_reserve(grant)?;
        let claim = self.write_scope("claim a refresh", |scope| {
            let Some(row) = Row::load(scope, grant)? else {
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
            let (now, uptime) = (scope.now()?, Uptime::now());
            if let Some(held) = self.holder(&row, now, &uptime, overdue)? {
                return Ok(held);
            }
            let key = scope.load_data_key(&row.data_key)?;
            let Some(refresh) = row.open_refresh(grant, &key)? else {
                return Ok(Claim::NotRefreshable);
            };
            let postponed = postponed(&row, &uptime);
            let intent = Intent {
                owner: &me,
                fingerprint: row::fingerprint(&key, &refresh)?,
                from: now,
                until: now.after(lifetime),
                uptime,
                interrupted: row.interrupted.saturating_add(row.claim.is_some().into()),
            };
            let id = intent.record(scope, grant)?;
            Ok(Claim::Claimed(
                Claimed::new(id, refresh, intent.fingerprint)
                    .with_interrupted(intent.interrupted)
                    .with_lost_answers(row.lost_answers)
                    .with_postponed(postponed),
            ))
        });
        let is_ours = match &claim {
            Ok(Claim::Claimed(_)) => true,
            // By another thread: its commit needs the room.
            Ok(Claim::Held { owner, .. }) => *owner == me,
            _ => false,
        };
        if has_reserved && !is_ours {
            self.free_reserve(grant);
        }
        claim
    }

    /// Says which living process has been renewing a sign-in, and for how long.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the sign-in was tampered with.
    pub fn renewal_under_way(
        &self,
        grant: &GrantKey,
    ) -> Result<Option<RenewalUnderWay>, VaultError> {
        let claim = self.read_scope("read a sign-in", |scope| {
            let claim = Row::load(scope, grant)?.and_then(|row| row.claim);
            let Some(claim) = claim else { return Ok(None) };
            let age = age(&claim, scope.now()?, &Uptime::now());
            Ok(Some((OwnerId::new(claim.owner), age)))
        })?;
        let Some((owner, age)) = claim else {
            return Ok(None);
        };
        if self.owners().liveness(&owner)? == Liveness::Dead {
            return Ok(None);
        }
        let process = self.owners().process(&owner);
        Ok(Some(RenewalUnderWay { process, age }))
    }

    /// Makes this handle the owner of a claim that another process of this program made; tells
    /// whether the claim still stood.
    ///
    /// From here on the claim lives as long as this handle, and has disk space for its commit,
    /// whatever becomes of the process that made it.
    ///
    /// # Errors
    ///
    /// Returns why the vault cannot be written; the claim stays with its owner then.
    pub fn adopt_claim(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, VaultError> {
        grant.check()?;
        let me = self.with_owner(|owner| owner.id().clone())?;
        self.take_reserve(grant)?;
        let adopted = self.write_scope("adopt a claim", |scope| {
            scope
                .tx
                .execute(
                    "UPDATE grants SET claim_owner = ?4
                     WHERE profile = ?1 AND name = ?2 AND claim_epoch = ?3",
                    params![grant.profile(), grant.name(), claim.get(), me.to_string()],
                )
                .map(|rows| rows > 0)
                .map_err(VaultError::database("adopt a claim"))
        });
        if !matches!(adopted, Ok(true)) {
            self.free_reserve(grant);
        }
        adopted
    }

    /// Gives back the disk space of an adopted claim, which another process ended.
    pub fn leave_claim(&self, grant: &GrantKey) {
        self.free_reserve(grant);
    }

    /// Returns the claim that stands in the way.
    ///
    /// A living owner keeps its claim whatever the clocks say. One that cannot be seen from here
    /// keeps it for its lifetime, because nothing else would ever end it.
    fn holder(
        &self,
        row: &Row,
        now: Timestamp,
        uptime: &Uptime,
        overdue: OverdueClaim,
    ) -> Result<Option<Claim>, VaultError> {
        let Some(claim) = &row.claim else {
            return Ok(None);
        };
        let owner = OwnerId::new(&claim.owner);
        let is_overdue = age(claim, now, uptime) >= claim.lifetime;
        let is_free = match self.owners().liveness(&owner)? {
            Liveness::Dead => true,
            Liveness::Unknown => is_overdue,
            Liveness::Alive => is_overdue && overdue == OverdueClaim::IsReplaced,
        };
        Ok((!is_free).then_some(Claim::Held { owner, is_overdue }))
    }

    pub(super) fn end_claim(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        end: ClaimEnd,
    ) -> Result<bool, VaultError> {
        grant.check()?;
        let (lost, postponed) = match end {
            ClaimEnd::NothingSent => (0, None),
            ClaimEnd::AnswerLost => (1, None),
            ClaimEnd::Postponed(wait) => (0, Some(Uptime::now().after(wait))),
        };
        let ended = self.write_scope("end a claim", |scope| {
            scope
                .tx
                .execute(
                    &format!(
                        "{END_CLAIM}, lost_answers = lost_answers + ?4,
                         postponed_boot = coalesce(?5, postponed_boot),
                         postponed_uptime = coalesce(?6, postponed_uptime)
                         WHERE profile = ?1 AND name = ?2 AND claim_epoch = ?3"
                    ),
                    params![
                        grant.profile(),
                        grant.name(),
                        claim.get(),
                        lost,
                        postponed.as_ref().map(|it| &it.boot),
                        postponed.as_ref().map(|it| it.millis),
                    ],
                )
                .map(|rows| rows > 0)
                .map_err(VaultError::database("end a claim"))
        });
        self.free_reserve(grant);
        ended
    }

    /// Commits; if that fails, once more with the disk space that was reserved with the claim.
    pub(super) fn commit_in_reserve<T>(
        &self,
        grant: &GrantKey,
        commit: impl Fn() -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        let committed = commit();
        if matches!(committed, Err(VaultError::Busy)) {
            return committed;
        }
        self.free_reserve(grant);
        committed.or_else(|_| commit())
    }

    /// Reserves disk space for a sign-in that is about to be asked for.
    pub(super) fn reserve_for_sign_in(&self, grant: &GrantKey) -> Result<(), VaultError> {
        self.with_owner(|_| ())?;
        self.take_reserve(grant).map(drop)
    }

    /// Shows that this process has a new sign-in in memory alone.
    ///
    /// A file without contents: where the disk is full, there is mostly still room for a name.
    pub(super) fn mark_unstored(&self, grant: &GrantKey) {
        let me = self.with_owner(|owner| owner.id().clone());
        // What cannot be shown is held all the same.
        if let Ok(me) = me {
            reserve::show_unstored(self.data(), &me, grant);
        }
    }

    pub(super) fn unmark_unstored(&self, grant: &GrantKey) {
        if let Some(me) = self.owner_if_any() {
            reserve::hide_unstored(self.data(), &me, grant);
        }
    }

    /// Says which living process has a new sign-in in memory that it could not store: the inner
    /// `None` where its number is not known.
    #[must_use]
    pub fn unstored_sign_in(&self, grant: &GrantKey) -> Option<Option<u32>> {
        let owners = reserve::unstored(self.data(), grant);
        let is_alive = |owner: &OwnerId| {
            let found = self.owners().liveness(owner);
            found.is_ok_and(|found| found == Liveness::Alive)
        };
        let owner = owners.into_iter().find(is_alive)?;
        Some(self.owners().process(&owner))
    }

    /// Reserves disk space for a commit; tells whether there was none yet.
    fn take_reserve(&self, grant: &GrantKey) -> Result<bool, VaultError> {
        let Some(me) = self.owner_if_any() else {
            return Ok(false);
        };
        // One that cannot be looked at counts as living.
        let is_dead = |owner: &OwnerId| {
            let found = self.owners().liveness(owner);
            found.is_ok_and(|found| found == Liveness::Dead)
        };
        reserve::sweep(self.data(), is_dead);
        reserve::take(self.data(), &me, grant)
    }

    /// Ends what a claim reserved; every way out of a claim comes by here.
    pub(crate) fn free_reserve(&self, grant: &GrantKey) {
        // A handle that never claimed has no owner, and reserved nothing.
        if let Some(me) = self.owner_if_any() {
            reserve::free(self.data(), &me, grant);
        }
    }
}

/// Returns how long ago a claim was made, in time that the machine ran where that can be told.
fn age(claim: &ClaimRow, now: Timestamp, uptime: &Uptime) -> Duration {
    match &claim.uptime {
        // Its process cannot have survived that.
        Some(from) if from.is_of_another_boot_than(uptime) => Some(Duration::MAX),
        Some(from) => uptime.since(from),
        None => None,
    }
    .unwrap_or_else(|| now.since(claim.from))
}

/// Returns how long the authorization server still wants to be left alone. A reboot forgets it.
fn postponed(row: &Row, now: &Uptime) -> Option<Duration> {
    let wait = row.postponed.as_ref()?.since(now)?;
    (!wait.is_zero()).then_some(wait)
}

/// What a claim leaves on disk before any request is sent.
struct Intent<'a> {
    owner: &'a OwnerId,
    fingerprint: Fingerprint,
    from: Timestamp,
    until: Timestamp,
    uptime: Uptime,
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
                 claimed_at = ?6, claimed_until = ?7, interrupted = ?8, claim_boot = ?9,
                 claimed_uptime = ?10 WHERE profile = ?1 AND name = ?2",
                params![
                    grant.profile(),
                    grant.name(),
                    epoch,
                    self.owner.to_string(),
                    self.fingerprint.as_bytes(),
                    self.from.unix_millis(),
                    self.until.unix_millis(),
                    self.interrupted,
                    self.uptime.boot,
                    self.uptime.millis,
                ],
            )
            .map_err(failed())?;
        Ok(ClaimId::new(epoch))
    }
}
