//! Every step that can be taken in a state, and what it leads to.

use super::store::ClaimAnswer;
use super::{
    ExchangeEnd, Fault, NEVER, Process, Rotation, Rules, Stage, State, UnansweredEnd, Wire,
};

/// One step. The number says which process takes it, or to which it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Action {
    Read(usize),
    Claim(usize),
    Release(usize),
    Send(usize),
    Redeem(usize),
    /// The request or its answer is lost.
    Lose(usize),
    /// The server takes more than a minute to read the request.
    Delay(usize),
    ReadAnswer(usize),
    GiveUp(usize),
    AnswerLost(usize),
    Commit(usize),
    Journal(usize),
    MarkReauth(usize),
    Stop(usize),
    Resume(usize),
    Die(usize),
    Start(usize),
    SetClock,
    ClaimGrowsOverdue,
}

impl Action {
    /// Says whether it happens if nothing more goes wrong: what every state must be able to
    /// continue by.
    pub(super) const fn is_fair(self) -> bool {
        !matches!(
            self,
            Self::Lose(_)
                | Self::Delay(_)
                | Self::Stop(_)
                | Self::Die(_)
                | Self::SetClock
                | Self::ClaimGrowsOverdue
        )
    }

    /// Returns which process asks the store something, if that is what it does.
    pub(super) const fn asks_the_store(self) -> Option<usize> {
        match self {
            Self::Read(number)
            | Self::Claim(number)
            | Self::Release(number)
            | Self::AnswerLost(number)
            | Self::Commit(number)
            | Self::Journal(number)
            | Self::MarkReauth(number) => Some(number),
            _ => None,
        }
    }

    fn of_process(number: usize) -> impl Iterator<Item = Self> {
        [
            Self::Read(number),
            Self::Claim(number),
            Self::Release(number),
            Self::Send(number),
            Self::Redeem(number),
            Self::Lose(number),
            Self::Delay(number),
            Self::ReadAnswer(number),
            Self::GiveUp(number),
            Self::AnswerLost(number),
            Self::Commit(number),
            Self::Journal(number),
            Self::MarkReauth(number),
            Self::Stop(number),
            Self::Resume(number),
            Self::Die(number),
            Self::Start(number),
        ]
        .into_iter()
    }
}

impl State {
    /// Returns every step that can be taken, with the state after it. A step may lead back to the
    /// state it was taken in: a claim that is held.
    pub(in super::super) fn steps(&self, rules: &Rules) -> Vec<(Action, Self)> {
        if self.fault.is_some() {
            return Vec::new();
        }
        let of_processes = (0..self.processes.len()).flat_map(Action::of_process);
        of_processes
            .chain([Action::SetClock, Action::ClaimGrowsOverdue])
            .filter_map(|action| Some((action, self.after(action, rules)?.inspect(rules))))
            .collect()
    }

    fn after(&self, action: Action, rules: &Rules) -> Option<Self> {
        match action {
            Action::SetClock => self.clock_set(),
            Action::ClaimGrowsOverdue => self.claim_overdue(),
            Action::Redeem(number) => self.redeemed(number, rules),
            Action::Lose(number) => self.lost(number),
            Action::Delay(number) => self.delayed(number),
            Action::Stop(number) => self.stopped(number),
            Action::Resume(number) => self.resumed(number),
            Action::Die(number) => self.dead(number),
            Action::Start(number) => self.started(number),
            Action::Read(number) => self.running(number)?.read(number),
            Action::Claim(number) => self.running(number)?.claimed(number, rules),
            Action::Release(number) => self.running(number)?.released(number),
            Action::Send(number) => self.running(number)?.sent(number),
            Action::ReadAnswer(number) => self.running(number)?.answered(number),
            Action::GiveUp(number) => self.running(number)?.given_up(number, rules),
            Action::AnswerLost(number) => self.running(number)?.answer_lost(number, rules),
            Action::Commit(number) => self.running(number)?.committed(number),
            Action::Journal(number) => self.running(number)?.journaled(number),
            Action::MarkReauth(number) => self.running(number)?.marked(number),
        }
    }

    /// A copy to change, if the process can take a step.
    fn running(&self, number: usize) -> Option<Self> {
        let process = self.process(number);
        (process.stage != Stage::Dead && !process.is_stopped).then_some(*self)
    }

    fn to(mut self, number: usize, stage: Stage) -> Self {
        self.set(number, |process| process.stage = stage);
        self
    }

    fn read(self, number: usize) -> Option<Self> {
        let is_wanted = self.process(number).stage == Stage::Idle && !self.is_over();
        let seen = Stage::Seen {
            generation: self.store.generation,
            has_waited: false,
        };
        is_wanted.then(|| self.to(number, seen))
    }

    fn claimed(mut self, number: usize, rules: &Rules) -> Option<Self> {
        let process = self.process(number);
        let Stage::Seen {
            generation,
            has_waited,
        } = process.stage
        else {
            return None;
        };
        let owner = self.store.claim.map(|held| held.owner);
        let is_alive = owner.is_some_and(|owner| self.is_alive(owner));
        let me = (number, process.life);
        let before = self.store.generation;
        let answer = self.store.claim(generation, me, is_alive, rules);
        if self.store.generation != before {
            // What lay in the journal.
            self.budget.refreshes = self.budget.refreshes.saturating_sub(1);
        }
        let stage = match answer {
            ClaimAnswer::Claimed {
                token,
                interrupted,
                lost_answers,
            } => Stage::Claimed {
                generation,
                token,
                has_cause: interrupted + lost_answers > 0,
                has_waited,
            },
            // It matters only to a process whose time for the answer is what waiting left of it.
            ClaimAnswer::Held { .. } => Stage::Seen {
                generation,
                has_waited: rules.exchange == ExchangeEnd::RestOfCallerTimeout,
            },
            ClaimAnswer::Moved | ClaimAnswer::NeedsReauth => Stage::Idle,
        };
        Some(self.to(number, stage))
    }

    /// Too little of the claim is left to send anything.
    fn released(mut self, number: usize) -> Option<Self> {
        let process = self.process(number);
        if !matches!(process.stage, Stage::Claimed { .. }) {
            return None;
        }
        self.store.end_claim((number, process.life));
        Some(self.to(number, Stage::Idle))
    }

    fn sent(mut self, number: usize) -> Option<Self> {
        let Stage::Claimed {
            generation,
            token,
            has_cause,
            has_waited,
        } = self.process(number).stage
        else {
            return None;
        };
        // An earlier request of this process may still be on its way; one at a time is enough.
        if self.process(number).wire != Wire::Quiet {
            return None;
        }
        self.set(number, |process| {
            process.wire = Wire::Request { token };
            process.was_stopped = false;
        });
        let sent = Stage::Sent {
            generation,
            token,
            has_cause,
            has_waited,
        };
        Some(self.to(number, sent))
    }

    /// The server reads a request, also one whose sender has died since.
    fn redeemed(&self, number: usize, rules: &Rules) -> Option<Self> {
        let process = self.process(number);
        let (Wire::Request { token } | Wire::Late { token }) = process.wire else {
            return None;
        };
        let mut state = *self;
        let is_again = token != state.server.current;
        let answer = match rules.rotation {
            Rotation::None => Wire::Issued { new: token },
            Rotation::Strict if is_again || state.server.is_revoked => {
                state.server.is_revoked = true;
                if is_again && !state.is_excused(token) {
                    state.fault = Some(Fault::RedeemedTwice);
                }
                Wire::Rejected
            }
            Rotation::Strict | Rotation::Grace => {
                state.server.current += 1;
                let new = state.server.current;
                Wire::Issued { new }
            }
        };
        let is_awaited = matches!(process.stage, Stage::Sent { .. });
        state.set(number, |process| {
            process.wire = match process.wire {
                Wire::Late { .. } if is_awaited => Wire::Silence,
                _ if is_awaited => answer,
                _ => Wire::Quiet,
            };
        });
        Some(state)
    }

    fn lost(&self, number: usize) -> Option<Self> {
        let process = self.process(number);
        let is_under_way = matches!(
            process.wire,
            Wire::Request { .. } | Wire::Issued { .. } | Wire::Rejected
        );
        let Stage::Sent { token, .. } = process.stage else {
            return None;
        };
        let mut state = *self;
        state.budget.lost = state.budget.lost.checked_sub(1).filter(|_| is_under_way)?;
        state.excuse(token);
        state.set(number, |process| process.wire = Wire::Silence);
        Some(state)
    }

    fn delayed(&self, number: usize) -> Option<Self> {
        let Wire::Request { token } = self.process(number).wire else {
            return None;
        };
        let mut state = *self;
        state.budget.lost = state.budget.lost.checked_sub(1)?;
        state.excuse(token);
        state.set(number, |process| process.wire = Wire::Late { token });
        Some(state)
    }

    fn answered(mut self, number: usize) -> Option<Self> {
        let process = self.process(number);
        let Stage::Sent {
            generation,
            token,
            has_cause,
            ..
        } = process.stage
        else {
            return None;
        };
        let stage = match process.wire {
            Wire::Issued { new } => Stage::Issued {
                generation,
                token,
                new,
            },
            Wire::Rejected => Stage::Rejected {
                generation,
                token,
                has_cause,
            },
            _ => return None,
        };
        self.set(number, |process| process.wire = Wire::Quiet);
        Some(self.to(number, stage))
    }

    /// The process stops waiting; what is on the wire is dropped with its connection, but a request
    /// that has left is still read by the server.
    fn given_up(self, number: usize, rules: &Rules) -> Option<Self> {
        let process = self.process(number);
        let Stage::Sent { has_waited, .. } = process.stage else {
            return None;
        };
        let may = match rules.exchange {
            ExchangeEnd::Silence => false,
            ExchangeEnd::CallerTimeout => true,
            ExchangeEnd::RestOfCallerTimeout => has_waited,
            ExchangeEnd::WallClock => process.was_stopped,
        };
        let mut state = self;
        match process.wire {
            Wire::Silence | Wire::Late { .. } => {}
            // The server has read it by then: it was only slow to answer.
            Wire::Request { .. } if may => state = state.redeemed(number, rules)?,
            _ if may => {}
            _ => return None,
        }
        state.set(number, |process| {
            if !matches!(process.wire, Wire::Late { .. }) {
                process.wire = Wire::Quiet;
            }
        });
        Some(state.to(number, Stage::Unanswered))
    }

    fn answer_lost(mut self, number: usize, rules: &Rules) -> Option<Self> {
        let process = self.process(number);
        if process.stage != Stage::Unanswered {
            return None;
        }
        let was_held = self.store.end_claim((number, process.life));
        if was_held && rules.unanswered == UnansweredEnd::Counted {
            self.store.lost_answers += 1;
        }
        Some(self.to(number, Stage::Idle))
    }

    fn committed(mut self, number: usize) -> Option<Self> {
        let (Stage::Issued {
            generation, new, ..
        }
        | Stage::Journaled { generation, new }) = self.process(number).stage
        else {
            return None;
        };
        if self.store.commit(generation, new) {
            self.budget.refreshes = self.budget.refreshes.saturating_sub(1);
        }
        Some(self.to(number, Stage::Idle))
    }

    /// The store cannot take the tokens: they are put where they survive the process.
    fn journaled(mut self, number: usize) -> Option<Self> {
        let Stage::Issued {
            generation, new, ..
        } = self.process(number).stage
        else {
            return None;
        };
        // One at a time keeps the model small; the entries of two grants have nothing to do with
        // each other.
        if self.store.journal.is_some() {
            return None;
        }
        self.budget.journals = self.budget.journals.checked_sub(1)?;
        self.store.journal = Some((generation, new));
        Some(self.to(number, Stage::Journaled { generation, new }))
    }

    fn marked(mut self, number: usize) -> Option<Self> {
        let Stage::Rejected {
            generation,
            token,
            has_cause,
        } = self.process(number).stage
        else {
            return None;
        };
        // A token that no process redeemed is rejected because an older one came again, from a
        // process that died two generations ago: no claim of this generation can know.
        let was_redeemed = token != self.server.current;
        if self.store.mark_reauth(generation, token) && was_redeemed && !has_cause {
            self.fault = Some(Fault::CauseUnknown);
        }
        Some(self.to(number, Stage::Idle))
    }

    fn stopped(&self, number: usize) -> Option<Self> {
        let mut state = self.running(number)?;
        state.budget.stops = state.budget.stops.checked_sub(1)?;
        state.set(number, |process| {
            process.is_stopped = true;
            process.was_stopped = true;
        });
        Some(state)
    }

    fn resumed(&self, number: usize) -> Option<Self> {
        let mut state = *self;
        state.set(number, |process| process.is_stopped = false);
        (state != *self).then_some(state)
    }

    /// A process dies, stopped or not. What it had sent is still read by the server.
    fn dead(&self, number: usize) -> Option<Self> {
        let Process { stage, wire, .. } = self.process(number);
        if stage == Stage::Dead {
            return None;
        }
        let mut state = *self;
        state.budget.deaths = state.budget.deaths.checked_sub(1)?;
        // The window: from the request to the commit or the journal.
        match stage {
            Stage::Sent { token, .. } | Stage::Issued { token, .. } => state.excuse(token),
            _ => {}
        }
        state.set(number, |process| {
            process.stage = Stage::Dead;
            process.is_stopped = false;
            process.wire = match wire {
                Wire::Request { .. } | Wire::Late { .. } => wire,
                _ => Wire::Quiet,
            };
        });
        Some(state)
    }

    /// Another process takes the place of one that died.
    fn started(&self, number: usize) -> Option<Self> {
        let process = self.process(number);
        let died = process.stage == Stage::Dead && process.life != NEVER;
        if !died || process.wire != Wire::Quiet || self.is_over() {
            return None;
        }
        let mut state = *self;
        state.set(number, |process| {
            process.stage = Stage::Idle;
            process.life += 1;
        });
        Some(state)
    }

    fn clock_set(&self) -> Option<Self> {
        let mut state = *self;
        state.budget.clock_steps = state.budget.clock_steps.checked_sub(1)?;
        let held = state.store.claim.as_mut()?;
        held.is_past_by_wall_clock = true;
        Some(state)
    }

    fn claim_overdue(&self) -> Option<Self> {
        let mut state = *self;
        state.budget.overdue = state.budget.overdue.checked_sub(1)?;
        let held = state.store.claim.as_mut().filter(|held| !held.is_overdue)?;
        held.is_overdue = true;
        Some(state)
    }
}
