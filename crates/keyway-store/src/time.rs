//! Versions and moments, by the store's own count and clock.

use std::fmt;
use std::time::Duration;

/// The version of one stored value. Later is greater; a number is never used twice, not even after
/// the value was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(i64);

impl Generation {
    /// Makes a version of a backend's own counter.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// Returns the number that it was made of.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment on the store's clock, which all its users share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Makes a moment of the milliseconds since 1970.
    #[must_use]
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970.
    #[must_use]
    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    /// Returns the moment `span` later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// Returns the time from `earlier` to this moment, or zero.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}
