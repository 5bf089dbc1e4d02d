//! Which rule of the contract a headers helper broke.

use keyway_code::Code;
use thiserror::Error;

/// Which rule of the contract a headers helper broke. Never holds what it printed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HelperFault {
    /// There is no such program, or it may not be executed.
    #[error("`{program}` is missing or may not be executed")]
    NotExecutable {
        /// As written in the entry.
        program: String,
    },
    /// Its path leads out of the plugin's folder.
    #[error("`{program}` is outside the plugin's folder")]
    OutsidePlugin {
        /// As written in the entry.
        program: String,
    },
    /// The process cannot start programs: its `main` does not begin with `keyway::init()`.
    #[error("cannot start `{program}`: `keyway::init()` was not called first in `main`")]
    LauncherNotInitialized {
        /// As written in the entry.
        program: String,
    },
    /// The isolation that the settings require is not available here.
    #[error("refusing to start `{program}`: {level}")]
    IsolationUnavailable {
        /// As written in the entry.
        program: String,
        /// What could be had, in words.
        level: String,
    },
    /// A folder of Keyway's is not the one that it was, so it could not be hidden.
    #[error("refusing to start `{program}`: `{path}` was moved or replaced while Keyway runs")]
    FolderReplaced {
        /// As written in the entry.
        program: String,
        /// Where the folder was.
        path: String,
    },
    /// The plugin's folder, or one that was granted, leads to what is Keyway's own.
    #[error("refusing to start `{program}`: `{path}` leads into a folder of Keyway's own")]
    GrantHidden {
        /// As written in the entry.
        program: String,
        /// The folder of the plugin, or the grant.
        path: String,
    },
    /// The program or its working folder was not granted to a confined helper.
    #[error("cannot start `{program}`: it is confined, and `{path}` was not granted to it")]
    NotGranted {
        /// As written in the entry.
        program: String,
        /// What would have to be granted.
        path: String,
    },
    /// A file that it runs is not the one that was approved.
    #[error("`{file}` has changed since it was approved")]
    Changed {
        /// Which.
        file: String,
    },
    /// It ended with a code other than 0.
    #[error("it ended with {status}")]
    Exit {
        /// The exit code or signal, in words.
        status: String,
    },
    /// It did not end in time.
    #[error("it did not end within {seconds} seconds")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// It printed more than the limit.
    #[error("it printed more than {limit} bytes")]
    TooMuchOutput {
        /// The limit.
        limit: usize,
    },
    /// It printed something other than one JSON object of strings.
    #[error("its output is not one JSON object of strings: {why}")]
    Output {
        /// What is wrong, without quoting it.
        why: &'static str,
    },
    /// It printed an object without headers.
    #[error("it printed no headers")]
    Empty,
}

impl HelperFault {
    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::NotExecutable { .. } => Code::HelperNotExecutable,
            Self::OutsidePlugin { .. } => Code::HelperOutsidePlugin,
            Self::LauncherNotInitialized { .. } => Code::LauncherNotInitialized,
            Self::IsolationUnavailable { .. } => Code::IsolationUnavailable,
            Self::FolderReplaced { .. } => Code::FolderReplaced,
            Self::GrantHidden { .. } => Code::GrantHidden,
            Self::NotGranted { .. } => Code::NotGranted,
            Self::Changed { .. } => Code::PendingTrust,
            Self::Exit { .. } => Code::HelperFailed,
            Self::Timeout { .. } => Code::HelperTimeout,
            Self::TooMuchOutput { .. } | Self::Output { .. } => Code::HelperOutput,
            Self::Empty => Code::HelperEmpty,
        }
    }
}
