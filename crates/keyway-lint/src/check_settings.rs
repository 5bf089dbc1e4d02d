//! The `[check]` table of a repository's `keyway.toml`: rules, severities, excluded paths.
//!
//! It says how `keyway check` reports on that repository, and nothing else: an untrusted file must
//! not decide what is approved or sent.

use keyway_config::diagnostic::Severity;
use keyway_config::json::{Member, Node, Object, Value};
use keyway_config::toml;
use keyway_secret::printable;
use thiserror::Error;

use crate::rules::RULES;

/// What a repository says about its own checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckSettings {
    /// Only these rules, if any are named.
    pub select: Vec<String>,
    /// Not these rules.
    pub ignore: Vec<String>,
    /// Paths that are not looked at, as in an ignore file.
    pub exclude: Vec<String>,
    /// Other severities than the rules' own.
    pub severity: Vec<(String, Severity)>,
    /// A file of findings that are known already.
    pub baseline: Option<String>,
    /// Whether to report what hardly anyone acts on.
    pub pedantic: bool,
}

/// What is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckSettingsError {
    /// It is not TOML.
    #[error("not TOML from line {line}")]
    Syntax {
        /// Counted from 1.
        line: usize,
    },
    /// A key is not known.
    #[error("`check` has no setting `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A value is of another kind.
    #[error("`{key}` must be {expected}")]
    WrongKind {
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// There is no such rule.
    #[error("there is no rule `{rule}`")]
    UnknownRule {
        /// As written.
        rule: String,
    },
}

impl CheckSettings {
    /// Reads the `[check]` table; a file without one says nothing.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the table; other tables are not looked at.
    pub fn parse(text: &str) -> Result<Self, CheckSettingsError> {
        let tree = toml::read(text);
        if let Some(fault) = tree.faults.first() {
            let before = text.get(..fault.span.start as usize).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            return Err(CheckSettingsError::Syntax { line });
        }
        let root = tree.root.as_ref().and_then(Node::as_object);
        let Some(table) = root.and_then(|root| root.get("check")) else {
            return Ok(Self::default());
        };
        let Some(table) = table.value.as_object() else {
            return Err(wrong_kind("check", "a table"));
        };
        let mut settings = Self::default();
        for member in &table.members {
            settings.read(member)?;
        }
        Ok(settings)
    }

    fn read(&mut self, member: &Member) -> Result<(), CheckSettingsError> {
        let key = member.key.as_str();
        match key {
            "select" => self.select = rules(member)?,
            "ignore" => self.ignore = rules(member)?,
            "exclude" => self.exclude = texts(member)?,
            "baseline" => {
                let file = member.value.as_str();
                self.baseline = Some(
                    file.ok_or(wrong_kind(key, "the name of a file"))?
                        .to_owned(),
                );
            }
            "pedantic" => match member.value.value {
                Value::Bool(flag) => self.pedantic = flag,
                _ => return Err(wrong_kind(key, "`true` or `false`")),
            },
            "severity" => {
                let table = member.value.as_object();
                self.severity = severities(table.ok_or(wrong_kind(key, "a table"))?)?;
            }
            _ => {
                let key = printable(key);
                return Err(CheckSettingsError::UnknownKey { key });
            }
        }
        Ok(())
    }
}

/// Returns the rule of that name.
///
/// # Errors
///
/// Returns [`CheckSettingsError::UnknownRule`] if there is none.
pub fn rule_name(name: &str) -> Result<String, CheckSettingsError> {
    let known = RULES.iter().any(|rule| rule.id.as_str() == name);
    let rule = printable(name);
    if known {
        Ok(rule)
    } else {
        Err(CheckSettingsError::UnknownRule { rule })
    }
}

fn rules(member: &Member) -> Result<Vec<String>, CheckSettingsError> {
    texts(member)?.iter().map(|name| rule_name(name)).collect()
}

fn texts(member: &Member) -> Result<Vec<String>, CheckSettingsError> {
    let error = || wrong_kind(&member.key, "an array of strings");
    let Value::Array(items) = &member.value.value else {
        return Err(error());
    };
    let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
    texts.map(|text| text.ok_or_else(error)).collect()
}

fn severities(table: &Object) -> Result<Vec<(String, Severity)>, CheckSettingsError> {
    let mut severities = Vec::new();
    for member in &table.members {
        let severity = match member.value.as_str() {
            Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            Some("info") => Severity::Info,
            _ => return Err(wrong_kind(&member.key, "`error`, `warning` or `info`")),
        };
        severities.push((rule_name(&member.key)?, severity));
    }
    Ok(severities)
}

fn wrong_kind(key: &str, expected: &'static str) -> CheckSettingsError {
    let key = printable(key);
    CheckSettingsError::WrongKind { key, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_read() {
        let settings = CheckSettings::parse(
            "[check]\nselect = [\"literal-secret\"]\nignore = [\"insecure-url\"]\nexclude = [\"vendor/\"]\n\
             baseline = \"known.json\"\npedantic = true\n[check.severity]\nunknown-field = \"error\"\n",
        )
        .unwrap();
        assert_eq!(settings.select, ["literal-secret"]);
        assert_eq!(settings.ignore, ["insecure-url"]);
        assert_eq!(settings.exclude, ["vendor/"]);
        assert_eq!(settings.baseline.as_deref(), Some("known.json"));
        assert!(settings.pedantic);
        assert_eq!(
            settings.severity,
            [("unknown-field".to_owned(), Severity::Error)]
        );
        assert_eq!(
            CheckSettings::parse("[other]\na = 1\n"),
            Ok(CheckSettings::default())
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, message) in [
            (
                "[check]\nselect = [\"no-rule\"]\n",
                "there is no rule `no-rule`",
            ),
            ("[check]\nselct = []\n", "`check` has no setting `selct`"),
            (
                "[check]\nselect = 1\n",
                "`select` must be an array of strings",
            ),
            (
                "[check.severity]\ninsecure-url = \"off\"\n",
                "`insecure-url` must be `error`, `warning` or `info`",
            ),
            ("a = 1\n[check\n", "not TOML from line 2"),
        ] {
            let error = CheckSettings::parse(text).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
