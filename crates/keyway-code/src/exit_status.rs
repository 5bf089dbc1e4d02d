//! How other programs ended, as text.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// Says how a program ended, in words.
#[must_use]
pub fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        // A shell, and the supervisor of a child, say so when a program was killed.
        (Some(code @ 129..=159), _) => format!("exit code {code} (signal {})", code - 128),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second byte of what the system tells is the code, the first one the signal.
    #[test]
    fn a_code_that_stands_for_a_signal_names_it() {
        for (raw, words) in [
            (0, "exit code 0"),
            (7 << 8, "exit code 7"),
            (128 << 8, "exit code 128"),
            (137 << 8, "exit code 137 (signal 9)"),
            (160 << 8, "exit code 160"),
            (15, "signal 15"),
        ] {
            assert_eq!(describe_exit(ExitStatus::from_raw(raw)), words);
        }
    }
}
