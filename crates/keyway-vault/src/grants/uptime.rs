//! The time in which the machine runs: it stands still while it is suspended, and setting the clock
//! does not move it. All processes of one boot share it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment since a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Uptime {
    /// Which boot; empty where the system gives boots no name.
    pub(super) boot: String,
    pub(super) millis: i64,
}

impl Uptime {
    pub(super) fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        // A file of 37 bytes that the kernel makes up; reading it does not wait for a disk.
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self {
            boot: boot.trim().to_owned(),
            millis: now.tv_sec.saturating_mul(1000) + now.tv_nsec / 1_000_000,
        }
    }

    /// Returns the time since `earlier`; `None` if that was another boot, or boots have no name.
    pub(super) fn since(&self, earlier: &Self) -> Option<Duration> {
        let comparable = !self.boot.is_empty() && self.boot == earlier.boot;
        let millis = self.millis.saturating_sub(earlier.millis);
        comparable.then(|| Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    /// Says whether both boots are known, and differ.
    pub(super) fn is_of_another_boot_than(&self, other: &Self) -> bool {
        !self.boot.is_empty() && !other.boot.is_empty() && self.boot != other.boot
    }

    pub(super) fn after(mut self, span: Duration) -> Self {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        self.millis = self.millis.saturating_add(span);
        self
    }
}

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_different_boots_cannot_be_compared() {
        let now = Uptime::now();
        let second = Duration::from_secs(1);
        assert_eq!(now.clone().after(second).since(&now), Some(second));
        assert_eq!(now.since(&now.clone().after(second)), Some(Duration::ZERO));
        let mut other = now.clone();
        other.boot = "another".to_owned();
        assert_eq!(now.since(&other), None);
        other.boot = String::new();
        assert_eq!(other.since(&other), None);
    }
}
