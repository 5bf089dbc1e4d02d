//! The one line that the launcher writes to standard error before it becomes the program.

use std::fmt;
use std::io::{self, Write as _};

use rustix::io::Errno;
use rustix::process::Pid;

use super::isolation::IsolationLevel;
use super::stage::LaunchStage;

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
    /// The isolation that was required is not available, and the launcher ends.
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
    /// Tells the parent, which reads this line off before it reads anything of the program's.
    pub(super) fn send(&self) {
        // In one write; a parent that does not listen does not need it.
        drop(io::stderr().write_all(self.to_string().as_bytes()));
    }

    /// Tells the parent that a step failed.
    pub(super) fn send_failure(stage: LaunchStage, source: &io::Error) {
        let errno = source.raw_os_error();
        let errno = errno.unwrap_or_else(|| Errno::IO.raw_os_error());
        Self::Failed { stage, errno }.send();
    }

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

const MARK: &str = "keyway-launch: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_report_round_trips() {
        let level = IsolationLevel::from_code("hmp--k-7").unwrap();
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
            "ready hmp--k-7",
            "ready hmp--k-7 0",
            "ready hmp--k-7 1 1",
            "x 1",
        ] {
            let line = format!("{MARK}{line}");
            assert_eq!(Report::parse(line.as_bytes()), None, "{line}");
        }
    }
}
