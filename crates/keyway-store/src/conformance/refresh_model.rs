//! A model of the refresh protocol, small enough that every order of its steps can be tried.
//!
//! Some processes share one grant and one authorization server that rotates refresh tokens. The
//! steps are those of the engine (read, claim, send, read the answer, commit, journal, give back) and
//! those of the world: the server redeems, an answer is lost or late, a process is stopped,
//! continues, dies or starts, the clock is set, a claim grows older than its lifetime.
//!
//! ```text
//!   Idle ─ read ─▶ Seen ─ claim ─▶ Claimed ─ send ─▶ Sent ─ read the answer ─▶ Issued ─ commit ─▶ Idle
//!    ▲              │ ▲ │             │                │                         │  └─ journal ─┐
//!    │◀── moved ────┘ └─┘ held        │ release        │ give up                 ▼              ▼
//!    └────────────────────────────────┘       Unanswered ─ answer_lost ─▶ Idle  commit ◀─── Journaled
//! ```
//!
//! [`explore`] visits every state that can be reached; [`Rules`] can be changed to what earlier
//! versions did, and then a property fails. [`replay`] does the same steps on a real store, whose
//! answers must be those of the model: so neither can change without the other.

#![cfg_attr(
    not(test),
    expect(dead_code, reason = "only the tests of this crate change the rules")
)]

pub(super) mod explore;
pub(super) mod replay;
mod step;
mod store;

#[cfg(test)]
mod tests;

pub(super) use self::step::Action;
use self::store::Store;

/// How many processes there are at most.
pub(super) const MOST_PROCESSES: usize = 3;

/// Everything that can differ between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    processes: [Process; MOST_PROCESSES],
    pub(super) store: Store,
    server: Server,
    budget: Budget,
    /// A bit for each refresh token whose redemption was interrupted by a death in the window, or
    /// whose answer never came: what may cost a sign-in.
    excused: u8,
    fault: Option<Fault>,
}

/// A process, with what is on its way between it and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Process {
    stage: Stage,
    wire: Wire,
    is_stopped: bool,
    /// Whether it was stopped since its request left.
    was_stopped: bool,
    /// Counts its starts: a claim belongs to one life of a process.
    life: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// There is no such process, or it died.
    Dead,
    Idle,
    /// It read this generation, and perhaps waited for another process since.
    Seen {
        generation: u8,
        has_waited: bool,
    },
    Claimed {
        generation: u8,
        token: u8,
        has_cause: bool,
        has_waited: bool,
    },
    Sent {
        generation: u8,
        token: u8,
        has_cause: bool,
        has_waited: bool,
    },
    Issued {
        generation: u8,
        token: u8,
        new: u8,
    },
    Journaled {
        generation: u8,
        new: u8,
    },
    Rejected {
        generation: u8,
        token: u8,
        has_cause: bool,
    },
    Unanswered,
}

/// What is between a process and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wire {
    Quiet,
    /// The request, which the server has not read.
    Request {
        token: u8,
    },
    /// The answer lies in the process's socket.
    Issued {
        new: u8,
    },
    Rejected,
    /// Nothing will come within the time of an exchange.
    Silence,
    /// The same, and the server reads the request in the end.
    Late {
        token: u8,
    },
}

/// The authorization server: one current refresh token, and whether the family was revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Server {
    current: u8,
    is_revoked: bool,
}

/// How much may still go wrong; without bounds there would be no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) refreshes: u8,
    pub(super) deaths: u8,
    pub(super) lost: u8,
    pub(super) stops: u8,
    pub(super) clock_steps: u8,
    pub(super) overdue: u8,
    pub(super) journals: u8,
}

/// A property that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// A refresh token was redeemed twice, without a death in the window or a lost answer.
    RedeemedTwice,
    /// Nothing is under way, nothing was interrupted, and the store lacks the server's token.
    StoreIsBehind,
    /// A sign-in was lost, and no claim says why.
    CauseUnknown,
    /// From here on no process can ever refresh.
    Stuck,
}

/// What the protocol does; each field names first what it does, then what earlier versions or other
/// programs did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    pub(super) exchange: ExchangeEnd,
    pub(super) unanswered: UnansweredEnd,
    pub(super) living_claim: LivingClaim,
    pub(super) dead_claim: DeadClaim,
    pub(super) journal: JournalUse,
    pub(super) rotation: Rotation,
}

/// When a process stops waiting for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ExchangeEnd {
    /// After a minute in which it ran, and after a last look at the socket.
    #[default]
    Silence,
    /// When callers stop waiting.
    CallerTimeout,
    /// When callers stop waiting, which for one that waited for another process is at once.
    RestOfCallerTimeout,
    /// After a minute, in which it may have been stopped.
    WallClock,
}

/// What becomes of a claim whose request got no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UnansweredEnd {
    #[default]
    Counted,
    Released,
}

/// When the claim of a living owner ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LivingClaim {
    #[default]
    Stays,
    EndsByWallClock,
    EndsByLifetime,
}

/// What becomes of the claim of a dead owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DeadClaim {
    #[default]
    IsTakenOver,
    Stays,
}

/// When tokens in the journal are committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum JournalUse {
    #[default]
    BeforeTheNextClaim,
    Never,
}

/// What the authorization server does with a refresh token that was redeemed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rotation {
    /// It is replaced, and one that comes again revokes the family.
    #[default]
    Strict,
    /// It is replaced, and still accepted.
    Grace,
    /// It stays the same, which the processes know.
    None,
}

impl State {
    /// A sign-in, and so many processes that want to refresh it.
    pub(super) fn new(processes: usize, budget: Budget) -> Self {
        let process = |number| Process {
            stage: if number < processes {
                Stage::Idle
            } else {
                Stage::Dead
            },
            wire: Wire::Quiet,
            is_stopped: false,
            was_stopped: false,
            life: if number < processes { 0 } else { NEVER },
        };
        Self {
            processes: std::array::from_fn(process),
            store: Store::default(),
            server: Server {
                current: 0,
                is_revoked: false,
            },
            budget,
            excused: 0,
            fault: None,
        }
    }

    pub(super) const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Says whether the sign-in was renewed as often as it may be, or was lost.
    pub(super) const fn is_over(&self) -> bool {
        self.budget.refreshes == 0 || self.store.needs_reauth
    }

    fn process(&self, number: usize) -> Process {
        let gone = Process {
            stage: Stage::Dead,
            wire: Wire::Quiet,
            is_stopped: false,
            was_stopped: false,
            life: NEVER,
        };
        self.processes.get(number).copied().unwrap_or(gone)
    }

    fn set(&mut self, number: usize, change: impl FnOnce(&mut Process)) {
        if let Some(process) = self.processes.get_mut(number) {
            change(process);
        }
    }

    const fn is_excused(&self, token: u8) -> bool {
        self.excused & bit(token) != 0
    }

    const fn excuse(&mut self, token: u8) {
        self.excused |= bit(token);
    }

    /// Returns the store as one process sees it: whose claim it is, and whether its owner lives.
    fn store_seen_by(&self, number: usize) -> (Store, bool) {
        let mut store = self.store;
        let mut is_alive = false;
        if let Some(held) = &mut store.claim {
            is_alive = self.is_alive(held.owner);
            held.owner = (usize::from(held.owner.0 != number), 0);
        }
        (store, is_alive)
    }

    /// Says whether the owner of a claim lives.
    fn is_alive(&self, owner: (usize, u8)) -> bool {
        let process = self.process(owner.0);
        process.stage != Stage::Dead && process.life == owner.1
    }

    /// Looks for a fault that the state itself shows.
    fn inspect(mut self, rules: &Rules) -> Self {
        let is_quiet = self.processes.iter().all(|process| {
            matches!(process.wire, Wire::Quiet)
                && matches!(
                    process.stage,
                    Stage::Dead | Stage::Idle | Stage::Seen { .. } | Stage::Claimed { .. }
                )
        });
        let stored = self.store.stored(rules.journal);
        let is_behind = stored != self.server.current && rules.rotation == Rotation::Strict;
        if self.fault.is_none()
            && is_quiet
            && is_behind
            && !self.server.is_revoked
            && !self.is_excused(stored)
        {
            self.fault = Some(Fault::StoreIsBehind);
        }
        self
    }
}

/// The life of a process that there is not.
const NEVER: u8 = u8::MAX;

const fn bit(token: u8) -> u8 {
    1 << (token & 7)
}
