//! The one line that the launcher writes to standard error before it becomes the program.

use std::fmt;

use rustix::process::Pid;

use super::isolation::IsolationLevel;

/// How far the launcher came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// Everything is prepared; the program comes next.
    Ready {
        /// How it is isolated.
        level: IsolationLevel,
        /// Its process group, in which the program starts.
        group: Pid,
    },
    /// The isolation that was required is not to be had, and the launcher ends.
    Insufficient(IsolationLevel),
    /// A step failed, and the launcher ends.
    Failed {
        /// Which.
        stage: LaunchStage,
        /// The system's error number.
        errno: i32,
    },
}

impl Report {
    /// Reads a line without its line break; `None` if the launcher did not write it.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?.strip_prefix(MARK)?;
        let mut words = text.split(' ');
        let report = match (words.next()?, words.next()?) {
            ("ready", level) => Self::Ready {
                level: IsolationLevel::from_code(level)?,
                group: Pid::from_raw(words.next()?.parse().ok()?)?,
            },
            ("insufficient", level) => Self::Insufficient(IsolationLevel::from_code(level)?),
            (stage, errno) => Self::Failed {
                stage: LaunchStage::from_code(stage)?,
                errno: errno.parse().ok()?,
            },
        };
        words.next().is_none().then_some(report)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { level, group } => {
                writeln!(f, "{MARK}ready {} {}", level.code(), group.as_raw_pid())
            }
            Self::Insufficient(level) => writeln!(f, "{MARK}insufficient {}", level.code()),
            Self::Failed { stage, errno } => writeln!(f, "{MARK}{} {errno}", stage.code()),
        }
    }
}

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
    /// Shutting itself in.
    Isolation,
    /// Going to the working folder.
    Folder,
    /// Finding and executing the program.
    Program,
}

impl LaunchStage {
    const ALL: [Self; 7] = [
        Self::Threads,
        Self::Spec,
        Self::Namespaces,
        Self::Identity,
        Self::Isolation,
        Self::Folder,
        Self::Program,
    ];

    const fn code(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Spec => "spec",
            Self::Namespaces => "namespaces",
            Self::Identity => "identity",
            Self::Isolation => "isolation",
            Self::Folder => "folder",
            Self::Program => "program",
        }
    }

    fn from_code(code: &str) -> Option<Self> {
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
            Self::Isolation => "cannot set up the isolation",
            Self::Folder => "cannot enter the working directory",
            Self::Program => "the program is missing or may not be executed",
        })
    }
}

const MARK: &str = "keyway-launch: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_report_round_trips() {
        let level = IsolationLevel::from_code("hmp--7").unwrap();
        let group = Pid::from_raw(4711).unwrap();
        let done = [Report::Ready { level, group }, Report::Insufficient(level)];
        let failed = LaunchStage::ALL.map(|stage| Report::Failed { stage, errno: 2 });
        for report in done.into_iter().chain(failed) {
            let line = report.to_string();
            assert_eq!(Report::parse(line.trim_end().as_bytes()), Some(report));
        }
        for line in [
            "",
            "ready",
            "ready hmp--7",
            "ready hmp--7 0",
            "ready hmp--7 1 1",
            "x 1",
        ] {
            let line = format!("{MARK}{line}");
            assert_eq!(Report::parse(line.as_bytes()), None, "{line}");
        }
    }
}
