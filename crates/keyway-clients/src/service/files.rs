//! The files of a service: what is there, what shall be there, and the step between.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use keyway_files::write;

use super::manager::{ManagerKind, ServiceManager};
use super::{LABEL, SERVICE_UNIT, SOCKET_UNIT, Service, ServiceError, UnitFile, is_ours};

/// Files of a service that are to be written.
#[derive(Debug)]
pub struct ServiceFiles {
    folder: PathBuf,
    all: Vec<(UnitFile, Option<String>)>,
}

impl ServiceFiles {
    /// Looks at what is there now; a file that Keyway did not write is left alone.
    ///
    /// # Errors
    ///
    /// Returns [`ServiceError::UnmanagedUnitFile`] for such a file, [`ServiceError::Control`] for a
    /// text that no file can hold, and [`ServiceError::File`] if a file cannot be read.
    pub fn read(manager: &ServiceManager, service: &Service) -> Result<Self, ServiceError> {
        let wanted = match manager.kind() {
            ManagerKind::Systemd => service.systemd()?,
            ManagerKind::Launchd => vec![service.launchd()?],
        };
        let folder = manager.folder().to_path_buf();
        let mut all = Vec::new();
        for file in wanted {
            let path = folder.join(file.name);
            let there = content(&path)?;
            if there.as_deref().is_some_and(|text| !is_ours(text)) {
                return Err(ServiceError::UnmanagedUnitFile { path });
            }
            all.push((file, there));
        }
        Ok(Self { folder, all })
    }

    /// Returns the files that would change: where, the text that is there, and the new one.
    pub fn changes(&self) -> impl Iterator<Item = (PathBuf, Option<&str>, &str)> {
        let all = self.all.iter();
        let changed = all.filter(|(file, there)| there.as_deref() != Some(&file.content));
        changed.map(|(file, there)| {
            let path = self.folder.join(file.name);
            (path, there.as_deref(), file.content.as_str())
        })
    }

    /// Writes what differs, for the owner alone. Returns what was written.
    ///
    /// # Errors
    ///
    /// Returns [`ServiceError::File`] or [`ServiceError::Write`].
    pub fn write(&self) -> Result<Vec<PathBuf>, ServiceError> {
        let failed = |source| ServiceError::File {
            path: self.folder.clone(),
            source,
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut written = Vec::new();
        for (path, there, content) in self.changes() {
            let content = content.as_bytes();
            match there {
                Some(there) => write::replace_private(&path, there.as_bytes(), content)?,
                None => write::create(&path, content, 0o600)?,
            }
            written.push(path);
        }
        Ok(written)
    }
}

impl ServiceManager {
    /// Returns the files of ours that are there.
    ///
    /// # Errors
    ///
    /// Returns [`ServiceError::File`] if one of them cannot be read.
    pub fn installed(&self) -> Result<Vec<PathBuf>, ServiceError> {
        let names = match self.kind() {
            ManagerKind::Systemd => vec![SOCKET_UNIT.to_owned(), SERVICE_UNIT.to_owned()],
            ManagerKind::Launchd => vec![format!("{LABEL}.plist")],
        };
        let mut found = Vec::new();
        for name in names {
            let path = self.folder().join(name);
            if content(&path)?.as_deref().is_some_and(is_ours) {
                found.push(path);
            }
        }
        Ok(found)
    }
}

fn content(path: &Path) -> Result<Option<String>, ServiceError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ServiceError::File {
            path: path.to_owned(),
            source,
        }),
    }
}
