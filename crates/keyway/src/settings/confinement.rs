//! What programs that are started are kept from, as the person decided.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyway_transport::Inherit;
#[cfg(feature = "stdio")]
use keyway_transport::{Isolation, IsolationMechanism, IsolationProfile};

use super::words::{SandboxMechanism, SandboxProfile};

/// What programs that are started are kept from, in general and server by server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sandbox {
    /// What counts for every server.
    pub all: Confinement,
    /// What counts for one server instead, by its id.
    pub servers: BTreeMap<String, ServerConfinement>,
}

impl Sandbox {
    /// Returns what counts for the server of this id in the plugin at `root`.
    #[must_use]
    pub fn of(&self, id: &str, root: &Path) -> Confinement {
        let own = self.servers.get(id);
        let own = own.filter(|own| is_from(root, &own.source));
        own.map_or(&self.all, |own| &own.confinement).clone()
    }
}

/// What counts for one server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfinement {
    /// The folder of its plugin, or one above it.
    pub source: PathBuf,
    /// What its programs are kept from.
    pub confinement: Confinement,
}

/// Says whether a plugin is the one that a table of `config.toml` is about (threat E10).
pub(super) fn is_from(root: &Path, source: &Path) -> bool {
    let source = std::fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    root.starts_with(source)
}

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
}

impl Confinement {
    #[cfg(feature = "stdio")]
    /// Returns the isolation of one program out of what holds for all of this process.
    #[must_use]
    pub fn isolation(&self, of_process: &Isolation) -> Isolation {
        let of_process = of_process.clone();
        Isolation {
            profile: match self.profile {
                SandboxProfile::Hide => IsolationProfile::Hide,
                SandboxProfile::Confine => IsolationProfile::Confine,
                SandboxProfile::Off => IsolationProfile::None,
            },
            mechanism: match self.mechanism {
                SandboxMechanism::Best => IsolationMechanism::Best,
                SandboxMechanism::Landlock => IsolationMechanism::Landlock,
                SandboxMechanism::Mounts => IsolationMechanism::Mounts,
            },
            granted: [of_process.granted, self.grants.clone()].concat(),
            read_only: [of_process.read_only, self.read_only_grants.clone()].concat(),
            offline: self.offline,
            require: self.require,
            ..of_process
        }
    }

    /// Returns what a program inherits of the environment.
    pub(crate) const fn inherit(&self) -> Inherit {
        if self.dangerous_inherit_environment {
            Inherit::DangerousEverything
        } else {
            Inherit::Listed
        }
    }
}
