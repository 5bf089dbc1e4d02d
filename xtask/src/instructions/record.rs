//! The record of instructions per call.

use std::fs;

use crate::error::XtaskError;
use crate::metadata::Workspace;

/// What was measured, and with which compiler.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Record {
    pub(super) toolchain: String,
    pub(super) calls: Vec<Measured>,
}

/// Instructions of one call.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Measured {
    pub(super) profile: String,
    pub(super) way: String,
    pub(super) per_call: u64,
}

impl Record {
    /// Reads the committed record; an empty one where there is none.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, XtaskError> {
        let path = workspace.root.join(FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
        Self::parse(&text).map_err(|line| XtaskError::ListLine { path, line })
    }

    pub(super) fn write(&self, workspace: &Workspace) -> Result<(), XtaskError> {
        let path = workspace.root.join(FILE);
        fs::write(&path, self.text()).map_err(XtaskError::file(&path))?;
        println!("wrote {FILE}");
        Ok(())
    }

    /// Replaces what is known of the same profile and way.
    pub(super) fn take(&mut self, measured: Vec<Measured>) {
        for new in measured {
            self.calls
                .retain(|old| old.profile != new.profile || old.way != new.way);
            self.calls.push(new);
        }
        self.calls
            .sort_by(|a, b| (&a.profile, &a.way).cmp(&(&b.profile, &b.way)));
    }

    /// Returns a line for each call that takes more than a twentieth above the record.
    pub(super) fn compare(&self, measured: &[Measured]) -> Vec<String> {
        let mut broken = Vec::new();
        for new in measured {
            let old = self
                .calls
                .iter()
                .find(|old| old.profile == new.profile && old.way == new.way);
            let Some(old) = old else {
                broken.push(format!("{} {} is not recorded", new.profile, new.way));
                continue;
            };
            if new.per_call > old.per_call + old.per_call / TOLERANCE {
                broken.push(format!(
                    "a call through `keyway {}` takes {} instructions, recorded are {} ({})",
                    new.way, new.per_call, old.per_call, new.profile
                ));
            }
        }
        broken
    }

    /// Reads a record, or returns the number of a line that is not one.
    fn parse(text: &str) -> Result<Self, usize> {
        let mut record = Self::default();
        let lines = text.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.starts_with('#')) {
            if let Some(toolchain) = line.strip_prefix("toolchain ") {
                record.toolchain = toolchain.to_owned();
                continue;
            }
            let words: Vec<_> = line.split(' ').collect();
            let [profile, way, per_call] = words.as_slice() else {
                return Err(index + 1);
            };
            record.calls.push(Measured {
                profile: (*profile).to_owned(),
                way: (*way).to_owned(),
                per_call: per_call.parse().map_err(|_| index + 1)?,
            });
        }
        Ok(record)
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}toolchain {}\n", self.toolchain);
        for call in &self.calls {
            text.push_str(&format!(
                "{} {} {}\n",
                call.profile, call.way, call.per_call
            ));
        }
        text
    }
}

const FILE: &str = "bench/instructions.txt";
/// One part in this many may be added.
const TOLERANCE: u64 = 20;

const HEAD: &str = "\
# Instructions of one `tools/call` with 64 bytes each way: profile, command, instructions.
# Counted by callgrind as the difference between 2,000 and 1,000 calls.
# `cargo xtask instructions` compares, `cargo xtask instructions --write` records.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn call(profile: &str, way: &str, per_call: u64) -> Measured {
        Measured {
            profile: profile.to_owned(),
            way: way.to_owned(),
            per_call,
        }
    }

    fn record() -> Record {
        Record {
            toolchain: "rustc 1.95.0".to_owned(),
            calls: vec![call("dev", "run", 1000), call("release", "run", 100)],
        }
    }

    #[test]
    fn more_than_a_twentieth_above_the_record_fails() {
        assert!(record().compare(&[call("dev", "run", 1050)]).is_empty());
        assert!(record().compare(&[call("dev", "run", 10)]).is_empty());
        assert_eq!(record().compare(&[call("dev", "run", 1051)]).len(), 1);
        assert_eq!(record().compare(&[call("release", "run", 106)]).len(), 1);
    }

    #[test]
    fn what_is_not_recorded_fails() {
        assert_eq!(record().compare(&[call("dev", "serve", 1)]).len(), 1);
    }

    #[test]
    fn a_record_is_read_as_it_is_written() {
        assert_eq!(Record::parse(&record().text()), Ok(record()));
        assert_eq!(Record::parse("# a\ntoolchain b\ndev run\n"), Err(3));
    }

    #[test]
    fn a_new_number_replaces_the_old_one_of_its_kind() {
        let mut record = record();
        record.take(vec![call("dev", "run", 7), call("dev", "serve", 8)]);
        let expected = [
            call("dev", "run", 7),
            call("dev", "serve", 8),
            call("release", "run", 100),
        ];
        assert_eq!(record.calls, expected);
    }
}
