//! Which tool finds what: findings compared with the labels that a person gave, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::error::XtaskError;

/// A line on which a tool found something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    file: String,
    line: u64,
}

impl Finding {
    /// Takes a place as tools write it: below `folder`, relative or not.
    pub(super) fn at(folder: &Path, file: &str, line: u64) -> Self {
        let path = Path::new(file);
        let path = path.strip_prefix(folder).unwrap_or(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        Self {
            file: path.to_string_lossy().into_owned(),
            line,
        }
    }
}

/// The lines of the corpus that hold a labelled value.
#[derive(Debug, Default)]
pub(super) struct Labels {
    secrets: BTreeSet<Finding>,
    /// Credentials of documentation: to find one is neither right nor wrong.
    examples: BTreeSet<Finding>,
}

/// How well a tool did.
#[derive(Debug)]
pub(super) struct Score {
    pub(super) hits: usize,
    pub(super) false_alarms: usize,
    /// What was found of what is there.
    pub(super) recall: f64,
    /// What is right of what was found.
    pub(super) precision: f64,
}

impl Labels {
    /// Reads `labels.tsv` and looks up the line of each value; `places` has the path of each file.
    pub(super) fn read(
        corpus: &Path,
        places: &BTreeMap<String, String>,
    ) -> Result<Self, XtaskError> {
        let table = corpus.join("labels.tsv");
        let text = fs::read_to_string(&table).map_err(XtaskError::file(&table))?;
        let mut labels = Self::default();
        for row in text.lines().skip(1) {
            let mut cells = row.split('\t');
            let (Some(id), Some(pointer), Some(label)) = (cells.next(), cells.next(), cells.next())
            else {
                continue;
            };
            let file = corpus.join(format!("{id}.json"));
            let text = fs::read_to_string(&file).map_err(XtaskError::file(&file))?;
            if let Some(place) = places.get(id) {
                labels.add(place, &text, pointer, label);
            }
        }
        Ok(labels)
    }

    /// Returns how many lines hold a secret.
    pub(super) fn secrets(&self) -> usize {
        self.secrets.len()
    }

    /// Compares findings with the labels. A line that is not labelled as a secret is a false alarm.
    pub(super) fn score(&self, findings: &[Finding]) -> Score {
        let found: BTreeSet<&Finding> = findings.iter().collect();
        let hits = found
            .iter()
            .filter(|line| self.secrets.contains(line))
            .count();
        let neutral = found
            .iter()
            .filter(|line| !self.secrets.contains(line) && self.examples.contains(line))
            .count();
        let false_alarms = found.len() - hits - neutral;
        Score {
            hits,
            false_alarms,
            recall: share(hits, self.secrets.len()),
            precision: share(hits, hits + false_alarms),
        }
    }

    fn add(&mut self, file: &str, text: &str, pointer: &str, label: &str) {
        let labelled = match label {
            "secret" | "varref-literal-default" => &mut self.secrets,
            "example-credential" => &mut self.examples,
            _ => return,
        };
        let lines = lines_of(text, pointer).into_iter();
        labelled.extend(lines.map(|line| Finding {
            file: file.to_owned(),
            line,
        }));
    }
}

/// Returns the lines on which a value stands; in a file that is not strict JSON, that of its key.
fn lines_of(text: &str, pointer: &str) -> Vec<u64> {
    let root = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).ok();
    let value = root.as_ref().and_then(|root| root.pointer(pointer));
    if let Some(value) = value.and_then(Value::as_str) {
        let quoted = Value::from(value).to_string();
        let lines = text.lines().zip(1_u64..);
        let lines = lines.filter(|(content, _)| content.contains(&quoted));
        return lines.map(|(_, line)| line).collect();
    }
    let mut at = 0;
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        let quoted = Value::from(key).to_string();
        let rest = text.get(at..).unwrap_or_default();
        at += rest.find(&quoted).unwrap_or_default();
    }
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    vec![line.try_into().unwrap_or(u64::MAX)]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a few hundred lines, for a table"
)]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_once_and_is_a_false_alarm_without_a_label() {
        let text = "{\"a\": {\n\"k\": \"one\",\n\"l\": \"two\",\n\"m\": \"three\"}}";
        let mut labels = Labels::default();
        labels.add("r/x.json", text, "/a/k", "secret");
        labels.add("r/x.json", text, "/a/l", "example-credential");
        labels.add("r/x.json", text, "/a/m", "placeholder");
        let at = |line: u64| Finding::at(Path::new("/c"), "/c/r/x.json", line);
        assert_eq!(labels.secrets(), 1);
        let score = labels.score(&[at(2), at(2), at(3)]);
        assert_eq!((score.hits, score.false_alarms), (1, 0));
        let other = Finding::at(Path::new("/c"), "./r/x.json", 9);
        let score = labels.score(&[at(2), at(4), other]);
        assert_eq!((score.hits, score.false_alarms), (1, 2));
        assert_eq!(labels.score(&[]).hits, 0);
    }

    #[test]
    fn a_value_is_found_in_a_file_with_comments() {
        let text = "{ // note\n\"servers\": {\n\"s\": {\"env\": {\n\"KEY\": \"one\",\n},},},}";
        assert_eq!(lines_of(text, "/servers/s/env/KEY"), [4]);
    }
}
