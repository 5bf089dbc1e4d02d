//! What a child is kept from, and how much of that the system really does.
//!
//! Two mechanisms share the work. Mounts in a private namespace cover our folders: whatever a
//! child creates elsewhere, in a fresh home as well, works as ever; a PID namespace around them
//! keeps our processes out of sight. Under [`IsolationProfile::Confine`] the child gets a tree of
//! its own instead of the person's. Landlock closes what remains: abstract sockets, and where there
//! are no namespaces, memory and signals. A filter of system calls closes the kernel's keyrings and,
//! for a confined child, sockets of unusual families, which neither knows. Where mounts are not available, Landlock alone grants
//! everything beside our folders, at a price: nothing new can be created directly in a folder that
//! leads to one of ours.

#[cfg(target_os = "linux")]
mod granted;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod pins;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(all(target_os = "linux", feature = "kernel-keys"))]
mod system_calls;
#[cfg(target_os = "linux")]
mod tree;

mod level;

use std::io;
use std::path::{Path, PathBuf};

pub use self::level::IsolationLevel;
#[cfg(target_os = "linux")]
pub(super) use self::tree::SYSTEM;
#[cfg(target_os = "linux")]
use super::control_group::ControlGroup;
use super::known_folders::{KnownFolders, KnownGrant, KnownPath};
use super::stage::LaunchStage;

/// What a child is to be kept from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Isolation {
    /// How much.
    pub profile: IsolationProfile,
    /// By which means.
    pub mechanism: IsolationMechanism,
    /// Folders and files of ours that no child may reach. A folder that does not exist yet is
    /// created, because what appears later could not be hidden from a child that runs.
    pub hidden: Vec<PathBuf>,
    /// Other places where what is ours may lie, because another process of ours has other
    /// variables. One that does not exist is created if the folder around it exists.
    pub also_hidden: Vec<PathBuf>,
    /// What the child may use although [`IsolationProfile::Confine`] alone would keep it away. One
    /// that leads to what is hidden starts nothing.
    pub granted: Vec<PathBuf>,
    /// What the child may read although [`IsolationProfile::Confine`] alone would keep it away. Of a
    /// path in several folders the nearest decides; of one that is granted both ways,
    /// [`Isolation::granted`]. One that leads to what is hidden starts nothing.
    pub read_only: Vec<PathBuf>,
    /// What [`Isolation::granted`] and [`Isolation::read_only`] led to when the person was asked: if one
    /// of them leads elsewhere by now, nothing starts.
    pub known_grants: Vec<KnownGrant>,
    /// The folder of the plugin, by a path without links; it may be read like those of
    /// [`Isolation::read_only`]. If it was exchanged after the look at its files, or leads to what is
    /// hidden, nothing starts.
    pub root: Option<PathBuf>,
    /// Folders that the host made for the child, to read and write, and the only ones that are shown
    /// inside hidden ones. Nothing but the host may be able to write the folders around them.
    pub own: Vec<PathBuf>,
    /// The same, to read.
    pub own_read_only: Vec<PathBuf>,
    /// The person's home, which a child finds empty under [`IsolationProfile::Confine`] even where it
    /// lies in a system folder.
    pub home: Option<PathBuf>,
    /// Under [`IsolationProfile::Confine`]: keep it from the network, loopback included.
    pub offline: bool,
    /// Start nothing unless all of this is in force.
    pub require: bool,
    /// What the hidden folders were when they were first met.
    pub known_folders: KnownFolders,
}

impl Isolation {
    /// Remembers which folders the hidden paths name now. No child is started with this, or a clone,
    /// once another folder lies there, because it would cover that one.
    pub fn remember_folders(&self) {
        self.known_folders.remember(&self.hidden);
    }

    /// Returns what a confined child may write.
    pub(super) fn writable(&self) -> impl Iterator<Item = &PathBuf> {
        self.granted.iter().chain(&self.own)
    }

    /// Returns what a confined child may at least read, beside [`Isolation::writable`].
    pub(super) fn readable(&self) -> impl Iterator<Item = &PathBuf> {
        let own = self.root.iter().chain(&self.own_read_only);
        self.read_only.iter().chain(own)
    }
}

/// How much a child is kept from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IsolationProfile {
    /// Everything is as the person has it, except what is ours.
    #[default]
    Hide,
    /// System folders to read, and what was granted.
    Confine,
    /// Nothing is kept from it.
    None,
}

impl IsolationProfile {
    const ALL: [Self; 3] = [Self::Hide, Self::Confine, Self::None];

    pub(super) const fn as_byte(self) -> &'static [u8] {
        match self {
            Self::Hide => b"h",
            Self::Confine => b"c",
            Self::None => b"n",
        }
    }

    pub(super) fn from_byte(byte: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_byte() == byte)
    }
}

/// By which means a child is kept from things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IsolationMechanism {
    /// Whatever the system offers.
    #[default]
    Best,
    /// Landlock alone, where a user namespace gets in a program's way.
    Landlock,
    /// Private mounts alone, where Landlock does.
    Mounts,
}

impl IsolationMechanism {
    const ALL: [Self; 3] = [Self::Best, Self::Landlock, Self::Mounts];

    pub(super) const fn as_byte(self) -> &'static [u8] {
        match self {
            Self::Best => b"b",
            Self::Landlock => b"l",
            Self::Mounts => b"m",
        }
    }

    pub(super) fn from_byte(byte: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|mechanism| mechanism.as_byte() == byte)
    }
}

/// What is to be applied to one child.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "not used"))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) isolation: &'a Isolation,
    /// What [`Isolation::hidden`] names, with what must lie there.
    pub(super) hidden: &'a [KnownPath],
    /// What [`Isolation::root`] names, with what must lie there.
    pub(super) root: Option<&'a KnownPath>,
    /// Sockets of other programs in system folders.
    pub(super) sockets: &'a [PathBuf],
    /// Where the program expects its home and its temporary files, and where the person's home is.
    pub(super) own_folders: [Option<&'a Path>; 3],
}

/// What the first process of a child is.
#[derive(Debug)]
pub(super) enum Place {
    /// Process 1 of namespaces of its own, able to mount.
    #[cfg(target_os = "linux")]
    First {
        /// Whether the consoles were covered before it was known what is to start.
        without_consoles: bool,
    },
    /// A process like any other of the person, for which there is a control group.
    #[cfg(target_os = "linux")]
    Grouped(ControlGroup),
    /// A process like any other of the person.
    Only,
}

/// Which step failed, and what the system said.
#[derive(Debug)]
pub(super) struct ApplyError {
    pub(super) stage: LaunchStage,
    pub(super) source: io::Error,
}

impl ApplyError {
    pub(super) fn at(stage: LaunchStage) -> impl Fn(io::Error) -> Self {
        move |source| Self { stage, source }
    }
}

/// Does what needs no spec, while the host still finds out what is to start: as root, covering the
/// consoles takes longest of all. A confined program has no use for it, since its tree has none.
#[cfg(target_os = "linux")]
pub(super) fn prepare(without_consoles: bool) -> Result<Place, ApplyError> {
    if without_consoles {
        mounts::cover_consoles().map_err(ApplyError::at(LaunchStage::Namespaces))?;
    }
    Ok(Place::First { without_consoles })
}

/// Shuts this process, which must have a single thread, in; says how far that went.
///
/// A mechanism that the system does not offer is not an error: the level says so.
#[cfg(target_os = "linux")]
pub(super) fn apply(request: Request<'_>, place: &Place) -> Result<IsolationLevel, ApplyError> {
    let isolation = request.isolation;
    let mut level = IsolationLevel::requested(isolation.profile);
    level.group = matches!(place, Place::Grouped(_));
    if isolation.profile == IsolationProfile::None {
        return Ok(level);
    }
    if let Place::Grouped(group) = place {
        level.group = group.take_in("0").is_ok();
    }
    let places = paths::IsolatedPaths::of(request)?;
    if let Place::First { without_consoles } = place {
        let failed = ApplyError::at(LaunchStage::Namespaces);
        mounts::cover(&places).map_err(uncovered)?;
        level.mounts = true;
        if isolation.profile == IsolationProfile::Confine {
            tree::enter(&places, request).map_err(&failed)?;
            level.tree = true;
            level.offline = isolation.offline;
            level.processes = true;
        } else {
            // A container may forbid it; the old `/proc` shows names of processes, not more.
            level.processes = mounts::own_processes(Path::new("/proc")).is_ok();
            if !without_consoles {
                mounts::cover_consoles().map_err(&failed)?;
            }
        }
    }
    if isolation.mechanism != IsolationMechanism::Mounts {
        let failed = ApplyError::at(LaunchStage::Isolation);
        let homes = tree::homes(&places, request);
        level.landlock = rules::restrict(&places, &homes, level).map_err(failed)?;
    }
    // Last: both mechanisms need what is given up here.
    privileges::drop_for_good(level);
    #[cfg(feature = "kernel-keys")]
    {
        let is_confined = isolation.profile == IsolationProfile::Confine;
        level.keys = system_calls::deny(is_confined).is_ok();
    }
    Ok(level)
}

/// Says what follows from a place that could not be covered.
#[cfg(target_os = "linux")]
fn uncovered(source: io::Error) -> ApplyError {
    let stage = match source.kind() {
        // A place of another process went away: the host looks again, instead of doing with less.
        io::ErrorKind::NotFound => LaunchStage::Identity,
        _ => LaunchStage::Namespaces,
    };
    ApplyError { stage, source }
}

/// Without Landlock and mount namespaces there is nothing to apply.
#[cfg(not(target_os = "linux"))]
pub(super) fn apply(request: Request<'_>, _: &Place) -> Result<IsolationLevel, ApplyError> {
    Ok(IsolationLevel::requested(request.isolation.profile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_profile_and_mechanism_has_a_byte_of_its_own() {
        for profile in IsolationProfile::ALL {
            let byte = profile.as_byte();
            assert_eq!(IsolationProfile::from_byte(byte), Some(profile));
        }
        for mechanism in IsolationMechanism::ALL {
            let byte = mechanism.as_byte();
            assert_eq!(IsolationMechanism::from_byte(byte), Some(mechanism));
        }
        for byte in [&b""[..], b"x", b"hh"] {
            assert_eq!(IsolationProfile::from_byte(byte), None);
            assert_eq!(IsolationMechanism::from_byte(byte), None);
        }
    }

    #[test]
    fn e1_folders_that_were_remembered_may_not_be_exchanged() {
        let home = tempfile::TempDir::new().unwrap();
        let folder = home.path().join("keyway");
        std::fs::create_dir(&folder).unwrap();
        let isolation = Isolation {
            hidden: vec![folder.clone()],
            ..Isolation::default()
        };
        isolation.remember_folders();
        std::fs::rename(&folder, home.path().join("away")).unwrap();
        std::fs::create_dir(&folder).unwrap();
        assert!(isolation.known_folders.identify(&isolation.hidden).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_that_went_away_is_looked_for_again_and_a_system_that_forbids_mounts_is_not() {
        for (kind, stage) in [
            (io::ErrorKind::NotFound, LaunchStage::Identity),
            (io::ErrorKind::PermissionDenied, LaunchStage::Namespaces),
        ] {
            assert_eq!(uncovered(kind.into()).stage, stage);
        }
    }

    #[test]
    fn a_child_may_use_what_was_granted_and_what_the_host_made_for_it() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let isolation = Isolation {
            granted: paths(&["/granted"]),
            own: paths(&["/own"]),
            read_only: paths(&["/read"]),
            root: Some("/plugin".into()),
            own_read_only: paths(&["/own-read"]),
            ..Isolation::default()
        };
        let writable: Vec<_> = isolation.writable().cloned().collect();
        assert_eq!(writable, paths(&["/granted", "/own"]));
        let readable: Vec<_> = isolation.readable().cloned().collect();
        assert_eq!(readable, paths(&["/read", "/plugin", "/own-read"]));
    }

    /// The only profile that can be applied to the process of a test, and not as the first process:
    /// should it ever do more, that must not reach the mounts of the machine.
    #[test]
    fn without_isolation_nothing_is_applied() {
        let isolation = Isolation {
            profile: IsolationProfile::None,
            ..Isolation::default()
        };
        let request = Request {
            isolation: &isolation,
            hidden: &[],
            root: None,
            sockets: &[],
            own_folders: [None; 3],
        };
        let level = apply(request, &Place::Only).unwrap();
        assert_eq!(level, IsolationLevel::requested(IsolationProfile::None));
    }
}
