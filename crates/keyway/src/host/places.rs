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
use std::time::Duration;

use keyway_secret::{Clock as _, SystemClock};

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
        // One that is there already is of this place, before it was made.
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
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
    age.is_ok_and(|age| age.is_ok_and(|age| age > GONE_AFTER))
}

/// Far more than the gateways of one user; each costs a mount.
const MAX_RECORDS: usize = 256;
/// Records that are looked at, those of places that are gone included.
const MAX_FILES: usize = 1024;
/// How long a gateway has to make what it recorded.
const GONE_AFTER: Duration = Duration::from_secs(600);

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
        assert_eq!(recorded(&folder), [&*kept]);
        age(&folder);
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
        assert_eq!(recorded(&folder), [socket]);
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
