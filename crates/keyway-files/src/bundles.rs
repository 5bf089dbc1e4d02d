//! Where MCP bundles are unpacked, so that their servers can be started.
//!
//! ```text
//! FOLDER/lock                      held while one process looks and unpacks
//! FOLDER/<archive's path>/source   that path
//!                        /<hash>   the files of the archive with that content
//!                        /<hash>.unpacked   written last: no file may be younger
//! ```
//!
//! A tree that changed since it was unpacked is replaced by what the archive holds. Nothing relies on
//! that: whether what starts is what a person approved is decided over the tree itself.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use blake2::digest::consts::{U16, U32};
use blake2::{Blake2b, Digest as _};
use keyway_config::bundle::{self, BundleError, UnpackTarget};

use crate::error::LoadError;
use crate::read::shown;
use crate::regular_file;
use crate::timeouts::GONE_BUNDLE_GRACE;

/// The folder in which bundles are unpacked.
#[derive(Debug, Clone)]
pub struct Bundles {
    folder: PathBuf,
}

impl Bundles {
    /// Names the folder; it is made with the first bundle.
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Unpacks an archive, unless that was done before, and returns the folder of its files.
    ///
    /// Of one archive's versions the last two are kept: a server of the one before may still run.
    /// Blocks while another process unpacks.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::BadBundle`] for an archive that is not unpacked, and
    /// [`LoadError::Unreadable`] if it cannot be read or the disk cannot be written.
    pub fn unpack(&self, archive: &Path) -> Result<PathBuf, LoadError> {
        self.unpacked(archive).map_err(|error| match error {
            Failed::Archive(source) => LoadError::BadBundle {
                path: shown(archive),
                source: Box::new(source),
            },
            Failed::System(source) if source.kind() == io::ErrorKind::NotFound => {
                LoadError::Missing {
                    path: shown(archive),
                }
            }
            Failed::System(source) => LoadError::Unreadable {
                path: shown(archive),
                source,
            },
        })
    }

    fn unpacked(&self, archive: &Path) -> Result<PathBuf, Failed> {
        let mut file = regular_file::open(archive)?;
        let archive = fs::canonicalize(archive)?;
        let versions = Versions {
            folder: self.folder.join(id_of(&archive)),
        };
        make_folder(&versions.folder)?;
        // Two processes that find nothing would unpack twice, and one would take the other's tree for
        // an unfinished one. Released when the file is closed, also if this process is killed.
        let lock = private().create(true).open(self.folder.join("lock"))?;
        lock.lock()?;
        versions.remove_unfinished()?;
        let version = content_of(&mut file)?;
        let tree = versions.folder.join(&version);
        if !versions.is_untouched(&version) {
            versions.unpack(&mut file, &version)?;
            versions.note_source(&archive)?;
            versions.prune(&version);
            self.prune(&versions.folder);
        }
        Ok(tree)
    }

    /// Removes what was unpacked of archives that are gone for long.
    fn prune(&self, current: &Path) {
        let Some(now) = time_of(&current.join(SOURCE)) else {
            return;
        };
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for folder in folders.map(|entry| entry.path()).filter(|it| it.is_dir()) {
            let record = folder.join(SOURCE);
            let is_gone = fs::read(&record).is_ok_and(|path| {
                let path = Path::new(std::ffi::OsStr::from_bytes(&path));
                fs::symlink_metadata(path).is_err()
            });
            let age = time_of(&record).and_then(|then| now.duration_since(then).ok());
            if is_gone && age.is_some_and(|age| age > GONE_BUNDLE_GRACE) {
                // What is left of it is tried again next time.
                drop(fs::remove_dir_all(folder));
            }
        }
    }
}

/// What was unpacked of one archive.
struct Versions {
    folder: PathBuf,
}

impl Versions {
    fn marker(&self, version: &str) -> PathBuf {
        self.folder.join(format!("{version}.{UNPACKED}"))
    }

    /// Says whether a version is as it was unpacked: what was written, renamed or removed later has a
    /// later time, which no program can set.
    fn is_untouched(&self, version: &str) -> bool {
        let marker = fs::symlink_metadata(self.marker(version));
        let Ok(marker) = marker.map(|it| (it.ctime(), it.ctime_nsec())) else {
            return false;
        };
        let mut waiting = vec![self.folder.join(version)];
        while let Some(path) = waiting.pop() {
            let Ok(found) = fs::symlink_metadata(&path) else {
                return false;
            };
            if (found.ctime(), found.ctime_nsec()) > marker {
                return false;
            }
            if found.is_dir() {
                let Ok(entries) = fs::read_dir(&path) else {
                    return false;
                };
                waiting.extend(entries.flatten().map(|entry| entry.path()));
            }
        }
        true
    }

    /// Puts the files of an archive in place, all of them or none.
    fn unpack(&self, archive: &mut File, version: &str) -> Result<(), Failed> {
        let (tree, unfinished) = (self.folder.join(version), self.folder.join(UNFINISHED));
        make_folder(&unfinished)?;
        let mut target = NewTree {
            root: unfinished.clone(),
        };
        let unpacked = bundle::unpack(&mut *archive, &mut target);
        if let Err(error) = unpacked {
            drop(fs::remove_dir_all(&unfinished));
            return Err(Failed::from(error));
        }
        if content_of(archive)? != version {
            drop(fs::remove_dir_all(&unfinished));
            let changed = "it was changed while it was read; try again";
            return Err(io::Error::other(changed).into());
        }
        // After a power failure the marker must not vouch for files that were never written.
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(File::open(&unfinished)?).map_err(io::Error::from)?;
        drop(fs::remove_file(self.marker(version)));
        if fs::symlink_metadata(&tree).is_ok() {
            fs::remove_dir_all(&tree)?;
        }
        fs::rename(&unfinished, &tree)?;
        let turn = self.names().map(|name| self.turn_of(&name)).max();
        let turn = turn.unwrap_or_default().saturating_add(1);
        let mut marker = private().create_new(true).open(self.marker(version))?;
        marker.write_all(turn.to_string().as_bytes())?;
        Ok(())
    }

    /// Returns the names of the trees.
    fn names(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let trees = entries.map(|entry| entry.path()).filter(|it| it.is_dir());
        trees.filter_map(|tree| tree.file_name()?.to_str().map(str::to_owned))
    }

    /// Says when a version was unpacked, counted: two may be so in one tick of the clock.
    fn turn_of(&self, version: &str) -> u64 {
        let turn = fs::read_to_string(self.marker(version));
        turn.ok()
            .and_then(|turn| turn.parse().ok())
            .unwrap_or_default()
    }

    fn note_source(&self, archive: &Path) -> io::Result<()> {
        let mut file = private()
            .create(true)
            .truncate(true)
            .open(self.folder.join(SOURCE))?;
        file.write_all(archive.as_os_str().as_bytes())
    }

    /// What a process left that was killed: no other unpacks now.
    fn remove_unfinished(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.folder.join(UNFINISHED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes all versions but this one and the last before it.
    fn prune(&self, version: &str) {
        let others = self.names().filter(|name| name != version);
        let others = others.map(|name| (self.turn_of(&name), name));
        let mut others: Vec<(u64, String)> = others.collect();
        others.sort_unstable();
        others.pop();
        for (_, name) in others {
            // The marker first: a part of a tree must not count as whole.
            drop(fs::remove_file(self.marker(&name)));
            drop(fs::remove_dir_all(self.folder.join(name)));
        }
    }
}

/// A folder that is filled by this process alone, for this user alone.
struct NewTree {
    root: PathBuf,
}

impl UnpackTarget for NewTree {
    fn folder(&mut self, path: &str) -> io::Result<()> {
        make_folder(&self.root.join(path))
    }

    fn file(&mut self, path: &str, is_executable: bool) -> io::Result<impl Write> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        let mode = if is_executable { 0o700 } else { 0o600 };
        private().mode(mode).create_new(true).open(path)
    }
}

/// Why an archive was not unpacked.
enum Failed {
    Archive(BundleError),
    System(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<BundleError> for Failed {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Unreadable(error) | BundleError::NotWritten(error) => Self::System(error),
            error => Self::Archive(error),
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn time_of(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}

/// Returns what stands for the path of an archive.
fn id_of(archive: &Path) -> String {
    hex(&Blake2b::<U16>::digest(archive.as_os_str().as_bytes()))
}

/// Returns what stands for the content of an archive.
fn content_of(file: &mut File) -> Result<String, Failed> {
    file.rewind()?;
    let mut hasher = Blake2b::<U32>::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        total += read;
        if total > MAX_ARCHIVE {
            return Err(BundleError::TooLargeToUnpack.into());
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What unpacks to more is refused, so that no archive of use is larger.
const MAX_ARCHIVE: usize = 512 * 1024 * 1024;
const SOURCE: &str = "source";
const UNFINISHED: &str = "unfinished";
const UNPACKED: &str = "unpacked";

#[cfg(test)]
mod tests;
