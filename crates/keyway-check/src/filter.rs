//! Which findings are reported: rules that were selected, severities that were changed.

use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_lint::check_settings::{CheckSettings, rule_name};

use crate::error::CheckError;

/// What the options and the repository say together; options come first.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    options: Rules,
    repository: Rules,
    severity: Vec<(String, Severity)>,
}

/// Which rules count.
#[derive(Debug, Default)]
struct Rules {
    select: Vec<String>,
    ignore: Vec<String>,
}

impl Rules {
    fn leave_out(&self, code: &str) -> bool {
        let is = |names: &[String]| names.iter().any(|name| name == code);
        !(self.select.is_empty() || is(&self.select)) || is(&self.ignore)
    }
}

/// What is left of findings, and what the repository's own settings did to the others.
#[derive(Debug, Default)]
pub(crate) struct Filtered {
    pub(crate) kept: Vec<Diagnostic>,
    /// How many warnings and errors the repository's settings leave out.
    pub(crate) ignored: usize,
    /// How many of them they make notes, which are hardly shown.
    pub(crate) lowered: usize,
}

impl Filter {
    /// Joins options and settings.
    pub(crate) fn new(
        select: &[String],
        ignore: &[String],
        settings: &CheckSettings,
    ) -> Result<Self, CheckError> {
        let names = |given: &[String]| -> Result<Vec<String>, CheckError> {
            let names = given.iter().map(|name| rule_name(name.trim()));
            names
                .collect::<Result<_, _>>()
                .map_err(|source| CheckError::Settings { file: None, source })
        };
        let options = Rules {
            select: names(select)?,
            ignore: names(ignore)?,
        };
        let select = if options.select.is_empty() {
            settings.select.clone()
        } else {
            Vec::new()
        };
        let repository = Rules {
            select,
            ignore: settings.ignore.clone(),
        };
        Ok(Self {
            options,
            repository,
            severity: settings.severity.clone(),
        })
    }

    /// Says whether findings of a rule are wanted.
    pub(crate) fn has(&self, rule: &str) -> bool {
        !self.options.leave_out(rule) && !self.repository.leave_out(rule)
    }

    /// Drops what is not wanted, and changes severities.
    ///
    /// What the repository takes away is counted: its settings are as untrusted as its files.
    pub(crate) fn apply(&self, found: Vec<Diagnostic>) -> Filtered {
        let mut filtered = Filtered::default();
        for mut found in found {
            let counts = found.severity > Severity::Info;
            let code = found.code.as_str();
            if self.options.leave_out(code) {
                continue;
            }
            if self.repository.leave_out(code) {
                filtered.ignored += usize::from(counts);
                continue;
            }
            let changed = self.severity.iter().find(|(name, _)| name == code);
            if let Some((_, severity)) = changed {
                let is_lowered = counts && *severity == Severity::Info;
                filtered.lowered += usize::from(is_lowered);
                found.severity = *severity;
            }
            filtered.kept.push(found);
        }
        filtered
    }
}
