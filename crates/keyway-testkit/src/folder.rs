//! A temporary plugin folder, built file by file.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder that disappears with this value. Every method panics on failure: it is for tests.
#[derive(Debug)]
pub struct Folder {
    temporary: TempDir,
    path: PathBuf,
}

#[expect(
    clippy::new_without_default,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot build its folder must stop"
)]
impl Folder {
    /// Makes an empty folder.
    #[must_use]
    pub fn new() -> Self {
        let temporary = TempDir::with_prefix("keyway-test-").expect("a temporary folder");
        let path = temporary
            .path()
            .canonicalize()
            .expect("the temporary folder");
        Self { temporary, path }
    }

    /// Makes a folder with one `.mcp.json`.
    #[must_use]
    pub fn with_entries(text: &str) -> Self {
        Self::new().file(".mcp.json", text)
    }

    /// Adds a file and the folders above it.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.put(name, content);
        self
    }

    /// Adds a file that may be run.
    #[must_use]
    pub fn executable(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.put(name, content);
        self.mode(name, 0o755)
    }

    /// Sets the permissions of a file.
    #[must_use]
    pub fn mode(self, name: &str, mode: u32) -> Self {
        fs::set_permissions(self.at(name), Permissions::from_mode(mode)).expect("a mode");
        self
    }

    /// Adds a link.
    #[must_use]
    pub fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        symlink(target, self.at(name)).expect("a link");
        self
    }

    /// Makes the folder a repository in which `tracked` are added.
    #[must_use]
    pub fn repository(self, tracked: &[&str]) -> Self {
        self.git(&["init", "--quiet", "."]);
        if !tracked.is_empty() {
            self.git(&[&["add", "--force", "--"], tracked].concat());
        }
        self
    }

    /// Runs git in the folder, without the user's configuration.
    #[expect(
        clippy::disallowed_methods,
        reason = "a real repository shows that ours reads what git writes"
    )]
    pub fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(&self.path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .status();
        assert!(status.expect("git").success(), "git {arguments:?}");
    }

    /// Writes a file of a folder that is in use already.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        let mut file = File::create(&path).expect("a file");
        file.write_all(content.as_ref()).expect("its content");
    }

    /// Returns the content of a file.
    #[must_use]
    pub fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.at(name)).expect("a file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the permissions of a file, links followed.
    #[must_use]
    pub fn mode_of(&self, name: &str) -> u32 {
        let metadata = fs::metadata(self.at(name)).expect("a file");
        metadata.permissions().mode() & 0o7777
    }

    /// Returns the names of all files below the folder, those of version control left out.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.path.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let entry = entry.expect("an entry");
                let is_folder = entry.file_type().expect("a type").is_dir();
                if is_folder && entry.file_name() != ".git" {
                    open.push(entry.path());
                } else if !is_folder {
                    let path = entry.path();
                    let below = path.strip_prefix(&self.path).expect("a path below");
                    found.push(below.to_string_lossy().into_owned());
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns the folder's absolute path, links followed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file in the folder.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Keeps the folder on disk, to look at it after a failing test.
    pub fn keep(self) -> PathBuf {
        self.temporary.keep()
    }
}
