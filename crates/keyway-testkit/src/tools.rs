//! Third-party servers, clients and browsers: where they are installed.

use std::path::{Path, PathBuf};

/// What `cargo xtask tools --setup` installs and `cargo xtask peers` builds.
#[derive(Debug, Clone)]
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Finds the tools that a test needs, by their paths below `KEYWAY_TOOLS` or `target/tools`.
    ///
    /// Without that variable a test may be skipped, which is said; with it everything has to be
    /// there, or this panics.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        clippy::expect_used,
        clippy::missing_panics_doc,
        clippy::print_stdout,
        reason = "a test says why it was skipped, and stops where something is missing"
    )]
    pub fn find(needed: &[&str]) -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
        let given = std::env::var_os("KEYWAY_TOOLS").map(PathBuf::from);
        let folder = given.clone().unwrap_or(beside);
        let absent = needed.iter().find(|file| !folder.join(file).is_file());
        match (absent, given) {
            (None, _) => {
                let folder = folder.canonicalize().expect("the folder of the tools");
                Some(Self { folder })
            }
            (Some(file), Some(_)) => panic!("`{file}` is not there; `cargo xtask tools --setup`"),
            (Some(file), None) => {
                println!("skipped: no `{file}`; `cargo xtask tools --setup` installs it");
                None
            }
        }
    }

    /// Returns the path of a tool.
    #[must_use]
    pub fn at(&self, file: &str) -> String {
        self.folder.join(file).display().to_string()
    }

    /// Returns the folder of the npm packages.
    #[must_use]
    pub fn modules(&self) -> String {
        self.at("npm/node_modules")
    }
}
