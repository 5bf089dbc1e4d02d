//! What the journals of the authorization servers, the store and the audit must say.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::families::{Delivery, Family, Profile, Redemption};
use crate::timeouts::{
    COMMIT_TIME, KEY_ERROR_AFTER, SECOND_QUESTION_AFTER, SLACK, STALL, STALLED, STALLED_FOR_LONG,
    TAKE_OVER, VANISHED_HOST_FOUND_WITHIN,
};
use crate::transit::Repeated;

/// What a token may come again for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// A replica was killed between its request and its commit.
    Kill,
    /// The same, and the database was restarted or replaced before a survivor could take over: locks
    /// say nothing then, and claims from before stay until their end, two minutes later.
    KillAndRestart,
    /// The host of a replica vanished, or its link was cut, for longer than others believe in it.
    Vanished,
    /// The server's answer was lost.
    LostAnswer,
    /// The standby that took over lacked the commit.
    Failover,
    /// One of these that the server's grace covers, and the machine stood still for longer than was
    /// left of that.
    Stall,
}

/// Something that was done to the replicas or the database, and may be such a cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incident {
    pub(crate) cause: Cause,
    /// The only replica that it hit, if it was one.
    pub(crate) replica: Option<usize>,
    pub(crate) from: Duration,
    pub(crate) until: Duration,
}

/// What the store has of a family at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) refresh: String,
    /// Whether the person is asked to sign in.
    pub(crate) needs_reauth: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// By profile: refreshes, tokens that came again, and sign-ins that were lost, by cause.
    pub(crate) rows: BTreeMap<usize, Row>,
    pub(crate) violations: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) families: usize,
    pub(crate) refreshes: usize,
    pub(crate) recovered: BTreeMap<Cause, usize>,
    pub(crate) lost: BTreeMap<Cause, usize>,
}

/// Everything that is looked at.
pub(crate) struct Observed<'a> {
    pub(crate) families: &'a [Family],
    pub(crate) incidents: &'a [Incident],
    /// When the database was restarted or replaced.
    pub(crate) restarts: &'a [Duration],
    /// When the storm itself was late.
    pub(crate) stalls: &'a [(Duration, Duration)],
    /// By family; only of those that were used.
    pub(crate) stored: &'a HashMap<usize, Stored>,
    /// The causes that the audit names for rejected refresh tokens, by family.
    pub(crate) audit: &'a HashMap<usize, Vec<String>>,
    /// What else the audit says of a family, to be printed with what is wrong.
    pub(crate) trail: &'a HashMap<usize, Vec<String>>,
    /// Families whose person was asked to sign in.
    pub(crate) asked: &'a HashMap<usize, Duration>,
    pub(crate) end: Duration,
}

impl Observed<'_> {
    pub(crate) fn check(&self) -> Findings {
        let mut findings = Findings::default();
        for (number, family) in self.families.iter().enumerate() {
            if family.redemptions.is_empty() && !self.stored.contains_key(&number) {
                continue;
            }
            if let Err(why) = self.check_family(number, family, &mut findings) {
                let name = family.profile.name();
                let trail = self.trail.get(&number).map(|rows| rows.join("; "));
                let text = format!(
                    "{name}, family {number}: {why}\n  {}\n  audit: {}",
                    shown(family),
                    trail.unwrap_or_default()
                );
                findings.violations.push(text);
            }
        }
        findings
    }

    fn check_family(
        &self,
        number: usize,
        family: &Family,
        findings: &mut Findings,
    ) -> Result<(), String> {
        let place = Profile::ALL.iter().position(|it| *it == family.profile);
        let row = findings.rows.entry(place.unwrap_or_default()).or_default();
        row.families += 1;
        row.refreshes += family.redemptions.iter().filter(|it| it.accepted).count();
        let mut lost = None;
        for (index, again) in repeated(family) {
            if lost.is_some() && self.is_late_answer(family, index, again) {
                continue;
            }
            let mut cause = self.cause(family, index, again)?;
            if !may_lose(family.profile, cause) && self.stalled_since(family, index, again) {
                cause = Cause::Stall;
            }
            if again.accepted {
                *row.recovered.entry(cause).or_default() += 1;
            } else {
                // What it was refused for first is what cost it.
                lost.get_or_insert(cause);
            }
        }
        let asked = self.asked.contains_key(&number);
        match (lost, self.stored.get(&number)) {
            (Some(cause @ Cause::Vanished), stored) if self.lives(family, stored) => {
                *row.recovered.entry(cause).or_default() += 1;
                Ok(())
            }
            (Some(cause), _) => {
                *row.lost.entry(cause).or_default() += 1;
                if may_lose(family.profile, cause) {
                    self.named(number, cause)
                } else {
                    Err(format!(
                        "lost by {cause:?}, which this server's grace covers"
                    ))
                }
            }
            (None, Some(stored)) if stored.needs_reauth => {
                Err("the store wants a sign-in, and no token was refused".to_owned())
            }
            (None, _) if asked => {
                Err("the person was asked to sign in, and no token was refused".to_owned())
            }
            (None, Some(stored)) => {
                let spent = family
                    .tokens
                    .iter()
                    .position(|token| *token == stored.refresh);
                let spent = spent.and_then(|number| family.first(number));
                // Its claim has not ended yet: no replica has tried the token again.
                if spent.and_then(|it| self.cause_within(it, self.end))
                    == Some(Cause::KillAndRestart)
                {
                    *row.lost.entry(Cause::KillAndRestart).or_default() += 1;
                    return Ok(());
                }
                // A server that is known to be strict gets it again only after a pause, and refuses it then.
                let is_lost = spent.is_some_and(|it| it.delivery == Delivery::Lost);
                if is_lost && may_lose(family.profile, Cause::LostAnswer) && self.is_noted(number) {
                    *row.lost.entry(Cause::LostAnswer).or_default() += 1;
                    return Ok(());
                }
                self.is_current(family, stored)
            }
            (None, None) => Err("it is not in the store".to_owned()),
        }
    }

    /// Tells whether a token was refused only because its family had ended before: it came in an answer
    /// that was on its way to a host whose link was cut, and was stored when that came back.
    fn is_late_answer(&self, family: &Family, index: usize, again: &Redemption) -> bool {
        let mut before = family.redemptions.iter().take(index);
        let is_first = before.all(|it| it.number != again.number);
        // Each accepted redemption issued the next token.
        let mut accepted = family.redemptions.iter().filter(|it| it.accepted);
        let issuing = again.number.checked_sub(1).and_then(|it| accepted.nth(it));
        let is_late = issuing.zip(family.ended).is_some_and(|(issuing, end)| {
            let answered = issuing.answered_at;
            let came_after = answered.is_some_and(|at| at > end);
            // Written to a link that was cut, it arrived when that was restored.
            let held_back = |incident: &Incident| {
                incident.cause == Cause::Vanished
                    && incident.replica == issuing.replica
                    && answered.is_some_and(|at| incident.from <= at && at <= incident.until)
            };
            end < again.at && (came_after || self.incidents.iter().any(held_back))
        });
        !again.accepted && is_first && is_late
    }

    /// Tells whether a sign-in lives although one of its tokens was refused: that did not end it, and an
    /// answer that had been held back was stored after all.
    fn lives(&self, family: &Family, stored: Option<&Stored>) -> bool {
        let is_current = |it: &Stored| !it.needs_reauth && self.is_current(family, it).is_ok();
        family.ended.is_none() && stored.is_some_and(is_current)
    }

    /// Tells whether the last word of the audit on a sign-in is that an answer was lost.
    fn is_noted(&self, number: usize) -> bool {
        let last = self.trail.get(&number).and_then(|rows| rows.last());
        last.is_some_and(|row| row.contains(" answer-lost "))
    }

    /// Says why a token may have come once more than the time before.
    fn cause(&self, family: &Family, index: usize, again: &Redemption) -> Result<Cause, String> {
        let mut earlier = family.redemptions.iter().take(index).rev();
        let Some(before) = earlier.find(|it| it.number == again.number) else {
            return Err("a token was refused that had never been good".to_owned());
        };
        let cause = self.cause_within(before, again.at);
        // It may be the request of a process that is dead, read after that of the survivor.
        let cause = cause.or_else(|| self.came_late(again).then_some(Cause::Kill));
        cause.ok_or_else(|| format!("token {} came again without a cause", again.number))
    }

    /// Tells whether a token was sent by a process that had been killed when it was read.
    fn came_late(&self, again: &Redemption) -> bool {
        let latest = again
            .at
            .saturating_sub(SLACK + self.stalled(again.at, again.at));
        let is_its_kill = |incident: &Incident| {
            incident.cause == Cause::Kill
                && (latest..=again.at).contains(&incident.from)
                && (again.replica.is_none() || again.replica == incident.replica)
        };
        self.incidents.iter().any(is_its_kill)
    }

    /// Says why what a token was redeemed for may not have been stored, by some time.
    fn cause_within(&self, before: &Redemption, by: Duration) -> Option<Cause> {
        if before.delivery == Delivery::Lost {
            return Some(Cause::LostAnswer);
        }
        let from = before
            .at
            .saturating_sub(SLACK + self.stalled(before.at, before.at));
        let until = before.answered_at.unwrap_or(self.end) + COMMIT_TIME;
        let in_time = |incident: &Incident| {
            incident.from <= until && incident.until >= from && incident.from <= by
        };
        // A kill of another replica explains nothing.
        let hit = |incident: &Incident| {
            incident
                .replica
                .is_none_or(|it| before.replica.is_none_or(|by| by == it))
        };
        let in_reach = |incident: &&Incident| in_time(incident) && hit(incident);
        // After a kill others can recover the token; the other causes count only where there was none.
        let incident = self
            .incidents
            .iter()
            .filter(in_reach)
            .min_by_key(|it| it.cause)?;
        // Between the claim and what a survivor would have needed.
        let span = from.saturating_sub(TAKE_OVER)..=incident.from + TAKE_OVER;
        let restarted = self.restarts.iter().any(|at| span.contains(at));
        Some(match incident.cause {
            Cause::Kill | Cause::Vanished if restarted => Cause::KillAndRestart,
            cause => cause,
        })
    }

    /// Tells whether the machine stood still, in the time that there was to send a token once more, for
    /// so long that it could not come within the server's grace.
    fn stalled_since(&self, family: &Family, index: usize, again: &Redemption) -> bool {
        let mut earlier = family.redemptions.iter().take(index).rev();
        let before = earlier.find(|it| it.number == again.number);
        let longest = match family.profile {
            Profile::Grace(10..) | Profile::GraceLosing => STALLED_FOR_LONG,
            _ => STALLED,
        };
        before.is_some_and(|it| self.stalled(it.at, again.at) > longest)
    }

    /// Returns for how long at most the storm was late in some time.
    fn stalled(&self, from: Duration, until: Duration) -> Duration {
        let overlaps =
            |stall: &&(Duration, Duration)| stall.0 <= until + STALL && from <= stall.1 + STALL;
        let stalls = self.stalls.iter().filter(overlaps);
        stalls
            .map(|(from, until)| until.saturating_sub(*from))
            .max()
            .unwrap_or_default()
    }

    /// The audit says that the refresh token was refused, and why that may have been.
    fn named(&self, number: usize, cause: Cause) -> Result<(), String> {
        let causes = self
            .audit
            .get(&number)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let is_named = causes.iter().any(|named| match cause {
            Cause::LostAnswer => named == "answer-lost",
            Cause::Kill | Cause::KillAndRestart | Cause::Stall | Cause::Vanished => {
                named == "replica-died" || named == "answer-lost"
            }
            Cause::Failover => !named.is_empty(),
        });
        if is_named {
            return Ok(());
        }
        Err(format!("lost by {cause:?}, and the audit says {causes:?}"))
    }

    fn is_current(&self, family: &Family, stored: &Stored) -> Result<(), String> {
        let is_it = |token: &&String| **token == stored.refresh;
        let number = family.tokens.iter().position(|token| is_it(&token));
        match number {
            None => Err("the store has a token that is not of this family".to_owned()),
            Some(number) if number + 1 == family.tokens.len() => Ok(()),
            Some(number) => Err(format!(
                "the store has token {number}, the server's current one is {}",
                family.tokens.len() - 1
            )),
        }
    }
}

/// Checks the calls that failed because the wrapping key could not be used, by when they began and
/// their status: only while it could not, and in a way that tells the client to try again.
pub(crate) fn calls_without_key(
    calls: &[(Duration, u16)],
    absences: &[(Duration, Duration)],
) -> Vec<String> {
    let is_explained = |at: Duration| {
        // One that was already waiting when the key went away, or began before it was back.
        let covers = |(from, until): &(Duration, Duration)| {
            at + KEY_ERROR_AFTER >= *from && at <= *until + SLACK
        };
        absences.iter().any(covers)
    };
    let wrong = calls.iter().filter_map(|(at, status)| {
        let at_second = at.as_secs_f32();
        if !is_explained(*at) {
            Some(format!(
                "a call at {at_second:.1} s had no wrapping key, which was there"
            ))
        } else if *status != 503 {
            let text = format!("a call at {at_second:.1} s without a wrapping key got {status}");
            Some(text)
        } else {
            None
        }
    });
    wrong.collect()
}

/// Checks the keys that a process got more than once: it has them in memory.
///
/// Two requests at the same moment are one, and so are one before a process was stopped or cut off and
/// another after that, when the time for its answer was over.
pub(crate) fn keys_asked_for_again(
    again: &[Repeated],
    stops: &[(u32, Duration, Duration)],
) -> Vec<String> {
    let stopped = |it: &Repeated| {
        let own = stops.iter().filter(|(process, ..)| *process == it.process);
        let during = own.map(|(_, from, until)| {
            let until = (*until).min(it.again);
            until.saturating_sub((*from).max(it.first))
        });
        during.sum::<Duration>()
    };
    let wrong = again.iter().filter(|it| {
        let between = it.again.saturating_sub(it.first);
        between.saturating_sub(stopped(it)) > SECOND_QUESTION_AFTER
    });
    let text = |it: &Repeated| {
        let (process, first) = (it.process, it.first.as_secs_f32());
        let again = it.again.as_secs_f32();
        format!(
            "a key in memory was asked for again: process {process} got it at {first:.1} s and again at {again:.1}"
        )
    };
    wrong.map(text).collect()
}

/// Checks the calls that no gateway answered: none of those that began and ended while replicas were
/// restarted one after the other. What begins then may end with what is done next.
pub(crate) fn calls_cut_by_restarts(
    calls: &[(Duration, Duration, String)],
    rolling: &[(Duration, Duration)],
) -> Vec<String> {
    let is_within = |began: Duration, ended: Duration| {
        let mut rolling = rolling.iter();
        rolling.any(|(from, until)| *from <= began && ended <= *until)
    };
    let cut = calls.iter().filter(|call| is_within(call.0, call.1));
    let text = |(began, ended, why): &(Duration, Duration, String)| {
        let (from, until) = (began.as_secs_f32(), ended.as_secs_f32());
        format!("a call of {from:.1} s to {until:.1} s was lost by a rolling restart: {why}")
    };
    cut.map(text).collect()
}

/// When a host vanished, and when others had the last of its claims.
pub(crate) type TakeOver = (Duration, Duration);

/// Checks how long the claims of hosts that vanished had no living owner, while the machine ran.
pub(crate) fn late_take_overs(
    take_overs: &[TakeOver],
    stalls: &[(Duration, Duration)],
) -> Vec<String> {
    let ran = |(from, until): &TakeOver| {
        let parts = stalls.iter().map(|stall| {
            let end = stall.1.min(*until);
            end.saturating_sub(stall.0.max(*from))
        });
        until.saturating_sub(*from + parts.sum::<Duration>())
    };
    let late = take_overs
        .iter()
        .filter(|it| ran(it) > VANISHED_HOST_FOUND_WITHIN);
    let text = |(from, until): &TakeOver| {
        let seconds = until.saturating_sub(*from).as_secs_f32();
        let from = from.as_secs_f32();
        format!(
            "claims of a host that vanished at {from:.1} s were taken over after {seconds:.1} s"
        )
    };
    late.map(text).collect()
}

/// Returns what came again after it was accepted, or was refused.
fn repeated(family: &Family) -> impl Iterator<Item = (usize, &Redemption)> {
    let numbered = family.redemptions.iter().enumerate();
    numbered.filter_map(|(index, it)| {
        let mut before = family.redemptions.iter().take(index);
        let is_again = before.any(|earlier| earlier.number == it.number && earlier.accepted);
        (is_again || !it.accepted).then_some((index, it))
    })
}

/// Which sign-ins a cause may cost: none where the server's grace is longer than it takes to find out.
fn may_lose(profile: Profile, cause: Cause) -> bool {
    match profile {
        Profile::TwoValid => false,
        Profile::Grace(10..) | Profile::GraceLosing => {
            matches!(cause, Cause::KillAndRestart | Cause::Stall)
        }
        Profile::Grace(_) => cause != Cause::Kill,
        _ => true,
    }
}

/// Writes down all that came of a family.
pub(crate) fn shown(family: &Family) -> String {
    let all = family.redemptions.iter().map(|it| {
        let taken = if it.accepted { "" } else { " refused" };
        let answered = it
            .answered_at
            .map_or(String::new(), |at| format!(" {:.1}", at.as_secs_f32()));
        format!(
            "{:.1}: #{}{taken} by {:?} {:?}{answered}",
            it.at.as_secs_f32(),
            it.number,
            it.replica,
            it.delivery
        )
    });
    all.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
