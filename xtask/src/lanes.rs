//! Work that is done two pieces at a time.

use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::XtaskError;

/// Does the work for each item and returns the results in the order of the items; after a failure
/// nothing more is begun.
pub(crate) fn map<I: Sync, O: Send>(
    items: &[I],
    work: impl Fn(&I) -> Result<O, XtaskError> + Sync,
) -> Result<Vec<O>, XtaskError> {
    let next = Mutex::new(items.iter().enumerate());
    let queue = || next.lock().unwrap_or_else(PoisonError::into_inner);
    let lane = || {
        let mut done = Vec::new();
        loop {
            // Not in the condition of a loop, where the lock would be held while the work is done.
            let taken = queue().next();
            let Some((at, item)) = taken else {
                return Ok(done);
            };
            match work(item) {
                Ok(result) => done.push((at, result)),
                Err(error) => {
                    queue().by_ref().for_each(drop);
                    return Err(error);
                }
            }
        }
    };
    let ended: Vec<Result<Vec<_>, XtaskError>> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        let join = |lane: thread::ScopedJoinHandle<'_, _>| {
            lane.join()
                .unwrap_or_else(|cause| panic::resume_unwind(cause))
        };
        lanes.into_iter().map(join).collect()
    });
    let mut all = Vec::new();
    for done in ended {
        all.extend(done?);
    }
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

/// As many as the smallest machine has cores.
const LANES: usize = 2;

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..9).collect();
        let doubled = map(&items, |item| Ok(item * 2)).unwrap();
        assert_eq!(doubled, [0, 2, 4, 6, 8, 10, 12, 14, 16]);
    }

    #[test]
    fn two_are_under_way_at_a_time() {
        let both = Barrier::new(2);
        // Would not end if the second began after the first.
        let met = map(&[(), ()], |()| Ok(both.wait().is_leader())).unwrap();
        assert_eq!(met.iter().filter(|is_leader| **is_leader).count(), 1);
    }

    #[test]
    fn after_a_failure_nothing_more_is_begun() {
        let begun = Mutex::new(0);
        let items = [(); 100];
        let result = map(&items, |()| -> Result<(), XtaskError> {
            *begun.lock().unwrap() += 1;
            Err(XtaskError::Conformance {
                surprises: Vec::new(),
            })
        });
        assert!(result.is_err());
        // Each lane begins at most one.
        assert!(*begun.lock().unwrap() <= LANES);
    }
}
