//! What programs that are started are kept from, as the person decided.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyway_approval::Confinement;
#[cfg(feature = "stdio")]
use keyway_approval::{SandboxMechanism, SandboxProfile};
use keyway_transport::Inherit;
#[cfg(feature = "stdio")]
use keyway_transport::{Isolation, IsolationMechanism, IsolationProfile};

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

/// Returns the isolation of one program out of what holds for all of this process.
#[cfg(feature = "stdio")]
#[must_use]
pub fn isolation(of_program: &Confinement, of_process: &Isolation) -> Isolation {
    let mut isolation = of_process.clone();
    isolation.profile = match of_program.profile {
        SandboxProfile::Confine => IsolationProfile::Confine,
        SandboxProfile::Off => IsolationProfile::None,
        // The default, also for a profile that this version does not know.
        _ => IsolationProfile::Hide,
    };
    isolation.mechanism = match of_program.mechanism {
        SandboxMechanism::Landlock => IsolationMechanism::Landlock,
        SandboxMechanism::Mounts => IsolationMechanism::Mounts,
        _ => IsolationMechanism::Best,
    };
    isolation.granted.extend_from_slice(&of_program.grants);
    isolation
        .read_only
        .extend_from_slice(&of_program.read_only_grants);
    isolation.offline = of_program.offline;
    isolation.require = of_program.require;
    isolation
}

/// Returns what a program inherits of the environment.
pub(crate) const fn inherit(of_program: &Confinement) -> Inherit {
    if of_program.dangerous_inherit_environment {
        Inherit::DangerousEverything
    } else {
        Inherit::Listed
    }
}
