//! What a child is kept from, and how much of that the system really does.
//!
//! Two mechanisms share the work. Mounts in a private namespace cover our folders: whatever a
//! child creates elsewhere, in a fresh home as well, works as ever. Landlock closes what mounts
//! cannot: memory, signals and abstract sockets of our processes. Where mounts are not to be had,
//! Landlock alone grants everything beside our folders, at a price: nothing new can be created
//! directly in a folder that leads to one of ours.

#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod rules;

mod level;

use std::io;
use std::path::PathBuf;

pub use self::level::IsolationLevel;

/// What a child is to be kept from.
#[derive(Debug, Clone, Default)]
pub struct Isolation {
    /// How much.
    pub profile: IsolationProfile,
    /// By which means.
    pub mechanism: IsolationMechanism,
    /// Folders and files of ours that no child may reach. A folder that does not exist yet is
    /// created, because what appears later could not be hidden from a child that runs.
    pub hidden: Vec<PathBuf>,
    /// What the child may use although the profile alone would keep it away: the plugin's root,
    /// working folder and data under [`IsolationProfile::Confine`], folders inside hidden ones under both.
    pub granted: Vec<PathBuf>,
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

/// Shuts this process, which must have a single thread, in; says how far that went.
///
/// A mechanism that the system does not offer is not an error: the level says so.
#[cfg(target_os = "linux")]
pub(super) fn apply(isolation: &Isolation) -> io::Result<IsolationLevel> {
    let mut level = IsolationLevel::requested(isolation.profile);
    if isolation.profile == IsolationProfile::None {
        return Ok(level);
    }
    let places = IsolatedPaths::of(isolation)?;
    if isolation.mechanism != IsolationMechanism::Landlock {
        level.mounts = mounts::cover(&places, isolation.profile).unwrap_or_default();
    }
    if isolation.mechanism != IsolationMechanism::Mounts {
        level.landlock = rules::restrict(&places, level)?;
    }
    // Last: both mechanisms need what is given up here.
    privileges::drop_for_good();
    Ok(level)
}

/// Without Landlock and mount namespaces there is nothing to apply.
#[cfg(not(target_os = "linux"))]
pub(super) fn apply(isolation: &Isolation) -> io::Result<IsolationLevel> {
    Ok(IsolationLevel::requested(isolation.profile))
}

/// The folders of an [`Isolation`] as they really are, without links.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct IsolatedPaths {
    hidden: Vec<PathBuf>,
    granted: Vec<PathBuf>,
}

#[cfg(target_os = "linux")]
impl IsolatedPaths {
    fn of(isolation: &Isolation) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;

        let mut hidden = Vec::with_capacity(isolation.hidden.len());
        for path in &isolation.hidden {
            if !path.exists() {
                let mut builder = std::fs::DirBuilder::new();
                builder.recursive(true).mode(0o700).create(path)?;
            }
            hidden.push(path.canonicalize()?);
        }
        hidden.sort_unstable();
        // What lies inside another one is hidden with it.
        hidden.dedup_by(|inner, outer| inner.starts_with(&*outer));
        let granted = isolation.granted.iter();
        let granted = granted.filter_map(|path| path.canonicalize().ok());
        Ok(Self {
            hidden,
            granted: granted.collect(),
        })
    }
}
