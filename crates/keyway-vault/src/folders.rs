//! The three folders that hold what Keyway keeps, opened only if no other user can reach into them.
//!
//! The caller decides where they are. Here they are created (0700), and everything in them is
//! checked at each opening: owner, mode, links, kind of file system. Files are made complete under
//! a random name and then renamed into place, so that a half-written one is never seen.

mod file_system;

use std::fs::DirBuilder;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use keyway_secret::Secret;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::error::{Finding, VaultError};
use crate::seal::KeyId;

/// Where data, key and run-time files live: three different folders.
///
/// ```
/// use keyway_vault::Folders;
///
/// let folders = Folders::below("/home/ada/.keyway");
/// assert!(folders.data.ends_with("data"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Folders {
    /// The database.
    pub data: PathBuf,
    /// The key file, where there is one.
    pub config: PathBuf,
    /// Lock files; may be emptied at a restart of the machine.
    pub runtime: PathBuf,
}

impl Folders {
    /// Names the three folders one by one.
    #[must_use]
    pub const fn new(data: PathBuf, config: PathBuf, runtime: PathBuf) -> Self {
        Self {
            data,
            config,
            runtime,
        }
    }

    /// Names three folders below one, as `KEYWAY_HOME` asks for.
    #[must_use]
    pub fn below(home: impl AsRef<Path>) -> Self {
        let home = home.as_ref();
        Self::new(home.join("data"), home.join("config"), home.join("runtime"))
    }
}

/// A folder that belongs to us alone, held open.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

impl Folder {
    /// Opens the folder at `path`, and makes it and its missing parents first (0700).
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Exposed`] if it is a link, belongs to another user or is open to
    /// others, and [`VaultError::NetworkFileSystem`] where locks cannot be relied upon.
    pub fn open(path: &Path) -> Result<Self, VaultError> {
        if !path.is_absolute() {
            return Err(VaultError::RelativePath {
                path: path.to_owned(),
            });
        }
        // A trailing slash or dot would make the kernel follow a link in the last component.
        let path: PathBuf = path.components().collect();
        let fd = match open_directory(&path) {
            Err(Errno::NOENT) => {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&path)
                    .map_err(|source| VaultError::file("create", &path, source))?;
                open_directory(&path)
            }
            opened => opened,
        }
        .map_err(|errno| not_a_directory(&path, errno))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| VaultError::file("inspect", &path, e))?;
        check(&path, &stat, Expected::Folder)?;
        file_system::refuse_network(&path, &fd)?;
        Ok(Self { path, fd })
    }

    /// Makes a folder and opens it in a way that files can be made in it, and it cannot be synced.
    #[cfg(test)]
    pub(crate) fn without_sync(path: &Path) -> Self {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        let path = path.to_owned();
        Self { path, fd }
    }

    /// Returns where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder inside this one, and makes it first if need be.
    ///
    /// # Errors
    ///
    /// As [`Folder::open`].
    pub fn folder(&self, name: &'static str) -> Result<Self, VaultError> {
        let path = self.path.join(name);
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(VaultError::file("create", &path, errno)),
        }
        let fd = rustix::fs::openat(&self.fd, name, DIRECTORY, Mode::empty())
            .map_err(|errno| not_a_directory(&path, errno))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| VaultError::file("inspect", &path, e))?;
        check(&path, &stat, Expected::Folder)?;
        Ok(Self { path, fd })
    }

    /// Writes a new file (0600), durable and complete, or not at all; tells whether it did.
    ///
    /// `false` means that there is something of that name already, which is left as it is.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::File`].
    pub fn create(&self, name: &str, contents: &[u8]) -> Result<bool, VaultError> {
        let draft = format!("new-{}", KeyId::random()?);
        let path = self.path.join(name);
        let failed = |errno: std::io::Error| VaultError::file("create", &path, errno);
        let mut file = std::fs::File::from(self.create_open(&draft)?);
        let written = file.write_all(contents).and_then(|()| file.sync_all());
        if let Err(source) = written {
            drop(self.remove(&draft));
            return Err(failed(source));
        }
        // Closed before it can be seen: closing a database file later would drop SQLite's locks.
        drop(file);
        match self.publish(&draft, name) {
            Ok(()) => {
                rustix::fs::fsync(&self.fd).map_err(|e| failed(e.into()))?;
                Ok(true)
            }
            Err(errno) => {
                self.remove(&draft)?;
                if errno == Errno::EXIST {
                    Ok(false)
                } else {
                    Err(failed(errno.into()))
                }
            }
        }
    }

    /// Gives a finished draft its name, if that is free.
    pub(crate) fn publish(&self, draft: &str, name: &str) -> Result<(), Errno> {
        let fd = &self.fd;
        match rustix::fs::renameat_with(fd, draft, fd, name, RenameFlags::NOREPLACE) {
            // Not every file system can; a second link comes to the same.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(fd, draft, fd, name, AtFlags::empty())?;
                rustix::fs::unlinkat(fd, draft, AtFlags::empty())
            }
            result => result,
        }
    }

    /// Creates an empty file (0600) under a name that must be free, and returns it open.
    pub(crate) fn create_open(&self, name: &str) -> Result<OwnedFd, VaultError> {
        let flags = OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::RDWR
            | OFlags::NONBLOCK;
        rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| VaultError::file("create", &self.path.join(name), errno))
    }

    /// Opens a file after the checks; `None` if there is none.
    pub(crate) fn open_file(&self, name: &str) -> Result<Option<OwnedFd>, VaultError> {
        let path = self.path.join(name);
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NONBLOCK;
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(VaultError::Exposed {
                    path,
                    finding: Finding::Link,
                });
            }
            Err(errno) => return Err(VaultError::file("open", &path, errno)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|e| VaultError::file("inspect", &path, e))?;
        check(&path, &stat, Expected::File)?;
        Ok(Some(fd))
    }

    /// Reads a small file after the checks; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Exposed`] if it is a link, belongs to another user or is open to
    /// others.
    pub fn read(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, VaultError> {
        let Some(fd) = self.open_file(name)? else {
            return Ok(None);
        };
        read_small(fd, &self.path.join(name)).map(Some)
    }

    /// Checks a file without opening it; tells whether there is one.
    pub(crate) fn inspect(&self, name: &str) -> Result<bool, VaultError> {
        let path = self.path.join(name);
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => check(&path, &stat, Expected::File).map(|()| true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(VaultError::file("inspect", &path, errno)),
        }
    }

    /// Returns how large a file is, after the checks; `None` if there is none.
    pub(crate) fn size(&self, name: &str) -> Result<Option<u64>, VaultError> {
        let path = self.path.join(name);
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                check(&path, &stat, Expected::File)?;
                Ok(Some(u64::try_from(stat.st_size).unwrap_or(0)))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(VaultError::file("inspect", &path, errno)),
        }
    }

    /// Gives a file another name, in place of what has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), VaultError> {
        rustix::fs::renameat(&self.fd, from, &self.fd, to)
            .map_err(|errno| VaultError::file("rename", &self.path.join(from), errno))
    }

    /// Gives a file a second name.
    pub(crate) fn link(&self, name: &str, second: &str) -> Result<(), VaultError> {
        rustix::fs::linkat(&self.fd, name, &self.fd, second, AtFlags::empty())
            .map_err(|errno| VaultError::file("link", &self.path.join(name), errno))
    }

    /// Makes what was renamed, linked or removed here durable.
    pub(crate) fn sync(&self) -> Result<(), VaultError> {
        rustix::fs::fsync(&self.fd).map_err(|errno| VaultError::file("sync", &self.path, errno))
    }

    /// Removes a file; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::File`].
    pub fn remove(&self, name: &str) -> Result<(), VaultError> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(VaultError::file("remove", &self.path.join(name), errno)),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reads a key file that the person keeps where they like; a link to it is followed.
///
/// It has to belong to us or to the superuser. With `group_may_read`, as service managers hand
/// out credentials, its group may read it.
pub(crate) fn read_foreign(
    path: &Path,
    group_may_read: bool,
) -> Result<Secret<Vec<u8>>, VaultError> {
    let flags = OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NONBLOCK;
    let fd = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| VaultError::file("open", path, errno))?;
    let stat = rustix::fs::fstat(&fd).map_err(|e| VaultError::file("inspect", path, e))?;
    let expected = if group_may_read {
        Expected::Credential
    } else {
        Expected::SuppliedFile
    };
    check(path, &stat, expected)?;
    read_small(fd, path)
}

fn read_small(fd: OwnedFd, path: &Path) -> Result<Secret<Vec<u8>>, VaultError> {
    let mut contents = Zeroizing::new(Vec::with_capacity(SMALL));
    std::fs::File::from(fd)
        .take(SMALL as u64)
        .read_to_end(&mut contents)
        .map_err(|source| VaultError::file("read", path, source))?;
    Ok(Secret::new(std::mem::take(&mut contents)))
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, DIRECTORY, Mode::empty())
}

fn not_a_directory(path: &Path, errno: Errno) -> VaultError {
    let is_link = rustix::fs::lstat(path)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
    let finding = match errno {
        Errno::LOOP | Errno::NOTDIR if is_link => Finding::Link,
        Errno::NOTDIR => Finding::WrongType { expected: "folder" },
        _ => return VaultError::file("open", path, errno),
    };
    VaultError::Exposed {
        path: path.to_owned(),
        finding,
    }
}

/// What a checked file has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Folder,
    File,
    SuppliedFile,
    Credential,
}

impl Expected {
    const fn allowed(self) -> (Mode, &'static str) {
        match self {
            Self::Folder => (Mode::RWXU, "0700"),
            Self::File | Self::SuppliedFile => (Mode::RUSR.union(Mode::WUSR), "0600"),
            Self::Credential => (Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP), "0640"),
        }
    }
}

fn check(path: &Path, stat: &Stat, expected: Expected) -> Result<(), VaultError> {
    let refuse = |finding| {
        Err(VaultError::Exposed {
            path: path.to_owned(),
            finding,
        })
    };
    let (file_type, noun) = match expected {
        Expected::Folder => (FileType::Directory, "folder"),
        _ => (FileType::RegularFile, "regular file"),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        found if found == file_type => {}
        FileType::Symlink => return refuse(Finding::Link),
        _ => return refuse(Finding::WrongType { expected: noun }),
    }
    let ours = rustix::process::geteuid().as_raw();
    let root_may_own = matches!(expected, Expected::SuppliedFile | Expected::Credential);
    if stat.st_uid != ours && !(root_may_own && stat.st_uid == 0) {
        return refuse(Finding::ForeignOwner {
            owner: stat.st_uid,
            ours,
        });
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    let (widest, allowed) = expected.allowed();
    if !widest.contains(mode & (Mode::RWXU | Mode::RWXG | Mode::RWXO)) {
        return refuse(Finding::WiderMode {
            found: format!("{:04o}", mode.bits()),
            allowed,
        });
    }
    Ok(())
}

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::RDONLY);
/// No file that is read whole is larger.
const SMALL: usize = 4096;

#[cfg(test)]
mod tests;
