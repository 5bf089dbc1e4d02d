//! What programs that are started are kept from, as the person decided.

#[cfg(feature = "stdio")]
use std::path::PathBuf;

use keyway_approval::Confinement;
#[cfg(feature = "stdio")]
use keyway_approval::{SandboxMechanism, SandboxProfile, SeenGrant};
use keyway_transport::Inherit;
#[cfg(feature = "stdio")]
use keyway_transport::{Isolation, IsolationMechanism, IsolationProfile, KnownGrant};

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
    // What was not there when the person was asked is not granted, whatever lies there now.
    let seen = of_program.seen_grants();
    let is_seen = |path: &&PathBuf| seen.is_none_or(|it| it.iter().any(|it| it.path == **path));
    let grants = of_program.grants.iter().filter(is_seen).cloned();
    isolation.granted.extend(grants);
    let grants = of_program.read_only_grants.iter().filter(is_seen).cloned();
    isolation.read_only.extend(grants);
    if isolation.profile == IsolationProfile::Confine {
        let known = |it: &SeenGrant| KnownGrant::new(&it.path, &it.real, it.folder);
        isolation.known_grants = seen.unwrap_or_default().iter().map(known).collect();
    }
    isolation.offline = of_program.offline;
    isolation.require |= of_program.require;
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
