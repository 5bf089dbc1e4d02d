//! The files of a service: what is there, what shall be there, and the step between.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use keyway::write;
use keyway_check::diff::TextKind;
use keyway_clients::service::{self, SERVICE_UNIT, SOCKET_UNIT, Service, UnitFile};

use super::manager::Manager;
use crate::commands::install::difference;
use crate::error::CliError;

/// Files that are to be written.
pub(super) struct Files {
    folder: PathBuf,
    all: Vec<(UnitFile, Option<String>)>,
}

impl Files {
    /// Looks at what is there now; a file that Keyway did not write is left alone.
    pub(super) fn read(manager: Manager, service: &Service) -> Result<Self, CliError> {
        let wanted = match manager {
            Manager::Systemd => service.systemd()?,
            Manager::Launchd => vec![service.launchd()?],
        };
        let folder = manager.folder()?;
        let mut all = Vec::new();
        for file in wanted {
            let path = folder.join(file.name);
            let there = content(&path)?;
            if there.as_deref().is_some_and(|text| !service::is_ours(text)) {
                return Err(CliError::UnmanagedUnitFile { path });
            }
            all.push((file, there));
        }
        Ok(Self { folder, all })
    }

    /// Shows what would change; empty if nothing would.
    pub(super) fn diff(&self) -> String {
        let mut shown = String::new();
        for (file, there) in &self.all {
            if there.as_deref() != Some(&file.content) {
                let path = self.folder.join(file.name);
                // If it were masked, the person could not see what would be started.
                let ours: Vec<String> = file.content.lines().map(str::to_owned).collect();
                let texts = (there.as_deref(), file.content.as_str());
                shown.push_str(&difference(&path, texts, TextKind::Prose, &ours));
            }
        }
        shown
    }

    /// Writes what differs, for the owner alone.
    pub(super) fn write(&self) -> Result<Vec<PathBuf>, CliError> {
        let failed = |source| CliError::Generate {
            path: self.folder.clone(),
            source,
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut written = Vec::new();
        for (file, there) in &self.all {
            let path = self.folder.join(file.name);
            let content = file.content.as_bytes();
            match there {
                Some(there) if *there == file.content => continue,
                Some(there) => write::replace_private(&path, there.as_bytes(), content)?,
                None => write::create(&path, content, 0o600)?,
            }
            written.push(path);
        }
        Ok(written)
    }
}

/// Returns the files of ours that are there.
pub(super) fn installed(manager: Manager) -> Result<Vec<PathBuf>, CliError> {
    let folder = manager.folder()?;
    let mut found = Vec::new();
    for name in names(manager) {
        let path = folder.join(name);
        if content(&path)?.as_deref().is_some_and(service::is_ours) {
            found.push(path);
        }
    }
    Ok(found)
}

const fn names(manager: Manager) -> &'static [&'static str] {
    match manager {
        Manager::Systemd => &[SOCKET_UNIT, SERVICE_UNIT],
        Manager::Launchd => &["dev.keyway.gateway.plist"],
    }
}

fn content(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CliError::Generate {
            path: path.to_owned(),
            source,
        }),
    }
}
