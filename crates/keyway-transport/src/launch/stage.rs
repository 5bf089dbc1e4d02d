//! The steps of the launcher.

use std::fmt;

/// A step of the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchStage {
    /// Being the only thread: `keyway::init()` comes before any runtime.
    Threads,
    /// Reading the spec.
    Spec,
    /// Mounting in namespaces of its own, which this system does not allow.
    Namespaces,
    /// Finding the folders that are to be hidden.
    Identity,
    /// Opening what was granted, and the plugin's folder.
    Grants,
    /// Comparing what was granted with what the person approved.
    Approved,
    /// Shutting itself in.
    Isolation,
    /// Going to the working folder.
    Folder,
    /// Finding and executing the program.
    Program,
}

impl LaunchStage {
    pub(super) const ALL: [Self; 9] = [
        Self::Threads,
        Self::Spec,
        Self::Namespaces,
        Self::Identity,
        Self::Grants,
        Self::Approved,
        Self::Isolation,
        Self::Folder,
        Self::Program,
    ];

    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Spec => "spec",
            Self::Namespaces => "namespaces",
            Self::Identity => "identity",
            Self::Grants => "grants",
            Self::Approved => "approved",
            Self::Isolation => "isolation",
            Self::Folder => "folder",
            Self::Program => "program",
        }
    }

    pub(super) fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.code() == code)
    }
}

impl fmt::Display for LaunchStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads => "threads run already; call `keyway::init()` first in `main`",
            Self::Spec => "cannot read the launch spec",
            Self::Namespaces => "cannot set up private mounts",
            Self::Identity => "a folder that must be hidden was moved or replaced",
            Self::Grants => "a folder of the plugin or a grant was replaced",
            Self::Approved => "a grant leads elsewhere than when it was approved",
            Self::Isolation => "cannot set up the isolation",
            Self::Folder => "cannot enter the working directory",
            Self::Program => "the program is missing or may not be executed",
        })
    }
}
