//! Exit statuses as text.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// Says how a child ended, in words.
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        // A shell, and the supervisor of a child, say so when a program was killed.
        (Some(code @ 129..=159), _) => format!("exit code {code} (signal {})", code - 128),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}
