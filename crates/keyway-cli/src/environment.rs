//! The process environment: the only file that reads it.

use std::ffi::OsString;
use std::path::PathBuf;

use keyway::trust::Folders;
use keyway_config::environment::Environment;
use keyway_secret::Secret;

/// The variables of this process. A value that is not UTF-8 counts as unset.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessEnvironment;

impl ProcessEnvironment {
    /// Returns the person's home folder.
    pub(crate) fn home() -> Option<PathBuf> {
        value("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from)
    }

    /// Returns the folder in which the person works.
    pub(crate) fn current_folder() -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
    }

    /// Returns the folder for data that Keyway keeps, which need not exist.
    pub(crate) fn data_folder() -> Option<PathBuf> {
        Self::folders().map(|folders| folders.data)
    }

    /// Returns the width of the screen, where the shell or the person says it.
    pub(crate) fn columns() -> Option<usize> {
        let columns = value("COLUMNS")?.to_str()?.parse().ok()?;
        (columns > 0).then_some(columns)
    }

    /// Returns the three folders in which everything is kept; `None` without a home.
    pub(crate) fn folders() -> Option<Folders> {
        if let Some(own) = absolute("KEYWAY_HOME") {
            return Some(Folders::below(own));
        }
        let home = Self::home();
        let below = |name: &str, at_home: &str| {
            let shared = absolute(name);
            shared
                .or_else(|| Some(home.as_ref()?.join(at_home)))
                .map(|folder| folder.join("keyway"))
        };
        let data = below("XDG_DATA_HOME", ".local/share")?;
        let config = below("XDG_CONFIG_HOME", ".config")?;
        let runtime = absolute("XDG_RUNTIME_DIR")
            .map_or_else(|| data.join("run"), |folder| folder.join("keyway"));
        Some(Folders::new(data, config, runtime))
    }

    /// Returns the profile that the environment names.
    pub(crate) fn profile() -> Option<String> {
        Self::text("KEYWAY_PROFILE")
    }

    /// Returns a variable that is not empty.
    pub(crate) fn text(name: &str) -> Option<String> {
        value(name)?
            .into_string()
            .ok()
            .filter(|text| !text.is_empty())
    }

    /// Returns everything, for the one place that chooses what children get.
    #[expect(
        clippy::disallowed_methods,
        reason = "this file is the `Environment` that everything else takes"
    )]
    pub(crate) fn all() -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }

    /// Says whether a variable is set to anything but nothing.
    pub(crate) fn is_set(name: &str) -> bool {
        value(name).is_some_and(|value| !value.is_empty())
    }

    /// Says whether the terminal announces that it understands no escape sequences.
    pub(crate) fn has_dumb_terminal() -> bool {
        value("TERM").is_some_and(|term| term == "dumb")
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

#[expect(
    clippy::disallowed_methods,
    reason = "this file is the `Environment` that everything else takes"
)]
fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn absolute(name: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(value(name)?);
    folder.is_absolute().then_some(folder)
}

/// A variable that changes what `keyway` does.
pub(crate) struct Documented {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

/// The variables that `keyway` itself reads, for `docs/environment.md`.
pub(crate) const DOCUMENTED: &[Documented] = &[
    Documented {
        name: "COLUMNS",
        meaning: "How wide tables may be; otherwise as wide as the terminal",
    },
    Documented {
        name: "HOME",
        meaning: "Where a helper that begins with `~/` is looked for, and where folders are kept unless the variables below name others",
    },
    Documented {
        name: "KEYWAY_HOME",
        meaning: "One folder, absolute, for everything that Keyway keeps",
    },
    Documented {
        name: "NO_COLOR",
        meaning: "Set to anything: no colour, unless `--color always` is given",
    },
    Documented {
        name: "TERM",
        meaning: "`dumb`: no colour, unless `--color always` is given",
    },
    Documented {
        name: "XDG_DATA_HOME",
        meaning: "Where data is kept, below `keyway`; `~/.local/share` if it is not set",
    },
];
