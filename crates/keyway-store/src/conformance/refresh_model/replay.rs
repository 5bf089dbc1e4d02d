//! Takes the steps of the model on a real store, and compares every answer.

use std::collections::HashMap;
use std::time::Duration;

use super::super::{Backend, grant, tokens};
use super::explore::explore;
use super::store::ClaimAnswer;
use super::{Action, Budget, MOST_PROCESSES, Rotation, Rules, Stage, State};
use crate::claim::{Claim, Claimed, Commit, Marked};
use crate::error::StoreError;
use crate::grant::GrantState;
use crate::grant_store::GrantStore as _;
use crate::time::Generation;

/// A store on which a path is taken.
pub(super) struct Replay<'a, B: Backend> {
    backend: &'a B,
    rules: &'a Rules,
    state: State,
    /// Dropped where the process dies.
    handles: [Option<B::Store>; MOST_PROCESSES],
    claims: HashMap<usize, Claimed>,
    generations: HashMap<u8, Generation>,
}

/// Takes paths until each answer that a store can give was compared.
pub(in super::super) fn replay_all<B: Backend>(backend: &B) -> Result<(), StoreError> {
    let store = backend.open();
    let generation = store.put(&grant(), &tokens(0))?;
    let has_journal = store.journal(&grant(), generation, &tokens(1)).is_ok();
    drop(store);
    let budget = Budget {
        journals: has_journal.into(),
        overdue: backend.advance(Duration::ZERO).into(),
        ..BUDGET
    };
    let mut taken = 0;
    for rotation in [Rotation::Strict, Rotation::None] {
        let rules = Rules {
            rotation,
            ..Rules::default()
        };
        let first = State::new(2, budget);
        for path in explore(first, &rules).paths_for_stores() {
            replay(backend, (first, &rules), &path)?;
            taken += 1;
        }
    }
    assert!(taken > 50, "only {taken} paths");
    Ok(())
}

/// Takes all steps of a path on a new sign-in; panics where an answer differs.
fn replay<B: Backend>(
    backend: &B,
    (first, rules): (State, &Rules),
    path: &[Action],
) -> Result<(), StoreError> {
    let store = backend.open();
    let generation = store.put(&grant(), &tokens(0))?;
    drop(store);
    let mut replay = Replay {
        backend,
        rules,
        state: first,
        handles: std::array::from_fn(|number| {
            (first.process(number).stage != Stage::Dead).then(|| backend.open())
        }),
        claims: HashMap::new(),
        generations: HashMap::from([(0, generation)]),
    };
    for (index, action) in path.iter().enumerate() {
        let mut steps = replay.state.steps(rules).into_iter();
        let Some((_, next)) = steps.find(|(other, _)| other == action) else {
            panic!("{action:?} is not a step of {:?}", replay.state);
        };
        let shown = path.get(..=index).unwrap_or_default();
        replay.take(*action, &next, shown)?;
        replay.state = next;
    }
    Ok(())
}

impl<B: Backend> Replay<'_, B> {
    fn take(&mut self, action: Action, next: &State, path: &[Action]) -> Result<(), StoreError> {
        match action {
            Action::Die(number) => self.set_handle(number, None),
            Action::Start(number) => {
                let handle = self.backend.open();
                self.set_handle(number, Some(handle));
            }
            Action::ClaimGrowsOverdue => assert!(self.backend.advance(LIFETIME), "{path:?}"),
            Action::Read(number) => self.read(number, path)?,
            Action::Claim(number) => self.claim(number, next, path)?,
            Action::Release(number) | Action::AnswerLost(number) => {
                self.end(action, number, path)?;
            }
            Action::Commit(number) => self.commit(number, next, path)?,
            Action::Journal(number) => self.journal(number, next, path)?,
            Action::MarkReauth(number) => self.mark(number, next, path)?,
            // Nothing that a store notices.
            Action::Send(_)
            | Action::Redeem(_)
            | Action::Lose(_)
            | Action::Delay(_)
            | Action::ReadAnswer(_)
            | Action::GiveUp(_)
            | Action::Stop(_)
            | Action::Resume(_)
            | Action::SetClock => {}
        }
        Ok(())
    }

    fn read(&self, number: usize, path: &[Action]) -> Result<(), StoreError> {
        let Some(found) = self.handle(number).read(&grant())? else {
            panic!("{path:?}: the sign-in is gone");
        };
        let store = &self.state.store;
        assert_eq!(
            found.generation,
            self.generation(store.generation),
            "{path:?}"
        );
        let access = format!("access-{}", store.token);
        assert_eq!(found.access.expose(), &access, "{path:?}");
        assert_eq!(found.state, GrantState::Good, "{path:?}");
        Ok(())
    }

    fn claim(&mut self, number: usize, next: &State, path: &[Action]) -> Result<(), StoreError> {
        let process = self.state.process(number);
        let Stage::Seen { generation, .. } = process.stage else {
            panic!("{path:?}: only what was read is claimed");
        };
        let held = self.state.store.claim;
        let is_alive = held.is_some_and(|held| self.state.is_alive(held.owner));
        let mut model = self.state.store;
        let expected = model.claim(generation, (number, process.life), is_alive, self.rules);
        assert_eq!(model, next.store, "{path:?}");
        let real = self.generation(generation);
        let handle = self.handle(number);
        let answer = if self.rules.rotation == Rotation::None {
            handle.take_over(&grant(), real, LIFETIME)?
        } else {
            handle.claim(&grant(), real, LIFETIME)?
        };
        match (expected, answer) {
            (
                ClaimAnswer::Claimed {
                    token,
                    interrupted,
                    lost_answers,
                },
                Claim::Claimed(claimed),
            ) => {
                let counts = (claimed.interrupted, claimed.lost_answers);
                let expected = (interrupted.into(), lost_answers.into());
                assert_eq!(counts, expected, "{path:?}");
                let refresh = format!("refresh-{token}");
                assert_eq!(claimed.refresh.expose(), &refresh, "{path:?}");
                self.claims.insert(number, claimed);
            }
            (
                ClaimAnswer::Held { is_overdue },
                Claim::Held {
                    is_overdue: real, ..
                },
            ) => {
                assert_eq!(real, is_overdue, "{path:?}");
            }
            (ClaimAnswer::Moved, Claim::Moved { generation }) => {
                // The journal may have been committed by this very claim.
                let known = self.generations.entry(next.store.generation);
                assert_eq!(*known.or_insert(generation), generation, "{path:?}");
            }
            (ClaimAnswer::NeedsReauth, Claim::NeedsReauth) => {}
            (expected, answer) => panic!("{path:?}: {answer:?} in place of {expected:?}"),
        }
        Ok(())
    }

    fn end(&mut self, action: Action, number: usize, path: &[Action]) -> Result<(), StoreError> {
        let me = (number, self.state.process(number).life);
        let was_held = self.state.store.claim.is_some_and(|held| held.owner == me);
        let Some(claim) = self.claims.remove(&number) else {
            panic!("{path:?}: there is a claim to end");
        };
        let handle = self.handle(number);
        let ended = match action {
            Action::Release(_) => handle.release(&grant(), claim.id)?,
            _ => handle.answer_lost(&grant(), claim.id)?,
        };
        assert_eq!(ended, was_held, "{path:?}");
        Ok(())
    }

    fn commit(&mut self, number: usize, next: &State, path: &[Action]) -> Result<(), StoreError> {
        let (generation, new) = self.issued(number);
        let before = self.generation(generation);
        let committed = self
            .handle(number)
            .commit(&grant(), before, &tokens(new.into()))?;
        match committed {
            Commit::Committed { generation: real } => {
                assert_eq!(next.store.generation, generation + 1, "{path:?}");
                assert_eq!(self.state.store.generation, generation, "{path:?}");
                self.generations.insert(generation + 1, real);
            }
            Commit::Superseded { current } => {
                let expected = self.generation(self.state.store.generation);
                assert_eq!(current, Some(expected), "{path:?}");
                assert_eq!(next.store, self.state.store, "{path:?}");
            }
        }
        Ok(())
    }

    fn journal(&self, number: usize, next: &State, path: &[Action]) -> Result<(), StoreError> {
        let (generation, new) = self.issued(number);
        assert_eq!(next.store.journal, Some((generation, new)), "{path:?}");
        let generation = self.generation(generation);
        self.handle(number)
            .journal(&grant(), generation, &tokens(new.into()))
    }

    fn mark(&self, number: usize, next: &State, path: &[Action]) -> Result<(), StoreError> {
        let Stage::Rejected { generation, .. } = self.state.process(number).stage else {
            panic!("{path:?}: only what was rejected is marked");
        };
        let Some(claim) = self.claims.get(&number) else {
            panic!("{path:?}: only what was claimed is marked");
        };
        let generation = self.generation(generation);
        let handle = self.handle(number);
        let marked = handle.mark_reauth(&grant(), generation, &claim.fingerprint)?;
        let is_new = next.store.needs_reauth && next.store != self.state.store;
        match marked {
            Marked::Marked => assert!(is_new, "{path:?}"),
            Marked::Superseded { .. } => assert!(!is_new, "{path:?}"),
        }
        Ok(())
    }

    fn issued(&self, number: usize) -> (u8, u8) {
        match self.state.process(number).stage {
            Stage::Issued {
                generation, new, ..
            }
            | Stage::Journaled { generation, new } => (generation, new),
            other => panic!("{other:?} has no tokens"),
        }
    }

    fn generation(&self, number: u8) -> Generation {
        match self.generations.get(&number) {
            Some(generation) => *generation,
            None => panic!("generation {number} was never stored"),
        }
    }

    fn handle(&self, number: usize) -> &B::Store {
        match self.handles.get(number) {
            Some(Some(handle)) => handle,
            _ => panic!("process {number} is dead"),
        }
    }

    fn set_handle(&mut self, number: usize, handle: Option<B::Store>) {
        self.claims.remove(&number);
        if let Some(slot) = self.handles.get_mut(number) {
            *slot = handle;
        }
    }
}

/// A store shows no more with more of each.
const BUDGET: Budget = Budget {
    refreshes: 1,
    deaths: 1,
    lost: 1,
    stops: 0,
    clock_steps: 0,
    overdue: 0,
    journals: 0,
};
const LIFETIME: Duration = Duration::from_secs(120);
