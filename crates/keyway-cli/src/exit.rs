//! The exit codes, which scripts rely on; `docs/exit-codes.md` is made from this file.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    SignInNeeded = 3,
    NotTrusted = 4,
    Network = 5,
}

impl Exit {
    /// Returns the number.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// Returns what the code tells a script.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "Done; `check` found nothing, or nothing worse than warnings",
            Self::Failed => "Failed, or an error was found; also a path that cannot be read",
            Self::Usage => "Wrong usage: an unknown flag, a value that is not allowed",
            Self::SignInNeeded => "A sign-in is needed and there is nobody to ask",
            Self::NotTrusted => {
                "The entry is not approved; nothing was run or sent. Also: a file that it runs changed while it was started"
            }
            Self::Network => "The network, or the server behind it, did not answer",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Every code, in order.
pub(crate) const ALL: &[Exit] = &[
    Exit::Done,
    Exit::Failed,
    Exit::Usage,
    Exit::SignInNeeded,
    Exit::NotTrusted,
    Exit::Network,
];
