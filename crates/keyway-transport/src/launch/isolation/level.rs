//! Which isolation is in force, as a code for the parent and in words for the person.

use std::fmt;

use super::IsolationProfile;

/// Which isolation is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsolationLevel {
    pub(super) requested: IsolationProfile,
    /// Our folders are covered by mounts in a private namespace.
    pub(super) mounts: bool,
    /// The version of Landlock's interface in force; 0 without Landlock.
    pub(super) landlock: u8,
}

impl IsolationLevel {
    pub(super) const fn requested(requested: IsolationProfile) -> Self {
        Self {
            requested,
            mounts: false,
            landlock: 0,
        }
    }

    /// Says whether everything that was requested is in force.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        match self.requested {
            IsolationProfile::None => true,
            _ => self.hides_sockets() && self.hides_processes(),
        }
    }

    /// Says whether our files are out of reach.
    #[must_use]
    pub const fn hides_files(&self) -> bool {
        self.mounts || self.landlock > 0
    }

    /// Says whether our sockets are out of reach as well.
    #[must_use]
    pub const fn hides_sockets(&self) -> bool {
        self.mounts || self.landlock >= SOCKETS_BY_PATH
    }

    /// Says whether our processes can be neither read nor signalled.
    #[must_use]
    pub const fn hides_processes(&self) -> bool {
        self.landlock >= SIGNALS
    }

    /// Returns the level in one word that holds no blank.
    pub(in crate::launch) fn code(self) -> String {
        let requested = self.requested.as_byte().escape_ascii();
        let mounts = if self.mounts { 'm' } else { '-' };
        format!("{requested}{mounts}{}", self.landlock)
    }

    /// Reads what [`IsolationLevel::code`] wrote.
    pub(in crate::launch) fn from_code(code: &str) -> Option<Self> {
        let (requested, rest) = code.split_at_checked(1)?;
        let (mounts, landlock) = rest.split_at_checked(1)?;
        Some(Self {
            requested: IsolationProfile::from_byte(requested.as_bytes())?,
            mounts: mounts == "m",
            landlock: landlock.parse().ok()?,
        })
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requested == IsolationProfile::None {
            return f.write_str("not isolated, as configured");
        }
        if !self.hides_files() {
            return f
                .write_str("not isolated: this system offers neither Landlock nor private mounts");
        }
        f.write_str(match self.requested {
            IsolationProfile::Confine if self.landlock > 0 => {
                "confined to system and granted folders"
            }
            IsolationProfile::Confine => {
                "not confined, for want of Landlock; Keyway's files are hidden"
            }
            _ => "Keyway's files are hidden",
        })?;
        f.write_str(match (self.mounts, self.landlock) {
            (true, 0) => " by private mounts",
            (true, _) => " by private mounts and Landlock",
            (false, _) => " by Landlock alone",
        })?;
        if !self.hides_sockets() {
            f.write_str("; its sockets can be reached")?;
        }
        if !self.hides_processes() {
            f.write_str("; its processes can be signalled")?;
        }
        if !self.mounts && self.requested == IsolationProfile::Hide {
            f.write_str("; nothing new can be created in folders that lead to them")?;
        }
        Ok(())
    }
}

/// The first version of Landlock that scopes signals and abstract sockets.
const SIGNALS: u8 = 6;
/// The first version of Landlock that looks at sockets in the file system.
const SOCKETS_BY_PATH: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn level(requested: IsolationProfile, mounts: bool, landlock: u8) -> IsolationLevel {
        IsolationLevel {
            requested,
            mounts,
            landlock,
        }
    }

    #[test]
    fn isolation_level_round_trips() {
        for requested in IsolationProfile::ALL {
            for mounts in [false, true] {
                let level = level(requested, mounts, 7);
                assert_eq!(IsolationLevel::from_code(&level.code()), Some(level));
            }
        }
        for code in ["", "h", "hm", "xm7", "hmx", "é"] {
            assert_eq!(IsolationLevel::from_code(code), None, "{code}");
        }
    }

    #[test]
    fn isolation_level_names_what_is_missing() {
        use IsolationProfile::{Confine, Hide};
        for (level, words) in [
            (
                level(Hide, true, 7),
                "Keyway's files are hidden by private mounts and Landlock",
            ),
            (
                level(Hide, true, 0),
                "Keyway's files are hidden by private mounts; its processes can be signalled",
            ),
            (
                level(Hide, false, 7),
                "Keyway's files are hidden by Landlock alone; its sockets can be reached; \
                 nothing new can be created in folders that lead to them",
            ),
            (
                level(Confine, true, 7),
                "confined to system and granted folders by private mounts and Landlock",
            ),
            (
                level(Hide, false, 0),
                "not isolated: this system offers neither Landlock nor private mounts",
            ),
            (
                level(IsolationProfile::None, false, 0),
                "not isolated, as configured",
            ),
        ] {
            assert_eq!(level.to_string(), words);
        }
        assert!(level(Hide, true, 6).is_complete());
        assert!(!level(Hide, true, 5).is_complete());
        assert!(!level(Hide, false, 8).is_complete());
    }
}
