//! Which tool finds what: findings compared with the labels that a person gave, line by line.

use std::collections::BTreeSet;
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
    /// Takes a place as tools write it; of the file only its name counts.
    pub(super) fn at(file: &Value, line: &Value) -> Option<Self> {
        let file = Path::new(file.as_str()?).file_name()?;
        Some(Self {
            file: file.to_string_lossy().into_owned(),
            line: line.as_u64()?,
        })
    }
}

/// The labelled values of the corpus that stand on a line of their own.
#[derive(Debug, Default)]
pub(super) struct Labels {
    secrets: BTreeSet<Finding>,
    harmless: BTreeSet<Finding>,
}

/// How well a tool did.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) hits: usize,
    pub(super) false_alarms: usize,
}

impl Labels {
    /// Reads `labels.tsv` and looks up the line of each value.
    pub(super) fn read(corpus: &Path) -> Result<Self, XtaskError> {
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
            labels.add(&format!("{id}.json"), &text, pointer, label);
        }
        // A line with both says nothing about a tool that works by lines.
        labels
            .harmless
            .retain(|line| !labels.secrets.contains(line));
        Ok(labels)
    }

    /// Returns how many lines hold a secret.
    pub(super) fn secrets(&self) -> usize {
        self.secrets.len()
    }

    /// Compares findings with the labels; lines without a label count neither way.
    pub(super) fn score(&self, findings: &[Finding]) -> Score {
        let found: BTreeSet<&Finding> = findings.iter().collect();
        let count = |labelled: &BTreeSet<Finding>| {
            labelled.iter().filter(|line| found.contains(line)).count()
        };
        Score {
            hits: count(&self.secrets),
            false_alarms: count(&self.harmless),
        }
    }

    fn add(&mut self, file: &str, text: &str, pointer: &str, label: &str) {
        let value = serde_json::from_str::<Value>(text).ok();
        let value = value
            .as_ref()
            .and_then(|root| root.pointer(pointer)?.as_str());
        let Some(quoted) = value.map(|value| Value::from(value).to_string()) else {
            return;
        };
        let lines = text.lines().zip(1_u64..);
        let file = file.to_owned();
        let places = lines
            .filter(|(content, _)| content.contains(&quoted))
            .map(|(_, line)| Finding {
                file: file.clone(),
                line,
            });
        match label {
            "secret" | "varref-literal-default" => self.secrets.extend(places),
            "placeholder" | "varref" | "nonsecret" => self.harmless.extend(places),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_once_and_only_if_it_has_a_label() {
        let text = "{\"a\": {\n\"k\": \"one\",\n\"l\": \"two\",\n\"m\": \"three\"}}";
        let mut labels = Labels::default();
        labels.add("x.json", text, "/a/k", "secret");
        labels.add("x.json", text, "/a/l", "placeholder");
        let at = |line: u64| Finding::at(&"some/x.json".into(), &line.into()).unwrap();
        assert_eq!(labels.secrets(), 1);
        let score = labels.score(&[at(2), at(2), at(4), at(9)]);
        let expected = Score {
            hits: 1,
            false_alarms: 0,
        };
        assert_eq!(score, expected);
        assert_eq!(labels.score(&[at(3)]).false_alarms, 1);
    }
}
