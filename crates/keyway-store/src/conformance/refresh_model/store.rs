//! The store of the model: what a backend must answer.

use super::{DeadClaim, JournalUse, LivingClaim, Rotation, Rules};

/// One stored grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct Store {
    pub(super) generation: u8,
    /// The refresh token.
    pub(super) token: u8,
    pub(super) needs_reauth: bool,
    pub(super) claim: Option<HeldClaim>,
    pub(super) interrupted: u8,
    pub(super) lost_answers: u8,
    /// A generation and the token that is to replace it.
    pub(super) journal: Option<(u8, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct HeldClaim {
    /// Which process, in which of its lives. It ends a claim before it makes another.
    pub(super) owner: (usize, u8),
    pub(super) is_overdue: bool,
    /// Whether the wall clock was set beyond its end.
    pub(super) is_past_by_wall_clock: bool,
}

/// What a claim is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimAnswer {
    Claimed {
        token: u8,
        interrupted: u8,
        lost_answers: u8,
    },
    Held {
        is_overdue: bool,
    },
    Moved,
    NeedsReauth,
}

impl Store {
    /// The refresh token that the next claim would get.
    pub(super) const fn stored(&self, journal: JournalUse) -> u8 {
        match (self.journal, journal) {
            (Some((generation, new)), JournalUse::BeforeTheNextClaim)
                if generation == self.generation =>
            {
                new
            }
            _ => self.token,
        }
    }

    pub(super) fn claim(
        &mut self,
        generation: u8,
        owner: (usize, u8),
        is_owner_alive: bool,
        rules: &Rules,
    ) -> ClaimAnswer {
        if let (Some((from, new)), JournalUse::BeforeTheNextClaim) = (self.journal, rules.journal) {
            self.journal = None;
            self.commit(from, new);
        }
        if self.generation != generation {
            return ClaimAnswer::Moved;
        }
        if self.needs_reauth {
            return ClaimAnswer::NeedsReauth;
        }
        if let Some(held) = &self.claim {
            let is_free = if is_owner_alive {
                is_living_claim_free(held, rules)
            } else {
                rules.dead_claim == DeadClaim::IsTakenOver
            };
            if !is_free {
                let is_overdue = held.is_overdue;
                return ClaimAnswer::Held { is_overdue };
            }
            self.interrupted += 1;
        }
        self.claim = Some(HeldClaim {
            owner,
            is_overdue: false,
            is_past_by_wall_clock: false,
        });
        ClaimAnswer::Claimed {
            token: self.token,
            interrupted: self.interrupted,
            lost_answers: self.lost_answers,
        }
    }

    /// Stores a token by its generation; says whether it did.
    pub(super) fn commit(&mut self, generation: u8, new: u8) -> bool {
        if self.generation != generation {
            return false;
        }
        *self = Self {
            generation: generation + 1,
            token: new,
            // A journal of this generation is superseded by the tokens that it holds, too.
            journal: self.journal.filter(|(from, _)| *from != generation),
            ..Self::default()
        };
        true
    }

    /// Ends a claim; says whether it was held.
    pub(super) fn end_claim(&mut self, owner: (usize, u8)) -> bool {
        self.claim.take_if(|held| held.owner == owner).is_some()
    }

    /// Says whether the rejected token was the stored one.
    pub(super) fn mark_reauth(&mut self, generation: u8, token: u8) -> bool {
        let is_stored = self.generation == generation && self.token == token;
        if is_stored {
            self.needs_reauth = true;
            self.claim = None;
        }
        is_stored
    }
}

fn is_living_claim_free(held: &HeldClaim, rules: &Rules) -> bool {
    match rules.living_claim {
        // A token that stays the same may be redeemed twice.
        LivingClaim::Stays => held.is_overdue && rules.rotation == Rotation::None,
        LivingClaim::EndsByWallClock => held.is_overdue || held.is_past_by_wall_clock,
        LivingClaim::EndsByLifetime => held.is_overdue,
    }
}
