//! What became of the sign-ins: from the journals of the authorization servers, and from whether each
//! person still gets a page at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::families::{Delivery, Family, Profile, Redemption};
use crate::kill_trigger::Killed;
use crate::timeouts::{RIVAL_COMMIT_TIME, SLACK};

/// What cost a sign-in, or why a refresh token came again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// All processes lived, and every answer arrived at once.
    Nothing,
    /// The answer to the first request had not arrived after more than a moment.
    LateAnswer,
    LostAnswer,
    /// The process that had sent the token was killed meanwhile.
    Kill,
}

impl Why {
    pub(crate) const ALL: [Self; 4] = [
        Self::Nothing,
        Self::LateAnswer,
        Self::LostAnswer,
        Self::Kill,
    ];
}

/// What the sign-ins of one profile came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) sign_ins: usize,
    /// Refresh tokens that were redeemed, each counted once.
    pub(crate) renewals: usize,
    /// Requests with a refresh token that had come before, although no process had died and no answer
    /// was lost.
    pub(crate) again: usize,
    pub(crate) lost: BTreeMap<Why, usize>,
}

impl Row {
    /// Counts a sign-in, whose person got no page at the end if it is lost; returns what cost it.
    pub(crate) fn add(&mut self, family: &Family, kills: &[Killed], is_lost: bool) -> Option<Why> {
        self.sign_ins += 1;
        let (mut cost, mut redeemed) = (None, Vec::new());
        for (index, request) in family.redemptions.iter().enumerate() {
            let earlier = family.redemptions.iter().take(index);
            let same: Vec<_> = earlier.filter(|it| it.number == request.number).collect();
            if request.accepted && !redeemed.contains(&request.number) {
                redeemed.push(request.number);
            }
            if same.is_empty() {
                continue;
            }
            let why = why(family.profile, &same, request, kills);
            if matches!(why, Why::Nothing | Why::LateAnswer) {
                self.again += 1;
            }
            if !request.accepted {
                // What it was refused for first is what cost it.
                cost.get_or_insert(why);
            }
        }
        self.renewals += redeemed.len();
        if !is_lost {
            return None;
        }
        let why = cost.unwrap_or_else(|| untold(family, kills));
        *self.lost.entry(why).or_default() += 1;
        Some(why)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.sign_ins += other.sign_ins;
        self.renewals += other.renewals;
        self.again += other.again;
        for (why, count) in &other.lost {
            *self.lost.entry(*why).or_default() += count;
        }
    }

    pub(crate) fn cells(&self) -> String {
        let lost = Why::ALL.map(|why| self.lost.get(&why).copied().unwrap_or_default());
        let [nothing, late, answer, kill] = lost;
        format!(
            "{} | {} | {} | {nothing} | {late} | {answer} | {kill}",
            self.sign_ins, self.renewals, self.again
        )
    }
}

/// Says why a token came again after earlier requests with it.
fn why(profile: Profile, same: &[&Redemption], again: &Redemption, kills: &[Killed]) -> Why {
    if same.iter().any(|it| was_killed(it, kills)) {
        return Why::Kill;
    }
    if same.iter().any(|it| it.delivery == Delivery::Lost) {
        return Why::LostAnswer;
    }
    let first = same.first().map_or(again.at, |it| it.at);
    match !profile.delay().is_zero() && again.at.saturating_sub(first) > SLACK {
        true => Why::LateAnswer,
        false => Why::Nothing,
    }
}

/// Says what cost a sign-in of which no token was refused: what happened to its last request.
fn untold(family: &Family, kills: &[Killed]) -> Why {
    let Some(last) = family.redemptions.last() else {
        return Why::Nothing;
    };
    if was_killed(last, kills) {
        Why::Kill
    } else if last.delivery == Delivery::Lost {
        Why::LostAnswer
    } else if family.profile.delay().is_zero() {
        Why::Nothing
    } else {
        Why::LateAnswer
    }
}

/// Whether the process that sent a request was killed before it can have stored the answer.
fn was_killed(request: &Redemption, kills: &[Killed]) -> bool {
    let from = request.at.saturating_sub(SLACK);
    let until = request
        .answered_at
        .map_or(Duration::MAX, |at| at + RIVAL_COMMIT_TIME);
    kills.iter().any(|killed| {
        let is_its = match request.replica {
            Some(replica) => replica == killed.replica,
            // Read after its sender was gone.
            None => killed.at <= request.at + SLACK,
        };
        is_its && (from..=until).contains(&killed.at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Families;

    const LIFE: Duration = Duration::from_secs(20);

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    /// A family whose first token comes at the given seconds, sent by process 1.
    fn family(profile: Profile, at: &[u64]) -> Family {
        let mut all = Families::default();
        let (_, refresh) = all.begin(profile, 7, Duration::ZERO);
        for (index, at) in at.iter().enumerate() {
            let redeemed = all.redeem(&refresh, second(*at), LIFE);
            assert!(redeemed.is_some());
            all.sent_by((0, index), Some(1));
            all.deliver((0, index), Delivery::Written, second(*at));
        }
        all.0.remove(0)
    }

    fn counted(family: &Family, kills: &[Killed], is_lost: bool) -> Row {
        let mut row = Row::default();
        row.add(family, kills, is_lost);
        row
    }

    #[test]
    fn token_that_comes_again_without_a_cause_is_counted_and_costs_the_sign_in() {
        let row = counted(&family(Profile::Strict, &[10, 10, 10]), &[], true);
        assert_eq!((row.renewals, row.again), (1, 2));
        assert_eq!(row.lost, BTreeMap::from([(Why::Nothing, 1)]));
        let lives = counted(&family(Profile::Grace(10), &[10, 10]), &[], false);
        assert_eq!((lives.renewals, lives.again), (1, 1));
        assert!(lives.lost.is_empty());
    }

    #[test]
    fn lost_answers_late_answers_and_kills_are_told_apart() {
        let mut lost = family(Profile::StrictLosing, &[10, 12]);
        lost.redemptions[0].delivery = Delivery::Lost;
        let row = counted(&lost, &[], true);
        assert_eq!(row.lost, BTreeMap::from([(Why::LostAnswer, 1)]));
        assert_eq!(row.again, 0);
        let late = counted(&family(Profile::Slow, &[10, 15]), &[], true);
        assert_eq!(late.lost, BTreeMap::from([(Why::LateAnswer, 1)]));
        let kill = |replica, at| Killed {
            replica,
            at: second(at),
        };
        let of = |kills: &[Killed]| counted(&family(Profile::Strict, &[10, 15]), kills, true).lost;
        assert_eq!(of(&[kill(1, 11)]), BTreeMap::from([(Why::Kill, 1)]));
        // Another process, or long after.
        let other = [kill(0, 11), kill(1, 30)];
        assert_eq!(of(&other), BTreeMap::from([(Why::Nothing, 1)]));
    }

    #[test]
    fn sign_in_that_ends_without_a_refusal_is_counted_by_its_last_request() {
        let mut lost = family(Profile::StrictLosing, &[10]);
        lost.redemptions[0].delivery = Delivery::Lost;
        assert_eq!(
            counted(&lost, &[], true).lost,
            BTreeMap::from([(Why::LostAnswer, 1)])
        );
        let unused = family(Profile::Strict, &[]);
        assert_eq!(
            counted(&unused, &[], true).lost,
            BTreeMap::from([(Why::Nothing, 1)])
        );
    }

    #[test]
    fn rows_add_up() {
        let mut sum = counted(&family(Profile::Strict, &[10, 10]), &[], true);
        sum.merge(&counted(&family(Profile::Strict, &[10]), &[], false));
        assert_eq!(sum.cells(), "2 | 2 | 1 | 1 | 0 | 0 | 0");
    }
}
