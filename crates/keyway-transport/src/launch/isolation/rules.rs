//! What Landlock adds: our processes cannot be read, traced or signalled, abstract sockets of others
//! cannot be reached, and where mounts are not available, it guards files as well.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::granted::{Granted, HELD, by_descriptor};
use super::paths::IsolatedPaths;
use super::{IsolationLevel, IsolationProfile, tree};

/// Restricts this process for good; returns the version of the interface in force, 0 for none.
///
/// `homes` are what a confined child does not see of system folders.
pub(super) fn restrict(
    places: &IsolatedPaths,
    homes: &[PathBuf],
    level: IsolationLevel,
) -> io::Result<u8> {
    let outcome = match level.requested {
        _ if level.mounts => scope_only().and_then(|status| match status.ruleset {
            RulesetStatus::NotEnforced => memory_only(),
            _ => Ok(status),
        }),
        IsolationProfile::Confine => confine(places, homes),
        _ => grant_around(places),
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
/// memory out of reach, at the price that the child may not change mounts any more.
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
    let hidden = hidden(places);
    let mut rules = Rules::new(ruleset, &hidden);
    // Also shows the names, and only those, in hidden folders: the price for `ls` in a home.
    rules.allow(Path::new("/"), AccessFs::ReadDir.into())?;
    rules.allow_around(Path::new("/"), everything())?;
    // What was granted lies beside what is hidden; what is the child's own may lie in it.
    for own in &places.own {
        rules.allow_opened(&own.opened, &own.real, everything())?;
    }
    for own in &places.own_read_only {
        rules.allow_opened(&own.opened, &own.real, AccessFs::from_read(KNOWN))?;
    }
    rules.created.restrict_self()
}

fn hidden(places: &IsolatedPaths) -> Vec<PathBuf> {
    let hidden = places.hidden.iter().map(|place| place.path.clone());
    hidden.collect()
}

/// Allows to use the system, and what was granted.
fn confine(places: &IsolatedPaths, homes: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
    let ruleset = scoped()?.handle_access(everything())?.create()?;
    let hidden = hidden(places);
    let closed: Vec<PathBuf> = hidden.iter().chain(homes).cloned().collect();
    let mut rules = Rules::new(ruleset, &closed);
    let read = AccessFs::from_read(KNOWN);
    for path in tree::SYSTEM.iter().chain(WITHOUT_A_TREE) {
        rules.allow_around(Path::new(path), read)?;
    }
    let mut rules = Rules::new(rules.created, &hidden);
    for path in tree::DEVICES.iter().chain(&["/dev/shm"]) {
        rules.allow_around(Path::new(path), everything())?;
    }
    for Granted { real, opened, .. } in places.readable() {
        rules.allow_opened(opened, real, read)?;
    }
    for Granted { real, opened, .. } in places.writable() {
        // Rules add up: what may only be read is left out where a folder around it may be written.
        let read_only = places.read_only.iter().map(|inner| &inner.real);
        let inside = read_only.filter(|inner| *inner != real && inner.starts_with(real));
        let closed: Vec<PathBuf> = inside.chain(&hidden).cloned().collect();
        let mut around = Rules::new(rules.created, &closed);
        around.allow_opened(opened, real, everything())?;
        rules = Rules::new(around.created, &hidden);
    }
    rules.created.restrict_self()
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
        // What is not there, or cannot be reached, needs no rule.
        match open(path) {
            Some(opened) => self.allow_opened(&opened, path, access),
            None => Ok(()),
        }
    }

    /// The same for what was opened, whatever its path leads to by now.
    fn allow_opened(
        &mut self,
        opened: &OwnedFd,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<(), RulesetError> {
        if self.hidden.iter().any(|hidden| hidden == path) {
            return Ok(());
        }
        if !self.hidden.iter().any(|hidden| hidden.starts_with(path)) {
            (&mut self.created).add_rule(PathBeneath::new(opened, access))?;
            return Ok(());
        }
        // What cannot be listed has nothing in it that the child could reach.
        let entries = fs::read_dir(by_descriptor(opened)).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let flags = HELD.union(OFlags::NOFOLLOW);
            let inner = rustix::fs::openat(opened, &name, flags, Mode::empty());
            // Where a link leads is allowed or hidden on its own account.
            if let Some(inner) = inner.ok().filter(|inner| !is_link(inner)) {
                self.allow_opened(&inner, &path.join(&name), access)?;
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

fn is_link(opened: &OwnedFd) -> bool {
    let found = rustix::fs::fstat(opened);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_symlink())
}

fn open(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, HELD, Mode::empty()).ok()
}

/// The interface that the rules were written for.
const KNOWN: ABI = ABI::V9;

/// What a tree of its own would hold in another way.
const WITHOUT_A_TREE: &[&str] = &["/proc", "/run/resolvconf", "/run/systemd/resolve", "/sys"];
