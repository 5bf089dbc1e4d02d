//! How long what was made for one client is good for the next.

use crate::timeouts::{PLAN_CACHE_TIME, PLAN_UNUSED_TIMEOUT};
use std::sync::Arc;
use std::time::Instant;

/// Something that was made before, if it was and still counts.
#[derive(Debug)]
pub(super) struct Cached<T> {
    made: Option<Made<T>>,
    is_watched: bool,
}

#[derive(Debug)]
struct Made<T> {
    it: Arc<T>,
    /// When it was made, or last used if it is watched.
    at: Instant,
}

impl<T> Cached<T> {
    /// A value that is not watched counts for [`PLAN_CACHE_TIME`].
    pub(super) const fn unwatched() -> Self {
        Self {
            made: None,
            is_watched: false,
        }
    }

    /// A watched value counts until the watching task replaces it after a change.
    pub(super) const fn watched() -> Self {
        Self {
            made: None,
            is_watched: true,
        }
    }

    /// Returns what still counts.
    pub(super) fn get(&mut self, now: Instant) -> Option<Arc<T>> {
        let made = self.made.as_mut()?;
        if self.is_watched {
            made.at = now;
        } else if now.duration_since(made.at) >= PLAN_CACHE_TIME {
            return None;
        }
        Some(Arc::clone(&made.it))
    }

    /// Keeps what was begun to be made `at` a time.
    pub(super) fn put(&mut self, it: &Arc<T>, at: Instant) {
        let it = Arc::clone(it);
        self.made = Some(Made { it, at });
    }

    /// Drops what no client has asked for lately; says whether nothing is left.
    pub(super) fn forget(&mut self, now: Instant) -> bool {
        let is_old = |made: &mut Made<T>| now.duration_since(made.at) >= PLAN_UNUSED_TIMEOUT;
        self.made.take_if(is_old);
        self.made.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwatched_value_counts_for_a_second_however_often_it_is_used() {
        let (mut cached, begun) = (Cached::unwatched(), Instant::now());
        assert!(cached.get(begun).is_none());
        cached.put(&Arc::new(7), begun);
        assert_eq!(cached.get(begun + PLAN_CACHE_TIME / 2).as_deref(), Some(&7));
        assert!(cached.get(begun + PLAN_CACHE_TIME).is_none());
    }

    #[test]
    fn a_watched_value_counts_until_it_was_not_used_for_a_minute() {
        let mut now = Instant::now();
        let mut cached = Cached::watched();
        cached.put(&Arc::new(7), now);
        for _ in 0..3 {
            now += PLAN_UNUSED_TIMEOUT - PLAN_CACHE_TIME;
            assert!(!cached.forget(now));
            assert_eq!(cached.get(now).as_deref(), Some(&7));
        }
        now += PLAN_UNUSED_TIMEOUT;
        assert!(cached.forget(now));
        assert!(cached.get(now).is_none());
    }

    #[test]
    fn forgotten_values_are_dropped_and_not_only_hidden() {
        let (mut cached, it, begun) = (Cached::unwatched(), Arc::new(7), Instant::now());
        cached.put(&it, begun);
        assert!(cached.forget(begun + PLAN_UNUSED_TIMEOUT));
        assert_eq!(Arc::strong_count(&it), 1);
    }
}
