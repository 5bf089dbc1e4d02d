//! What Landlock adds: our processes cannot be read, traced or signalled, and under
//! [`IsolationProfile::Confine`], or where mounts are not to be had, it guards files as well.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::{IsolatedPaths, IsolationLevel, IsolationProfile, mounts};

/// Restricts this process for good; returns the version of the interface in force, 0 for none.
pub(super) fn restrict(places: &IsolatedPaths, level: IsolationLevel) -> io::Result<u8> {
    let covered = level.mounts;
    let outcome = match level.requested {
        IsolationProfile::Confine => confine(places, covered),
        _ if !covered => grant_around(places),
        _ => scope_only().and_then(|status| match status.ruleset {
            RulesetStatus::NotEnforced => memory_only(),
            _ => Ok(status),
        }),
    };
    let status = outcome.map_err(io::Error::other)?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => 0,
        (_, LandlockStatus::Available { effective_abi, .. }) => effective_abi as u8,
        _ => 0,
    })
}

/// Processes only; files are as they were.
fn scope_only() -> Result<RestrictionStatus, RulesetError> {
    let ruleset = scoped()?.create()?;
    ruleset.no_new_privs(false).restrict_self()
}

/// For kernels that do not know scopes: rules that allow everything still keep other processes'
/// memory out of reach, at the price that nobody may change mounts any more.
fn memory_only() -> Result<RestrictionStatus, RulesetError> {
    let everywhere = AccessFs::Execute | AccessFs::Refer;
    let ruleset = Ruleset::default().handle_access(everywhere)?.create()?;
    let mut rules = Rules::new(ruleset, &[]);
    rules.allow(Path::new("/"), everywhere)?;
    rules.created.no_new_privs(false).restrict_self()
}

/// Allows everything beside what is hidden.
fn grant_around(places: &IsolatedPaths) -> Result<RestrictionStatus, RulesetError> {
    let ruleset = scoped()?.handle_access(everything())?.create()?;
    let mut rules = Rules::new(ruleset, &places.hidden);
    // Also shows the names, and only those, in hidden folders: the price for `ls` in a home.
    rules.allow(Path::new("/"), AccessFs::ReadDir.into())?;
    rules.allow_around(Path::new("/"), everything())?;
    for path in &places.granted {
        rules.allow_around(path, everything())?;
    }
    rules.created.restrict_self()
}

/// Allows to use the system, and what was granted.
fn confine(places: &IsolatedPaths, covered: bool) -> Result<RestrictionStatus, RulesetError> {
    let ruleset = scoped()?.handle_access(everything())?.create()?;
    let hidden: &[PathBuf] = if covered { &[] } else { &places.hidden };
    let mut rules = Rules::new(ruleset, hidden);
    for path in SYSTEM {
        rules.allow_around(Path::new(path), AccessFs::from_read(KNOWN))?;
    }
    for path in DEVICES {
        rules.allow_around(Path::new(path), everything())?;
    }
    for path in &places.granted {
        rules.allow_around(path, everything())?;
    }
    if covered && mounts::has_private_tmp(places) {
        rules.allow(Path::new("/tmp"), everything())?;
    }
    rules.created.no_new_privs(!covered).restrict_self()
}

fn scoped() -> Result<Ruleset, RulesetError> {
    Ruleset::default().scope(Scope::AbstractUnixSocket | Scope::Signal)
}

fn everything() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN)
}

struct Rules<'a> {
    created: RulesetCreated,
    hidden: &'a [PathBuf],
}

impl<'a> Rules<'a> {
    const fn new(created: RulesetCreated, hidden: &'a [PathBuf]) -> Self {
        Self { created, hidden }
    }

    /// Allows `access` to `path` and all below, except what is hidden there.
    fn allow_around(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), RulesetError> {
        if self.hidden.iter().any(|hidden| hidden == path) {
            return Ok(());
        }
        if !self.hidden.iter().any(|hidden| hidden.starts_with(path)) {
            return self.allow(path, access);
        }
        // What cannot be listed has nothing in it that the child could reach.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            // Where a link leads is allowed or hidden on its own account.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.allow_around(&entry.path(), access)?;
            }
        }
        Ok(())
    }

    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), RulesetError> {
        // What is not there, or cannot be reached, needs no rule.
        if let Some(place) = open(path) {
            (&mut self.created).add_rule(PathBeneath::new(place, access))?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// The interface that the rules were written for.
const KNOWN: ABI = ABI::V9;

/// What programs need of the system, to read and execute.
const SYSTEM: &[&str] = &[
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/opt",
    "/proc",
    "/run/current-system",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/lib/ca-certificates",
];

/// Devices that hold nothing of the person's.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
