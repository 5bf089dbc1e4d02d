//! What the suite said of one run.

use std::fmt;

/// What the suite said of one run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every check succeeded, and there was at least one.
    Passed {
        /// How many there were.
        checks: usize,
    },
    /// Anything else, with the suite's reasons.
    Failed {
        /// In its words.
        reasons: Vec<String>,
    },
}

impl Verdict {
    /// Reads what the suite printed and how it ended.
    pub(super) fn read(said: &str, succeeded: bool) -> Self {
        let passed = said.lines().find_map(|line| {
            let (passed, _) = line.strip_prefix("Passed: ")?.split_once('/')?;
            passed.parse().ok()
        });
        match passed {
            Some(checks) if succeeded && checks > 0 => Self::Passed { checks },
            Some(0) if succeeded => Self::Failed {
                reasons: vec!["no check was made".to_owned()],
            },
            _ => Self::Failed {
                reasons: reasons(said),
            },
        }
    }

    pub(super) const fn has_passed(&self) -> bool {
        matches!(self, Self::Passed { .. })
    }

    /// Returns the first word of the line about a run.
    pub(super) const fn word(&self) -> &'static str {
        if self.has_passed() { "  ok" } else { "FAIL" }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { checks } => write!(f, "{checks} checks"),
            Self::Failed { reasons } => f.write_str(&reasons.join("; ")),
        }
    }
}

/// Returns the checks that failed and what else went wrong; the last line if nothing says why.
fn reasons(said: &str) -> Vec<String> {
    let bullet = |line: &str| Some(line.strip_prefix("  - ")?.to_owned());
    let aside = |line: &str| {
        let client = line.find("CLIENT ")?;
        Some(line.get(client..)?.to_lowercase())
    };
    let mut found: Vec<String> = said
        .lines()
        .filter_map(|line| bullet(line).or_else(|| aside(line)))
        .collect();
    if found.is_empty() {
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        found.push(last.unwrap_or("the suite said nothing").to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reasons: &[&str]) -> Verdict {
        Verdict::Failed {
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
        }
    }

    #[test]
    fn a_run_passes_by_checks_and_exit_code_together() {
        let said = "Starting\n\nTest Results:\nPassed: 9/9, 0 failed, 0 warnings\n";
        assert_eq!(Verdict::read(said, true), Verdict::Passed { checks: 9 });
        assert!(!Verdict::read(said, false).has_passed());
        assert!(!Verdict::read("", true).has_passed());
    }

    #[test]
    fn a_run_without_checks_does_not_count() {
        let said = "Passed: 0/0, 0 failed, 0 warnings\n";
        assert_eq!(Verdict::read(said, true), failed(&["no check was made"]));
    }

    #[test]
    fn a_failure_says_why() {
        let said = "Passed: 7/8, 1 failed, 1 warnings\n\n\u{26a0}  CLIENT TIMED OUT - Test incomplete\n\n\
                    Failed Checks:\n  - A: first\n    Error: x\n\nWarning Checks:\n  - B: second\n\n\
                    \u{274c} OVERALL: FAILED\n";
        assert_eq!(
            Verdict::read(said, false),
            failed(&[
                "client timed out - test incomplete",
                "A: first",
                "B: second"
            ])
        );
        assert_eq!(
            Verdict::read("Error: unknown scenario\n", false),
            failed(&["Error: unknown scenario"])
        );
    }
}
