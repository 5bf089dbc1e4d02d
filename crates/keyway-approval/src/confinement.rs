//! What a program that is started is kept from, as the person decided: part of what is approved.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How a program is confined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of the file, each on its own"
)]
pub struct Confinement {
    /// How much it is kept from.
    pub profile: SandboxProfile,
    /// By which means.
    pub mechanism: SandboxMechanism,
    /// What it may read and write although it is confined.
    pub grants: Vec<PathBuf>,
    /// What it may read although it is confined.
    pub read_only_grants: Vec<PathBuf>,
    /// If it is confined, it is kept from the network as well.
    pub offline: bool,
    /// It is not started unless everything that the profile promises is in force.
    pub require: bool,
    /// It gets the whole environment of the shell, credentials included.
    pub dangerous_inherit_environment: bool,
    /// What the grants led to when the question was put together; `None` if that is still to come.
    pub(crate) seen: Option<Vec<SeenGrant>>,
}

impl Confinement {
    /// Returns the grants that were there when the question was put together, with what they led to;
    /// `None` if there was no question.
    #[must_use]
    pub fn seen_grants(&self) -> Option<&[SeenGrant]> {
        self.seen.as_deref()
    }

    /// The same with what the grants lead to now: that is shown, approved, and compared when a program
    /// starts.
    pub(crate) fn looked(&self) -> Self {
        let grants = self.grants.iter().chain(&self.read_only_grants);
        let seen = grants.filter_map(|path| SeenGrant::look(path)).collect();
        Self {
            seen: Some(seen),
            ..self.clone()
        }
    }

    /// Returns where a grant leads.
    pub(crate) fn target(&self, path: &Path) -> Option<PathBuf> {
        let Some(seen) = &self.seen else {
            return fs::canonicalize(path).ok();
        };
        let seen = seen.iter().find(|seen| seen.path == path);
        seen.map(|seen| seen.real.clone())
    }
}

/// A grant that was there, with what it led to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenGrant {
    /// As `config.toml` has it.
    pub path: PathBuf,
    /// Without links.
    pub real: PathBuf,
    /// Device and inode of a folder; a file has none, because files are replaced when they are
    /// written. Never stored: device numbers change.
    pub folder: Option<(u64, u64)>,
}

impl SeenGrant {
    fn look(path: &Path) -> Option<Self> {
        let real = fs::canonicalize(path).ok()?;
        let found = fs::symlink_metadata(&real).ok()?;
        Some(Self {
            path: path.to_owned(),
            folder: found.is_dir().then(|| (found.dev(), found.ino())),
            real,
        })
    }
}

/// How much a program is kept from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxProfile {
    /// What is Keyway's; everything else is as the person has it.
    #[default]
    Hide,
    /// All but system folders and what was granted.
    Confine,
    /// Nothing.
    Off,
}

impl SandboxProfile {
    /// Every word, in the order of the reference.
    pub const WORDS: &'static [&'static str] = &["hide", "confine", "off"];

    /// Returns the word that stands for it in `config.toml`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hide => "hide",
            Self::Confine => "confine",
            Self::Off => "off",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Hide, Self::Confine, Self::Off];
        all.into_iter().find(|profile| profile.as_str() == word)
    }
}

/// By which means a program is kept from things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxMechanism {
    /// Whatever the system offers.
    #[default]
    Best,
    /// Landlock alone.
    Landlock,
    /// Private mounts alone.
    Mounts,
}

impl SandboxMechanism {
    /// Every word, in the order of the reference.
    pub const WORDS: &'static [&'static str] = &["best", "landlock", "mounts"];

    /// Returns the word that stands for it in `config.toml`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Landlock => "landlock",
            Self::Mounts => "mounts",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Best, Self::Landlock, Self::Mounts];
        all.into_iter().find(|mechanism| mechanism.as_str() == word)
    }
}

/// What of a confinement is in force on this system.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Protection {
    /// In words, with what is missing.
    pub words: String,
    /// Everything that the profile promises is in force.
    pub is_complete: bool,
}

impl Protection {
    /// Makes one out of what the launcher found.
    #[must_use]
    pub fn new(words: impl Into<String>, is_complete: bool) -> Self {
        Self {
            words: words.into(),
            is_complete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_settings_is_read_as_itself_and_no_other_word() {
        for word in SandboxProfile::WORDS {
            let read = SandboxProfile::from_word(word);
            assert_eq!(read.map(SandboxProfile::as_str), Some(*word));
        }
        for word in SandboxMechanism::WORDS {
            let read = SandboxMechanism::from_word(word);
            assert_eq!(read.map(SandboxMechanism::as_str), Some(*word));
        }
        for word in ["", "Hide", "strict"] {
            assert_eq!(SandboxProfile::from_word(word), None, "{word}");
            assert_eq!(SandboxMechanism::from_word(word), None, "{word}");
        }
    }
}
