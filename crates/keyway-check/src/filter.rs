//! Which findings are reported: rules that were selected, severities that were changed.

use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_lint::check_settings::{CheckSettings, rule_name};

use crate::error::CheckError;

/// What the options and the repository say together; options come first.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    select: Vec<String>,
    ignore: Vec<String>,
    severity: Vec<(String, Severity)>,
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
        let select = match names(select)? {
            none if none.is_empty() => settings.select.clone(),
            some => some,
        };
        let mut ignored = names(ignore)?;
        ignored.extend(settings.ignore.iter().cloned());
        Ok(Self {
            select,
            ignore: ignored,
            severity: settings.severity.clone(),
        })
    }

    /// Drops what is not wanted, and changes severities.
    pub(crate) fn apply(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut kept = found;
        kept.retain(|found| {
            let code = found.code.as_str();
            let is = |names: &[String]| names.iter().any(|name| name == code);
            (self.select.is_empty() || is(&self.select)) && !is(&self.ignore)
        });
        for found in &mut kept {
            let code = found.code.as_str();
            let changed = self.severity.iter().find(|(name, _)| name == code);
            if let Some((_, severity)) = changed {
                found.severity = *severity;
            }
        }
        kept
    }
}
