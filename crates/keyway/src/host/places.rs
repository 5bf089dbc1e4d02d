//! Every place where a process of this user may keep what is Keyway's.
//!
//! Two processes may have different variables: clients start `keyway run` with few of them, a service
//! has others than a shell. What one of them keeps has to be hidden from the children of the other,
//! so the places by variables are not enough. A gateway also records where it keeps things, if that is
//! none of the usual places; the record lies in a usual place, and so is hidden itself.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::process::ProcessEnvironment;

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
    places.extend(recorded.into_iter().flatten());
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
    let known = recorded(folder);
    for place in places.iter().filter(|place| !known.contains(place)) {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.join(name_of(place)))?;
        file.write_all(place.as_os_str().as_bytes())?;
    }
    Ok(())
}

fn name_of(place: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Reads the records; one of a place that is gone is removed.
fn recorded(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let places = files.take(MAX_RECORDS).filter_map(|file| {
        let bytes = fs::read(file.path()).ok()?;
        let place = PathBuf::from(OsStr::from_bytes(&bytes));
        if place.is_absolute() && place.exists() {
            return Some(place);
        }
        drop(fs::remove_file(file.path()));
        None
    });
    places.collect()
}

/// Far more than anybody runs gateways; each costs a mount.
const MAX_RECORDS: usize = 32;

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
