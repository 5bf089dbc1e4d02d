//! The exit codes, which scripts rely on; `docs/exit-codes.md` is made from this file.

use std::process::ExitCode;

/// How a command ended.
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract fixes the six exit codes"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// 0.
    Done = 0,
    /// 1.
    Failed = 1,
    /// 2.
    Usage = 2,
    /// 3.
    SignInNeeded = 3,
    /// 4.
    NotTrusted = 4,
    /// 5.
    Network = 5,
}

impl Exit {
    /// Every code, in order.
    pub const ALL: &[Self] = &[
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::SignInNeeded,
        Self::NotTrusted,
        Self::Network,
    ];

    /// Returns the number.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns what the code tells a script.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "Success; `check` found nothing worse than warnings",
            Self::Failed => "Failure, or `check` found an error; also a path that cannot be read",
            Self::Usage => {
                "Wrong usage: an unknown flag, a value that is not allowed, a server or tool that does not exist"
            }
            Self::SignInNeeded => "Sign-in is needed and cannot be asked for here",
            Self::NotTrusted => {
                "The entry is not approved; nothing was run or sent. Also: a file that it runs changed while it was started"
            }
            Self::Network => "The network or the server did not answer",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
