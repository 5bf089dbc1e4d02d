//! What the suite counted.

/// Every scenario that was run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scores(pub(super) Vec<Score>);

/// One scenario.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) scenario: String,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Scores {
    /// Reads the summary, in which each line is `✓ name: 2 passed, 0 failed`; `None` without one.
    pub(super) fn read(said: &str) -> Option<Self> {
        let (_, summary) = said.split_once("=== SUMMARY ===")?;
        let scores: Vec<Score> = summary.lines().filter_map(Score::read).collect();
        (!scores.is_empty()).then_some(Self(scores))
    }

    pub(super) fn passed(&self) -> usize {
        self.0.iter().map(|score| score.passed).sum()
    }
}

impl Score {
    fn read(line: &str) -> Option<Self> {
        let marked = line
            .strip_prefix('\u{2713}')
            .or_else(|| line.strip_prefix('\u{2717}'))?;
        let (scenario, counts) = marked.trim().split_once(": ")?;
        let (passed, failed) = counts.split_once(" passed, ")?;
        let failed = failed.split_once(" failed")?.0;
        Some(Self {
            scenario: scenario.to_owned(),
            passed: passed.parse().ok()?,
            failed: failed.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_counted_and_nothing_before_or_after_it() {
        let said = "\u{2713} noise: 9 passed, 0 failed\n=== SUMMARY ===\n\
                    \u{2713} ping: 2 passed, 0 failed\n\u{2717} tools: 1 passed, 3 failed, 1 warnings\n\n\
                    Total: 3 passed, 3 failed\n\nNot scored: 1\n  \u{2713} x (pending)\n";
        let scores = Scores::read(said).unwrap();
        assert_eq!(scores.passed(), 3);
        let failed: Vec<_> = scores.0.iter().map(|score| score.failed).collect();
        assert_eq!(failed, [0, 3]);
        assert_eq!(Scores::read("Error: no server\n"), None);
    }
}
