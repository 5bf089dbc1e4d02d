//! Every place where a process of this user may keep what is Keyway's.
//!
//! Two processes may have different variables: clients start `keyway run` with few of them, a service
//! has others than a shell. What one of them keeps has to be hidden from the children of the other,
//! so the places by variables are not enough. A gateway, and whatever opens a vault, also records where
//! it keeps things, if that is none of the usual places; the record lies in a usual place, and so is
//! hidden itself.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use keyway_secret::{Clock as _, SystemClock};

use super::process::ProcessEnvironment;
use crate::timeouts::PLACE_RECORD_GRACE;

/// Returns the places that do not depend on variables, those that variables name, and those that a
/// gateway recorded.
pub(crate) fn all() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let home = ProcessEnvironment::home();
    let mut places = usual(user, home_of(user).as_deref());
    places.extend(home.iter().flat_map(|home| below(home)));
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        let folder = ProcessEnvironment::absolute(name);
        places.extend(folder.map(|folder| folder.join("keyway")));
    }
    let recorded = home_of(user).map(|home| recorded(&records(&home)));
    places.extend(whole_homes(recorded.unwrap_or_default()));
    places.sort_unstable();
    places.dedup();
    places
}

/// Records where this process keeps things, unless every process looks there anyway.
///
/// # Errors
///
/// Returns what the system said.
pub fn record_places(places: &[PathBuf]) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let Some(home) = home_of(user) else {
        return Ok(());
    };
    let usual = usual(user, Some(&home));
    let is_usual = |place: &PathBuf| usual.iter().any(|usual| place.starts_with(usual));
    let others: Vec<&PathBuf> = places.iter().filter(|place| !is_usual(place)).collect();
    if others.is_empty() {
        return Ok(());
    }
    record(&records(&home), &others)
}

/// Records where a vault is that was opened, so that processes with other variables hide it.
///
/// Afterwards, when its folders are there: nothing has to wait for them to be made. A program that
/// Keyway started cannot record anything, and its vault is its own.
#[cfg(feature = "vault")]
pub fn record_vault(folders: &keyway_vault::Folders) {
    let places = [&folders.data, &folders.config, &folders.runtime];
    drop(record_places(&places.map(Clone::clone)));
    if let Some(known) = known_vaults() {
        known.note(folders);
    }
}

/// Returns which vaults this user opened so far, wherever they are.
#[cfg(feature = "vault")]
#[must_use]
pub fn known_vaults() -> Option<keyway_vault::KnownVaults> {
    let home = home_of(rustix::process::geteuid().as_raw())?;
    let [_, data] = below(&home);
    Some(keyway_vault::KnownVaults::new(data.join("vaults")))
}

/// Takes the three folders below one `KEYWAY_HOME` for one place, if nothing else lies there: each place
/// costs every start of a program some mounts.
fn whole_homes(mut places: Vec<PathBuf>) -> Vec<PathBuf> {
    let homes: Vec<PathBuf> = places
        .iter()
        .filter_map(|place| Some(place.parent()?.to_owned()))
        .filter(|home| places.contains(&home.join(HOME_FOLDERS[0])) && holds_nothing_else(home))
        .collect();
    places.retain(|place| !homes.iter().any(|home| place.parent() == Some(home)));
    places.extend(homes);
    places
}

fn holds_nothing_else(home: &Path) -> bool {
    let is_ours = |name: &OsStr| HOME_FOLDERS.iter().any(|own| name == *own);
    fs::read_dir(home).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.file_name())))
    })
}

fn usual(user: u32, home: Option<&Path>) -> Vec<PathBuf> {
    let run = PathBuf::from(format!("/run/user/{user}/keyway"));
    let mut places = vec![run];
    places.extend(home.into_iter().flat_map(below));
    places
}

fn below(home: &Path) -> [PathBuf; 2] {
    [".config/keyway", ".local/share/keyway"].map(|place| home.join(place))
}

fn records(home: &Path) -> PathBuf {
    home.join(".local/share/keyway/places")
}

/// Returns the home that the system has for a user, whatever `HOME` says.
fn home_of(user: u32) -> Option<PathBuf> {
    let users = fs::read("/etc/passwd").ok()?;
    let mut lines = users.split(|byte| *byte == b'\n');
    let home = lines.find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':').skip(2);
        let id: u32 = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        fields.nth(2).filter(|_| id == user)
    });
    // Users of a directory service are not listed; most have their home in the variable.
    let home = home.map(|home| PathBuf::from(OsStr::from_bytes(home)));
    home.or_else(ProcessEnvironment::home)
        .filter(|home| home.is_absolute())
}

/// One file for each place, so that two gateways that start at once do not lose each other's.
fn record(folder: &Path, places: &[&PathBuf]) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    for place in places {
        let path = folder.join(name_of(place));
        let text = place.as_os_str().as_bytes();
        if fs::read(&path).is_ok_and(|known| known == text) && place.exists() {
            continue;
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text)?;
        if place.exists() {
            // Once it is gone, it is gone: only what is about to be made is waited for.
            file.set_modified(UNIX_EPOCH)?;
        }
    }
    Ok(())
}

fn name_of(place: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Reads the records; one of a place that is gone is removed.
///
/// A gateway records a place before it makes it, so that no other process starts a child in between:
/// a young record of a place that is not there is of one that is about to be.
fn recorded(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let places = files.take(MAX_FILES).filter_map(|file| {
        let bytes = fs::read(file.path()).ok()?;
        let place = PathBuf::from(OsStr::from_bytes(&bytes));
        if place.is_absolute() && place.exists() {
            return Some(place);
        }
        if is_old(&file.path()) {
            drop(fs::remove_file(file.path()));
        }
        None
    });
    places.take(MAX_RECORDS).collect()
}

fn is_old(file: &Path) -> bool {
    let written = fs::metadata(file).and_then(|found| found.modified());
    let age = written.map(|written| SystemClock.wall().duration_since(written));
    age.is_ok_and(|age| age.is_ok_and(|age| age > PLACE_RECORD_GRACE))
}

/// The folders below a `KEYWAY_HOME`.
const HOME_FOLDERS: [&str; 3] = ["config", "data", "runtime"];
/// Far more than the gateways and vaults of one user; each costs some mounts.
const MAX_RECORDS: usize = 256;
/// Records that are looked at, those of places that are gone included.
const MAX_FILES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e2_places_are_recorded_once_and_forgotten_when_they_are_gone() {
        let home = tempfile::TempDir::new().unwrap();
        let folder = records(home.path());
        let (kept, gone) = (home.path().join("kept"), home.path().join("gone"));
        for place in [&kept, &gone] {
            fs::create_dir(place).unwrap();
        }
        for _ in 0..2 {
            record(&folder, &[&kept, &gone]).unwrap();
            assert_eq!(recorded(&folder).len(), 2);
        }
        fs::remove_dir(&gone).unwrap();
        assert_eq!(recorded(&folder), [kept]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    /// A process that looks while a gateway starts does not make it forgotten.
    #[test]
    fn e2_a_place_that_is_recorded_before_it_is_made_is_not_forgotten() {
        let home = tempfile::TempDir::new().unwrap();
        let (folder, socket) = (records(home.path()), home.path().join("gateway.sock"));
        record(&folder, &[&socket]).unwrap();
        assert_eq!(recorded(&folder), [] as [&Path; 0]);
        fs::create_dir(&socket).unwrap();
        assert_eq!(recorded(&folder), [&*socket]);
        fs::remove_dir(&socket).unwrap();
        age(&folder);
        assert_eq!(recorded(&folder), [] as [&Path; 0]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn e2_a_keyway_home_is_one_place_unless_something_else_lies_there() {
        let base = tempfile::TempDir::new().unwrap();
        let at = |path: &str| base.path().join(path);
        for path in [
            "own/data",
            "own/config",
            "shared/data",
            "shared/config",
            "shared/notes",
        ] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let recorded = [
            "own/data",
            "own/config",
            "shared/data",
            "shared/config",
            "socket",
        ]
        .map(at);
        let mut places = whole_homes(recorded.to_vec());
        places.sort_unstable();
        places.dedup();
        assert_eq!(
            places,
            ["own", "shared/config", "shared/data", "socket"].map(at)
        );
    }

    /// Places that are gone take none of the room of those that are there.
    #[test]
    fn e2_records_of_places_that_are_gone_do_not_push_out_others() {
        let home = tempfile::TempDir::new().unwrap();
        let folder = records(home.path());
        let gone: Vec<_> = (0..100)
            .map(|at| home.path().join(at.to_string()))
            .collect();
        record(&folder, &gone.iter().collect::<Vec<_>>()).unwrap();
        let kept = home.path().to_path_buf();
        record(&folder, &[&kept]).unwrap();
        assert_eq!(recorded(&folder), [kept]);
    }

    fn age(folder: &Path) {
        for file in fs::read_dir(folder).unwrap().flatten() {
            let file = OpenOptions::new().write(true).open(file.path()).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
    }

    #[test]
    fn e2_usual_places_do_not_depend_on_variables() {
        let places = usual(1000, Some(Path::new("/home/ada")));
        let expected = [
            "/run/user/1000/keyway",
            "/home/ada/.config/keyway",
            "/home/ada/.local/share/keyway",
        ];
        assert_eq!(places, expected.map(PathBuf::from));
        assert!(home_of(0).is_some_and(|home| home.is_absolute()));
    }
}
