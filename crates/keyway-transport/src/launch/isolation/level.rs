//! Which isolation is in force, as a code for the parent and in words for the person.

use std::fmt;

use super::IsolationProfile;

/// Which isolation is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact about the system, and any may be missing alone"
)]
pub struct IsolationLevel {
    pub(super) requested: IsolationProfile,
    /// Our folders are covered by mounts in a private namespace.
    pub(super) mounts: bool,
    /// It sees no process but its own.
    pub(super) processes: bool,
    /// It has a tree of its own, built from what was granted.
    pub(super) tree: bool,
    /// It has a network of its own, which leads nowhere.
    pub(super) offline: bool,
    /// It has no keyrings of the kernel.
    pub(super) keys: bool,
    /// It is in a control group of its own.
    pub(super) group: bool,
    /// The version of Landlock's interface in force; 0 without Landlock.
    pub(super) landlock: u8,
}

impl IsolationLevel {
    pub(super) const fn requested(requested: IsolationProfile) -> Self {
        Self {
            requested,
            mounts: false,
            processes: false,
            tree: false,
            offline: false,
            keys: false,
            group: false,
            landlock: 0,
        }
    }

    /// Returns the profile that was asked for.
    #[must_use]
    pub const fn profile(&self) -> IsolationProfile {
        self.requested
    }

    /// Says whether everything that a program started is ended with it by the kernel: it is in a PID
    /// namespace. Without one, its [control group](Self::has_control_group) is ended by Keyway; with
    /// neither, a supervisor ends what it finds, unless it is killed itself.
    #[must_use]
    pub const fn ends_descendants(&self) -> bool {
        self.mounts
    }

    /// Says whether a program without a PID namespace is in a control group of its own.
    #[must_use]
    pub const fn has_control_group(&self) -> bool {
        self.group
    }

    /// Says whether everything that was requested is in force.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        match self.requested {
            IsolationProfile::None => true,
            IsolationProfile::Hide => {
                self.hides_sockets() && self.hides_processes() && self.keeps_keys()
            }
            IsolationProfile::Confine => {
                self.is_confined() && self.denies_abstract_sockets() && self.keeps_keys()
            }
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
        self.processes || self.landlock >= SCOPES
    }

    /// Says whether keys that the kernel keeps for the person are out of reach.
    #[must_use]
    pub const fn hides_keys(&self) -> bool {
        self.keys
    }

    /// A build without that part does not promise it; the words of the level say so.
    const fn keeps_keys(&self) -> bool {
        self.keys || !cfg!(feature = "kernel-keys")
    }

    /// Says whether nothing of the person's is in reach that was not granted, sockets of other
    /// programs included.
    #[must_use]
    pub const fn is_confined(&self) -> bool {
        self.tree
    }

    /// Says whether it has no network.
    pub(in crate::launch) const fn is_offline(&self) -> bool {
        self.offline
    }

    /// Says whether abstract sockets of other programs are out of reach.
    #[must_use]
    pub const fn denies_abstract_sockets(&self) -> bool {
        self.offline || self.landlock >= SCOPES
    }

    /// Says whether the kernel itself ends everything that the child started. Otherwise a process
    /// of ours does, which a hostile child may be able to kill.
    #[must_use]
    pub const fn ends_with_host(&self) -> bool {
        self.mounts
    }

    /// Returns the level in one word that holds no blank.
    pub(in crate::launch) fn code(self) -> String {
        let requested = self.requested.as_byte().escape_ascii();
        let flags: String = FLAGS
            .iter()
            .zip(self.flags())
            .map(|(letter, is_set)| if is_set { *letter } else { '-' })
            .collect();
        format!("{requested}{flags}{}", self.landlock)
    }

    const fn flags(self) -> [bool; 6] {
        [
            self.mounts,
            self.processes,
            self.tree,
            self.offline,
            self.keys,
            self.group,
        ]
    }

    /// Reads what [`IsolationLevel::code`] wrote.
    pub(in crate::launch) fn from_code(code: &str) -> Option<Self> {
        let (requested, rest) = code.split_at_checked(1)?;
        let (flags, landlock) = rest.split_at_checked(FLAGS.len())?;
        let mut flags = flags.chars().zip(FLAGS).map(|(found, flag)| found == flag);
        Some(Self {
            requested: IsolationProfile::from_byte(requested.as_bytes())?,
            mounts: flags.next()?,
            processes: flags.next()?,
            tree: flags.next()?,
            offline: flags.next()?,
            keys: flags.next()?,
            group: flags.next()?,
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
        f.write_str(match (self.requested, self.mounts) {
            (IsolationProfile::Confine, true) if self.tree => {
                "confined to system and granted folders by a tree of its own"
            }
            (IsolationProfile::Confine, false) => {
                "confined to system and granted folders by Landlock alone; \
                 sockets of other programs can be reached"
            }
            (_, true) => "Keyway's files are hidden by private mounts",
            (_, false) => "Keyway's files are hidden by Landlock alone",
        })?;
        if self.mounts && self.landlock > 0 {
            f.write_str(" and Landlock")?;
        }
        if self.tree {
            f.write_str(if self.offline {
                "; no network"
            } else if self.denies_abstract_sockets() {
                "; network allowed"
            } else {
                "; network and abstract sockets can be reached"
            })?;
        }
        if !self.hides_sockets() {
            f.write_str("; Keyway's sockets can be reached")?;
        }
        if !self.hides_processes() {
            f.write_str("; its processes can be signalled")?;
        }
        if !self.hides_keys() {
            f.write_str("; keyrings of the kernel can be read")?;
        }
        if !self.mounts && self.requested == IsolationProfile::Hide {
            f.write_str("; nothing new can be created in folders that lead to them")?;
        }
        Ok(())
    }
}

/// One letter for each flag of a code, in the order of [`IsolationLevel::flags`].
const FLAGS: [char; 6] = ['m', 'p', 't', 'o', 'k', 'g'];
/// The first version of Landlock that scopes signals and abstract sockets.
const SCOPES: u8 = 6;
/// The first version of Landlock that looks at sockets in the file system.
const SOCKETS_BY_PATH: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn level(requested: IsolationProfile, flags: &str, landlock: u8) -> IsolationLevel {
        IsolationLevel {
            mounts: flags.contains('m'),
            processes: flags.contains('p'),
            tree: flags.contains('t'),
            offline: flags.contains('o'),
            keys: !flags.contains('K'),
            group: flags.contains('g'),
            landlock,
            ..IsolationLevel::requested(requested)
        }
    }

    #[test]
    fn a_control_group_is_told_where_there_is_one() {
        for (flags, group) in [("g", true), ("", false), ("mpt", false)] {
            let level = level(IsolationProfile::Hide, flags, 7);
            assert_eq!(level.has_control_group(), group, "{flags}");
        }
    }

    #[test]
    fn isolation_level_round_trips() {
        for requested in IsolationProfile::ALL {
            for flags in ["", "m", "mp", "mpt", "mpto", "mpK", "g"] {
                let level = level(requested, flags, 7);
                assert_eq!(IsolationLevel::from_code(&level.code()), Some(level));
            }
        }
        for code in ["", "h", "hm", "xm-----7", "hm-----x", "é", "hm-"] {
            assert_eq!(IsolationLevel::from_code(code), None, "{code}");
        }
    }

    #[test]
    fn isolation_level_names_what_is_missing() {
        use IsolationProfile::{Confine, Hide};
        for (level, is_complete, words) in [
            (
                level(Hide, "mp", 7),
                true,
                "Keyway's files are hidden by private mounts and Landlock",
            ),
            (
                level(Hide, "mp", 0),
                true,
                "Keyway's files are hidden by private mounts",
            ),
            (
                level(Hide, "mpK", 7),
                false,
                "Keyway's files are hidden by private mounts and Landlock; \
                 keyrings of the kernel can be read",
            ),
            (
                level(Hide, "m", 5),
                false,
                "Keyway's files are hidden by private mounts and Landlock; \
                 its processes can be signalled",
            ),
            (
                level(Hide, "", 7),
                false,
                "Keyway's files are hidden by Landlock alone; Keyway's sockets can be reached; \
                 nothing new can be created in folders that lead to them",
            ),
            (
                level(Confine, "mpt", 7),
                true,
                "confined to system and granted folders by a tree of its own and Landlock; \
                 network allowed",
            ),
            (
                level(Confine, "mpto", 0),
                true,
                "confined to system and granted folders by a tree of its own; no network",
            ),
            (
                level(Confine, "mpt", 0),
                false,
                "confined to system and granted folders by a tree of its own; \
                 network and abstract sockets can be reached",
            ),
            (
                level(Confine, "", 7),
                false,
                "confined to system and granted folders by Landlock alone; \
                 sockets of other programs can be reached; Keyway's sockets can be reached",
            ),
            (
                level(Hide, "", 0),
                false,
                "not isolated: this system offers neither Landlock nor private mounts",
            ),
            (
                level(IsolationProfile::None, "", 0),
                true,
                "not isolated, as configured",
            ),
        ] {
            assert_eq!(level.to_string(), words);
            assert_eq!(level.is_complete(), is_complete, "{words}");
        }
    }
}
