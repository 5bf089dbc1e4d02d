//! The port through which everything below the program gets the time, so that expiry can be tested.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime};

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Returns a time that never goes back, for durations within this process.
    fn monotonic(&self) -> Instant;

    /// Returns the time of day, for values that are sent or that outlive the process.
    fn wall(&self) -> SystemTime;

    /// Returns the time since the machine was started, for durations that outlive the process:
    /// setting the clock does not move it. `None` where there is none, and by default.
    fn boot(&self) -> Option<BootTime> {
        None
    }
}

/// A moment since a boot, which all processes of that boot share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootTime {
    boot: String,
    seconds: u64,
}

impl BootTime {
    /// So many seconds after the boot with this name.
    #[must_use]
    pub fn new(boot: impl Into<String>, seconds: u64) -> Self {
        let boot = boot.into();
        Self { boot, seconds }
    }

    /// Returns the name of the boot.
    #[must_use]
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Returns the seconds since then.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        self.seconds
    }

    /// Returns the time since `earlier`; `None` if that was another boot.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let seconds = self.seconds.saturating_sub(earlier.seconds);
        (self.boot == earlier.boot).then(|| Duration::from_secs(seconds))
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the `Clock` that everything else takes"
    )]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    /// From two files that the Linux kernel makes up; reading them waits for no disk.
    fn boot(&self) -> Option<BootTime> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let seconds = uptime.split('.').next()?.parse().ok()?;
        Some(BootTime::new(boot.trim(), seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_different_boots_cannot_be_compared() {
        let (earlier, later) = (BootTime::new("a", 10), BootTime::new("a", 40));
        assert_eq!(later.since(&earlier), Some(Duration::from_secs(30)));
        assert_eq!(earlier.since(&later), Some(Duration::ZERO));
        assert_eq!(BootTime::new("b", 40).since(&earlier), None);
    }

    #[test]
    fn machine_knows_when_it_was_started() {
        let now = SystemClock.boot().unwrap();
        assert!(!now.boot().is_empty() && now.seconds() > 0, "{now:?}");
    }
}
