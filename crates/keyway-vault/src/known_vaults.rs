//! Which vaults there were: one that is gone with its key would be taken for a first use.
//!
//! A vault leaves a trace beside its key, which goes with that folder. So its place is also noted in a
//! folder elsewhere, which the host chooses and hides from the programs that it starts.

use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::folders::Folders;
use crate::store::Vault;

/// The places of the vaults that this user opened, one file for each.
#[derive(Debug, Clone)]
pub struct KnownVaults(PathBuf);

impl KnownVaults {
    /// Notes places in `folder`, which is made when it is needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Notes a vault that was opened. A failure only means that its loss would not be told.
    pub fn note(&self, folders: &Folders) {
        // What lies beside the vault would go with it.
        if !self.0.starts_with(&folders.data) && !self.knows(&folders.data) {
            drop(self.write(&folders.data));
        }
    }

    /// Says whether a vault was opened in `folders`, and there is neither one nor a trace of it now.
    #[must_use]
    pub fn has_lost(&self, folders: &Folders) -> bool {
        matches!(Vault::exists(folders), Ok(false)) && self.knows(&folders.data)
    }

    /// Forgets a vault that is about to be removed on purpose.
    pub fn forget(&self, folders: &Folders) {
        drop(fs::remove_file(self.file(&folders.data)));
    }

    fn knows(&self, data: &Path) -> bool {
        fs::read(self.file(data)).is_ok_and(|noted| noted == data.as_os_str().as_bytes())
    }

    fn write(&self, data: &Path) -> io::Result<()> {
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.0)?;
        self.sweep()?;
        let mut file = OpenOptions::new();
        let file = file.write(true).create(true).truncate(true).mode(0o600);
        file.open(self.file(data))?
            .write_all(data.as_os_str().as_bytes())
    }

    /// Forgets what is gone once there is much of it: a person with many has seen them go.
    fn sweep(&self) -> io::Result<()> {
        let noted: Vec<PathBuf> = fs::read_dir(&self.0)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        for note in noted.iter().filter(|_| noted.len() >= MAX_NOTES) {
            let is_there = |data: Vec<u8>| Path::new(std::ffi::OsStr::from_bytes(&data)).exists();
            if !fs::read(note).is_ok_and(is_there) {
                fs::remove_file(note)?;
            }
        }
        Ok(())
    }

    fn file(&self, data: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        self.0.join(format!("{:016x}", hasher.finish()))
    }
}

/// Far more than the vaults of one user.
const MAX_NOTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeySources;

    fn folders(home: &Path) -> Folders {
        Folders {
            data: home.join("data"),
            config: home.join("config"),
            runtime: home.join("runtime"),
        }
    }

    #[test]
    fn e1_a_vault_that_is_gone_with_its_key_is_known_until_it_is_forgotten() {
        let base = tempfile::TempDir::new().unwrap();
        let known = KnownVaults::new(base.path().join("person/vaults"));
        let home = base.path().join("home");
        let folders = folders(&home);
        assert!(!known.has_lost(&folders), "a first use");
        drop(Vault::open(&folders, KeySources::default()).unwrap());
        assert!(!known.has_lost(&folders));
        known.note(&folders);
        assert!(!known.has_lost(&folders), "it is there");
        fs::remove_dir_all(&home).unwrap();
        assert!(known.has_lost(&folders));
        // Opening a new one answers that.
        drop(Vault::open(&folders, KeySources::default()).unwrap());
        assert!(!known.has_lost(&folders));
        fs::remove_dir_all(&home).unwrap();
        known.forget(&folders);
        assert!(!known.has_lost(&folders));
    }

    #[test]
    fn notes_beside_the_vault_are_not_made_and_those_of_many_that_are_gone_are_swept() {
        let base = tempfile::TempDir::new().unwrap();
        let inside = folders(base.path());
        KnownVaults::new(inside.data.join("vaults")).note(&inside);
        assert!(!inside.data.exists());

        let known = KnownVaults::new(base.path().join("vaults"));
        let kept = folders(&base.path().join("kept"));
        fs::create_dir_all(&kept.data).unwrap();
        known.note(&kept);
        for number in 0..MAX_NOTES {
            known.note(&folders(&base.path().join(number.to_string())));
        }
        assert!(fs::read_dir(&known.0).unwrap().count() <= 3);
        assert!(known.knows(&kept.data));
    }
}
