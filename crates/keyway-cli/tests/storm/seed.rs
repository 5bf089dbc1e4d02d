//! Numbers that look random and are the same for the same seed.

use std::ops::RangeInclusive;
use std::time::Duration;

/// `SplitMix64`: a state of 64 bits, good enough to choose what happens.
#[derive(Debug, Clone)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let span = range.end() - range.start() + 1;
        range.start() + self.next() % span
    }

    pub(crate) fn millis(&mut self, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }

    pub(crate) fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        let last = u64::try_from(of.len()).unwrap() - 1;
        of[usize::try_from(self.within(0..=last)).unwrap()]
    }
}
