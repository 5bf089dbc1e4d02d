//! The namespaces that a child lives in, entered by its supervisor before the child is started.
//!
//! A PID namespace only takes in processes that are started afterwards, so the supervisor itself
//! stays outside and the next process is the first one inside.

use std::fs::OpenOptions;
use std::io::{self, Write};

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::isolation::{Isolation, IsolationMechanism, IsolationProfile};

/// Which namespaces a child is to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespaces {
    /// Those of the person.
    Shared,
    /// Mounts and processes of its own.
    Private,
    /// Also System V IPC of its own.
    Confined,
    /// Also a network of its own, which leads nowhere.
    Offline,
}

impl Namespaces {
    const ALL: [Self; 4] = [Self::Shared, Self::Private, Self::Confined, Self::Offline];

    /// Returns what an isolation needs.
    pub(super) const fn of(isolation: &Isolation) -> Self {
        match (isolation.profile, isolation.mechanism) {
            (IsolationProfile::None, _) | (_, IsolationMechanism::Landlock) => Self::Shared,
            (IsolationProfile::Hide, _) => Self::Private,
            (IsolationProfile::Confine, _) if isolation.offline => Self::Offline,
            (IsolationProfile::Confine, _) => Self::Confined,
        }
    }

    pub(super) const fn as_word(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Private => "private",
            Self::Confined => "confined",
            Self::Offline => "offline",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|wanted| wanted.as_word() == word)
    }

    const fn flags(self) -> UnshareFlags {
        let private = UnshareFlags::NEWNS.union(UnshareFlags::NEWPID);
        match self {
            Self::Shared => UnshareFlags::empty(),
            Self::Private => private,
            Self::Confined => private.union(UnshareFlags::NEWIPC),
            Self::Offline => private
                .union(UnshareFlags::NEWIPC)
                .union(UnshareFlags::NEWNET),
        }
    }

    /// Enters them, with a user namespace around them where the person may not do so otherwise;
    /// says whether the system offers them.
    ///
    /// This process must have a single thread. The next process that it starts can mount.
    ///
    /// # Errors
    ///
    /// An error means that this process is half-way in, where no program may run.
    #[expect(
        deprecated,
        reason = "its successor is unsafe for the sake of descriptor tables, which are not unshared"
    )]
    pub(super) fn enter(self) -> io::Result<bool> {
        use rustix::thread::unshare;

        let flags = self.flags();
        if flags.is_empty() {
            return Ok(false);
        }
        if unshare(flags).is_ok() {
            return Ok(true);
        }
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        if unshare(UnshareFlags::NEWUSER.union(flags)).is_err() {
            return Ok(false);
        }
        // The user keeps their ids; no other user is mapped in here.
        put("/proc/self/setgroups", "deny")?;
        put("/proc/self/uid_map", &format!("{user} {user} 1"))?;
        put("/proc/self/gid_map", &format!("{group} {group} 1"))?;
        // A child that used up all namespaces of the person would weaken what starts after it.
        drop(put("/proc/sys/user/max_user_namespaces", NESTED_NAMESPACES));
        keep_mounting()?;
        Ok(true)
    }
}

/// Gives up what else the owner of a user namespace may do in it. The next process inherits the rest,
/// and a program that it starts gets none of it.
///
/// Root keeps everything here: it takes more than that to make root give up privileges for good, which
/// the next process does.
fn keep_mounting() -> io::Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let sets = CapabilitySets {
        effective: MOUNTING,
        permitted: MOUNTING,
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

fn put(path: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// What the process after the supervisor needs, and gives up before the program starts.
const MOUNTING: CapabilitySet = CapabilitySet::SYS_ADMIN;
/// Browsers use a few for their own sandbox.
const NESTED_NAMESPACES: &str = "64";

#[cfg(test)]
mod tests {
    use super::*;

    fn isolation(
        profile: IsolationProfile,
        mechanism: IsolationMechanism,
        offline: bool,
    ) -> Isolation {
        Isolation {
            profile,
            mechanism,
            offline,
            ..Isolation::default()
        }
    }

    #[test]
    fn each_isolation_gets_the_namespaces_that_it_needs_and_no_others() {
        use IsolationMechanism::{Best, Landlock, Mounts};
        use IsolationProfile as Profile;
        for (profile, mechanism, offline, expected) in [
            (Profile::None, Best, true, Namespaces::Shared),
            (Profile::Hide, Landlock, false, Namespaces::Shared),
            (Profile::Confine, Landlock, true, Namespaces::Shared),
            (Profile::Hide, Best, false, Namespaces::Private),
            (Profile::Hide, Mounts, true, Namespaces::Private),
            (Profile::Confine, Best, false, Namespaces::Confined),
            (Profile::Confine, Mounts, true, Namespaces::Offline),
        ] {
            let wanted = Namespaces::of(&isolation(profile, mechanism, offline));
            assert_eq!(wanted, expected, "{profile:?} {mechanism:?} {offline}");
        }
    }

    #[test]
    fn each_has_a_word_of_its_own() {
        for namespaces in Namespaces::ALL {
            let word = namespaces.as_word();
            assert_eq!(Namespaces::from_word(word), Some(namespaces));
        }
        for word in ["", "Shared", "none"] {
            assert_eq!(Namespaces::from_word(word), None, "{word}");
        }
    }

    /// Each has what the one before it has, and one thing more.
    #[test]
    fn a_stronger_isolation_shares_less() {
        let private = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
        let confined = private | UnshareFlags::NEWIPC;
        let offline = confined | UnshareFlags::NEWNET;
        let flags = Namespaces::ALL.map(Namespaces::flags);
        assert_eq!(flags, [UnshareFlags::empty(), private, confined, offline]);
        // The user's own namespace is entered apart from them, and must not be taken out again.
        assert!(!offline.contains(UnshareFlags::NEWUSER));
    }

    #[test]
    fn shared_namespaces_are_not_entered() {
        assert!(!Namespaces::Shared.enter().unwrap());
    }

    #[test]
    fn a_setting_is_written_where_it_is_and_never_made() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("setting");
        let text = path.to_str().unwrap();
        assert!(put(text, "1").is_err());
        drop(std::fs::File::create(&path).unwrap());
        put(text, "1 1 1").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1 1 1");
    }
}
