//! The process as a source of defaults: the only file of the library that looks at it.

use std::ffi::OsString;
use std::path::PathBuf;

use keyway_config::environment::Environment;
use keyway_secret::Secret;
#[cfg(feature = "vault")]
use keyway_vault::Folders;

/// The variables of this process. A value that is not UTF-8 counts as unset.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnvironment;

impl ProcessEnvironment {
    /// Returns everything, for the one place that chooses what children get.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this file is the `Environment` that everything else takes"
    )]
    pub fn all() -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    /// Returns the person's home folder.
    #[must_use]
    pub fn home() -> Option<PathBuf> {
        value("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from)
    }

    /// Returns the working directory.
    #[must_use]
    pub fn current_folder() -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
    }

    /// Returns a variable as the system has it.
    #[must_use]
    pub fn value(name: &str) -> Option<OsString> {
        value(name)
    }

    /// Returns a variable that names an absolute path.
    #[must_use]
    pub fn absolute(name: &str) -> Option<PathBuf> {
        let folder = PathBuf::from(value(name)?);
        folder.is_absolute().then_some(folder)
    }
}

impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        let text = value(name)?.into_string().ok()?;
        Some(Secret::new(text))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this file is the `Environment` that everything else takes"
    )]
    fn names(&self) -> Vec<String> {
        std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .collect()
    }
}

/// Returns the three folders in which the `keyway` program keeps everything, `KEYWAY_HOME` before
/// the folders of the platform; `None` without a home.
#[cfg(feature = "vault")]
#[must_use]
pub fn keyway_folders() -> Option<Folders> {
    if let Some(own) = ProcessEnvironment::absolute("KEYWAY_HOME") {
        return Some(Folders::below(own));
    }
    let home = ProcessEnvironment::home();
    let below = |name: &str, at_home: &str| {
        let shared = ProcessEnvironment::absolute(name);
        shared
            .or_else(|| Some(home.as_ref()?.join(at_home)))
            .map(|folder| folder.join("keyway"))
    };
    let data = below("XDG_DATA_HOME", ".local/share")?;
    let config = below("XDG_CONFIG_HOME", ".config")?;
    let runtime = ProcessEnvironment::absolute("XDG_RUNTIME_DIR")
        .map_or_else(|| data.join("run"), |folder| folder.join("keyway"));
    Some(Folders::new(data, config, runtime))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this file is the `Environment` that everything else takes"
)]
fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
