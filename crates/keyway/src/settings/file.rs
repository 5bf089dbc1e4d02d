//! The file on disk: read if it is ours and no other user can write to it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use keyway_config::source::MAX_BYTES;
use keyway_files::read;
use rustix::fs::OFlags;
use thiserror::Error;

use super::{Around, Parsed, Settings};

/// The name of the file in Keyway's folder for configuration.
pub const FILE_NAME: &str = "config.toml";

/// Why a file is not used at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// It is there, but reading failed.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is a pipe, a device, a socket or a folder.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Another user owns the file, or the folder that it is in.
    #[error("`{}` belongs to user {owner}, not to you", path.display())]
    ForeignOwner {
        /// The file or folder.
        path: PathBuf,
        /// The id of its owner.
        owner: u32,
    },
    /// Others may write to the file, or to the folder that it is in.
    #[error("`{}` can be written by others (mode {mode:04o})", path.display())]
    Writable {
        /// The file or folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

impl SettingsError {
    /// Returns what the person can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Writable { path, .. } => Some(format!("chmod go-w '{}'", path.display())),
            _ => None,
        }
    }
}

/// Reads `config.toml` of a folder; without one, everything is as by default.
///
/// A link is followed, as people keep such files elsewhere. What it leads to, and the folder, must
/// belong to us or to the superuser, and no other user may write to them: such a user would decide
/// what protects the person's credentials.
///
/// # Errors
///
/// Returns a [`SettingsError`] if the file is there but cannot be relied upon.
pub fn load(folder: &Path, home: Option<&Path>) -> Result<Parsed, SettingsError> {
    let path = folder.join(FILE_NAME);
    let around = Around {
        folder: Some(folder),
        home,
    };
    let unreadable = |source| SettingsError::Unreadable {
        path: path.clone(),
        source,
    };
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = File::options().read(true).custom_flags(flags).open(&path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Parsed {
                settings: Settings::default(),
                diagnostics: Vec::new(),
            });
        }
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(SettingsError::NotAFile { path });
    }
    check(&path, &metadata)?;
    check(folder, &folder.metadata().map_err(unreadable)?)?;
    let bytes = read::stream(file, MAX_BYTES).map_err(unreadable)?;
    Ok(Settings::parse(&path.to_string_lossy(), &bytes, around))
}

fn check(path: &Path, metadata: &Metadata) -> Result<(), SettingsError> {
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        let path = path.to_path_buf();
        return Err(SettingsError::ForeignOwner { path, owner });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o022 != 0 {
        let path = path.to_path_buf();
        return Err(SettingsError::Writable { path, mode });
    }
    Ok(())
}
