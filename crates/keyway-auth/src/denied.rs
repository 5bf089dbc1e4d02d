//! What a confined program was kept from, in words, with the setting that would allow it.

use std::fmt;
use std::path::PathBuf;

/// Something that a confined child was kept from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// It is there, and the child does not see it.
    Unseen {
        /// Which.
        path: PathBuf,
        /// The child wanted to write there.
        writes: bool,
    },
    /// The child may read it.
    Unwritable {
        /// Which.
        path: PathBuf,
        /// What would have to be granted.
        folder: PathBuf,
    },
    /// The child has no network.
    Network,
}

impl Denied {
    /// Says what is so.
    #[must_use]
    pub fn fact(&self) -> String {
        match self {
            Self::Unseen { path, .. } => {
                format!("`{}` exists but was not granted", path.display())
            }
            Self::Unwritable { path, .. } => {
                format!("`{}` may be read but not written", path.display())
            }
            Self::Network => "it has no network".to_owned(),
        }
    }

    /// Says which setting would allow it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unseen {
                path,
                writes: false,
            } => format!(
                "add `{}` to `read_only_grants` of `[sandbox]` in config.toml, or to `grants` if it \
                 has to write there",
                path.display()
            ),
            Self::Unseen { path, .. } | Self::Unwritable { folder: path, .. } => format!(
                "add `{}` to `grants` of `[sandbox]` in config.toml",
                path.display()
            ),
            Self::Network => "set `network = true` in `[sandbox]` of config.toml".to_owned(),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; to allow it, {}", self.fact(), self.remedy())
    }
}
