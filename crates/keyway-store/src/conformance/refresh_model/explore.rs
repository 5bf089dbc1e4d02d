//! Visits every state that can be reached, nearest first, so that a path to a fault is a shortest one.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Action, Fault, Rules, State};

/// Everything that can be reached from a state.
#[derive(Debug)]
pub(in super::super) struct Explored {
    /// Each state with the step that first led to it; the first has none.
    states: Vec<(State, Option<(usize, Action)>)>,
    /// From, by, to.
    edges: Vec<(usize, Action, usize)>,
}

/// Steps that lead to a fault.
#[derive(Debug)]
pub(in super::super) struct Counterexample {
    pub(in super::super) fault: Fault,
    pub(in super::super) steps: Vec<Action>,
}

/// Visits all states.
pub(in super::super) fn explore(first: State, rules: &Rules) -> Explored {
    let mut known = HashMap::from([(first, 0)]);
    let mut explored = Explored {
        states: vec![(first, None)],
        edges: Vec::new(),
    };
    let mut open = VecDeque::from([(0, first)]);
    while let Some((from, state)) = open.pop_front() {
        for (action, next) in state.steps(rules) {
            let to = *known.entry(next).or_insert_with(|| {
                let index = explored.states.len();
                explored.states.push((next, Some((from, action))));
                open.push_back((index, next));
                index
            });
            explored.edges.push((from, action, to));
        }
    }
    explored
}

impl Explored {
    pub(in super::super) const fn states(&self) -> usize {
        self.states.len()
    }

    /// Returns a shortest way to a property that does not hold.
    pub(in super::super) fn counterexample(&self) -> Option<Counterexample> {
        let mut faults = self
            .states
            .iter()
            .enumerate()
            .filter_map(|(index, (state, _))| Some((index, state.fault()?)));
        let (index, fault) = faults
            .next()
            .or_else(|| Some((self.stuck()?, Fault::Stuck)))?;
        let steps = self.path(index);
        Some(Counterexample { fault, steps })
    }

    /// Returns the steps from the first state to one.
    pub(super) fn path(&self, mut index: usize) -> Vec<Action> {
        let mut steps = Vec::new();
        while let Some((_, Some((from, action)))) = self.states.get(index) {
            steps.push(*action);
            index = *from;
        }
        steps.reverse();
        steps
    }

    /// Returns for each difference that a store can see (what it holds, what it is asked) one path
    /// that shows it: its steps are all there is to check.
    pub(super) fn paths_for_stores(&self) -> Vec<Vec<Action>> {
        let mut seen = HashSet::new();
        let mut paths = Vec::new();
        for (from, action, to) in &self.edges {
            let (Some((before, _)), Some((after, _))) =
                (self.states.get(*from), self.states.get(*to))
            else {
                continue;
            };
            let Some(number) = action.asks_the_store() else {
                continue;
            };
            let shown = (
                before.store_seen_by(number),
                std::mem::discriminant(action),
                after.store_seen_by(number),
            );
            if !seen.insert(shown) {
                continue;
            }
            let mut path = self.path(*from);
            path.push(*action);
            paths.push(path);
        }
        paths
    }

    /// Returns a state from which no fair steps lead to a refresh or to a sign-in that is known to be
    /// lost.
    fn stuck(&self) -> Option<usize> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.states.len()];
        for (from, action, to) in &self.edges {
            if let Some(list) = before.get_mut(*to).filter(|_| action.is_fair()) {
                list.push(*from);
            }
        }
        let mut reaches = vec![false; self.states.len()];
        let is_goal = |(state, _): &(State, _)| state.is_over();
        let goals = self.states.iter().map(is_goal);
        let mut open: Vec<usize> = (0..)
            .zip(goals)
            .filter_map(|(i, it)| it.then_some(i))
            .collect();
        while let Some(index) = open.pop() {
            let Some(reached) = reaches.get_mut(index).filter(|reached| !**reached) else {
                continue;
            };
            *reached = true;
            open.extend(before.get(index).into_iter().flatten());
        }
        reaches.iter().position(|reached| !reached)
    }
}
