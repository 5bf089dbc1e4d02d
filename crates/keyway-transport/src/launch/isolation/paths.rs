//! The paths of an isolation as they really are: without links, and with every step that leads to
//! a hidden one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::granted::Granted;
use super::{ApplyError, Request, mount_table};
use crate::launch::known_folders::{FolderId, KnownPath};
use crate::launch::stage::LaunchStage;

/// The paths of an isolation.
#[derive(Debug, Default)]
pub(super) struct IsolatedPaths {
    pub(super) hidden: Vec<HiddenPlace>,
    /// To read and write, outside of what is hidden.
    pub(super) granted: Vec<Granted>,
    /// To read, outside of what is hidden; the plugin's folder is one of them.
    pub(super) read_only: Vec<Granted>,
    /// To read and write, and the only ones that are shown inside of what is hidden.
    pub(super) own: Vec<Granted>,
    /// The same, to read.
    pub(super) own_read_only: Vec<Granted>,
}

/// One hidden folder or file.
#[derive(Debug)]
pub(super) struct HiddenPlace {
    /// Without links.
    pub(super) path: PathBuf,
    /// What it is; `None` for a file.
    pub(super) id: Option<FolderId>,
    /// The folders and links on the way to it that the child could rename.
    pub(super) steps: Vec<Step>,
}

/// A name in a folder on the way to a hidden path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) folder: PathBuf,
    pub(super) name: OsString,
    pub(super) is_link: bool,
}

impl IsolatedPaths {
    /// Finds the paths; an error if a folder is not the one that the host knows, or if one that was
    /// granted leads to what is hidden.
    pub(super) fn of(request: Request<'_>) -> Result<Self, ApplyError> {
        let hidden = hidden_places(request).map_err(ApplyError::at(LaunchStage::Identity))?;
        let mut places = Self {
            hidden,
            ..Self::default()
        };
        places.open(request)?;
        Ok(places)
    }

    /// Opens what was granted, once and before anything is covered: what is compared here is what
    /// is shown later, whatever its path leads to by then.
    fn open(&mut self, request: Request<'_>) -> Result<(), ApplyError> {
        let isolation = request.isolation;
        let failed = ApplyError::at(LaunchStage::Grants);
        let root = request.root.map(Granted::of_root).transpose();
        let root = root.map_err(&failed)?;
        let approved = |paths: &[PathBuf]| {
            let granted = Granted::all(paths, &isolation.known_grants);
            granted.map_err(ApplyError::at(LaunchStage::Approved))
        };
        let read_only = approved(&isolation.read_only)?;
        self.read_only = read_only.into_iter().chain(root).collect();
        self.granted = approved(&isolation.granted)?;
        let own = Granted::own(&isolation.own, request.hidden);
        let (own, elsewhere) = own.map_err(&failed)?;
        self.own = own;
        self.granted.extend(elsewhere);
        let own = Granted::own(&isolation.own_read_only, request.hidden);
        let (own, elsewhere) = own.map_err(&failed)?;
        self.own_read_only = own;
        self.read_only.extend(elsewhere);
        self.refuse_hidden().map_err(&failed)
    }

    /// Fails if anything that was granted leads to what is hidden.
    fn refuse_hidden(&self) -> io::Result<()> {
        let is_hidden = |id| self.hidden.iter().any(|place| place.id == Some(id));
        for granted in self.granted.iter().chain(&self.read_only) {
            if self.is_hidden(&granted.real) || granted.lies_in(is_hidden)? {
                return Err(Errno::ACCESS.into());
            }
        }
        Ok(())
    }

    /// Returns what may at least be read.
    pub(super) fn readable(&self) -> impl Iterator<Item = &Granted> {
        self.read_only.iter().chain(&self.own_read_only)
    }

    /// Returns what may be written.
    pub(super) fn writable(&self) -> impl Iterator<Item = &Granted> {
        self.granted.iter().chain(&self.own)
    }

    /// Says whether a path lies in a hidden folder, or is one.
    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        self.hidden
            .iter()
            .any(|place| path.starts_with(&place.path))
    }
}

fn hidden_places(request: Request<'_>) -> io::Result<Vec<HiddenPlace>> {
    let hidden: io::Result<Vec<HiddenPlace>> = request.hidden.iter().map(find).collect();
    let mut hidden = hidden?;
    hidden.extend(seen_elsewhere(&hidden)?);
    hidden.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    hidden.dedup_by(|inner, outer| {
        // What lies inside another one is hidden with it; a link may lead there from outside.
        let is_inside = inner.path.starts_with(&outer.path);
        if is_inside {
            let steps = inner.steps.drain(..);
            let outside = steps.filter(|step| !step.folder.starts_with(&outer.path));
            outer.steps.extend(outside);
        }
        is_inside
    });
    Ok(hidden)
}

/// Returns the same folders where their file systems are mounted once more.
fn seen_elsewhere(hidden: &[HiddenPlace]) -> io::Result<Vec<HiddenPlace>> {
    let mounts = mount_table::read()?;
    let mut found = Vec::new();
    for place in hidden.iter().filter(|place| place.id.is_some()) {
        for path in mount_table::aliases(&mounts, &place.path) {
            let same = KnownPath { path, id: place.id };
            // Another mount may lie above that path, and then something else is seen there.
            found.extend(find(&same).ok());
        }
    }
    Ok(found)
}

fn find(hidden: &KnownPath) -> io::Result<HiddenPlace> {
    let (path, steps) = walk(&hidden.path)?;
    let id = FolderId::of(&fs::symlink_metadata(&path)?);
    if id != hidden.id {
        return Err(Errno::STALE.into());
    }
    let steps = steps.into_iter().filter(|step| {
        // The last folder is covered, and so cannot be renamed.
        let is_itself = step.folder.join(&step.name) == path;
        !is_itself && access(&step.folder, Access::WRITE_OK).is_ok()
    });
    Ok(HiddenPlace {
        steps: steps.collect(),
        path,
        id,
    })
}

/// Follows a path; returns where it leads and every name on the way, links included.
fn walk(path: &Path) -> io::Result<(PathBuf, Vec<Step>)> {
    let mut left: Vec<OsString> = names(path);
    let mut reached = PathBuf::from("/");
    let mut steps = Vec::new();
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            reached.pop();
            continue;
        }
        let next = reached.join(&name);
        let is_link = fs::symlink_metadata(&next)?.is_symlink();
        steps.push(Step {
            folder: reached.clone(),
            name,
            is_link,
        });
        if !is_link {
            reached = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            reached = PathBuf::from("/");
        }
        left.extend(names(&target));
    }
    Ok((reached, steps))
}

/// Returns the names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_and_link_on_the_way_is_a_step() {
        let home = tempfile::TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("dotfiles/config/keyway")).unwrap();
        std::os::unix::fs::symlink("dotfiles/../dotfiles/config", root.join(".config")).unwrap();
        let (path, steps) = walk(&root.join(".config/keyway")).unwrap();
        assert_eq!(path, root.join("dotfiles/config/keyway"));
        let below = |folder: &str| root.join(folder);
        let inside: Vec<(PathBuf, &str, bool)> = steps
            .iter()
            .filter(|step| step.folder.starts_with(&root))
            .map(|step| {
                (
                    step.folder.clone(),
                    step.name.to_str().unwrap(),
                    step.is_link,
                )
            })
            .collect();
        assert_eq!(
            inside,
            [
                (root.clone(), ".config", true),
                (root.clone(), "dotfiles", false),
                (root.clone(), "dotfiles", false),
                (below("dotfiles"), "config", false),
                (below("dotfiles/config"), "keyway", false),
            ]
        );
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        assert!(walk(&root.join("loop")).is_err());
    }

    #[test]
    fn as_many_links_are_followed_as_the_kernel_follows() {
        let home = tempfile::TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir(root.join("0")).unwrap();
        for link in 1..=41 {
            std::os::unix::fs::symlink((link - 1).to_string(), root.join(link.to_string()))
                .unwrap();
        }
        assert_eq!(walk(&root.join("40")).unwrap().0, root.join("0"));
        assert!(walk(&root.join("41")).is_err());
    }

    fn known(path: PathBuf) -> KnownPath {
        let id = FolderId::of(&fs::metadata(&path).unwrap());
        KnownPath { path, id }
    }

    #[test]
    fn e1_a_folder_is_hidden_only_if_it_is_the_one_that_is_known() {
        let home = tempfile::TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("config/keyway")).unwrap();
        let hidden = known(at("config/keyway"));
        let found = find(&hidden).unwrap();
        assert_eq!((&found.path, found.id), (&hidden.path, hidden.id));
        // It is covered itself; what leads there could be renamed.
        let steps = found.steps.iter().filter(|it| it.folder.starts_with(&root));
        let steps: Vec<PathBuf> = steps.map(|it| it.folder.join(&it.name)).collect();
        assert_eq!(steps, [at("config")]);
        fs::rename(at("config/keyway"), at("away")).unwrap();
        fs::create_dir(at("config/keyway")).unwrap();
        assert!(find(&hidden).is_err(), "another one lies there");
    }

    #[test]
    fn a_folder_inside_a_hidden_one_is_hidden_with_it_and_so_is_the_link_that_leads_there() {
        let home = tempfile::TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("keyway/inner/data")).unwrap();
        std::os::unix::fs::symlink(at("keyway/inner"), at("link")).unwrap();
        let hidden = [known(at("keyway")), known(at("link/data"))];
        let isolation = crate::launch::isolation::Isolation::default();
        let request = Request {
            isolation: &isolation,
            hidden: &hidden,
            root: None,
            sockets: &[],
            own_folders: [None; 3],
        };
        let places = IsolatedPaths::of(request).unwrap();
        let below = places.hidden.iter().filter(|it| it.path.starts_with(&root));
        let below: Vec<_> = below.collect();
        let [keyway] = below[..] else {
            panic!("{below:?}")
        };
        assert_eq!(keyway.path, at("keyway"));
        assert!(
            keyway
                .steps
                .iter()
                .any(|step| step.is_link && step.name == "link")
        );
        let is_inside = |step: &Step| step.folder.starts_with(at("keyway"));
        assert!(!keyway.steps.iter().any(is_inside), "{keyway:?}");
        assert!(places.is_hidden(&at("keyway/inner/data/x")));
        assert!(!places.is_hidden(&at("keyway2")));
    }
}
