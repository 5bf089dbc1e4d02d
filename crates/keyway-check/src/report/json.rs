//! `--format json`: exactly one object, with field names that scripts may rely on.

use keyway_code::Code;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::edit::Applicability;
use keyway_config::source::Location;
use keyway_files::error::LoadError;
use keyway_lint::mask::in_name;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Report;

/// Renders the report.
pub(super) fn render(report: &Report<'_>) -> String {
    to_text(&Object {
        schema_version: 1,
        diagnostics: findings(report),
        suppressed: report.suppressed,
    })
}

/// Returns everything that a report has to say, what could not be read first: the array `diagnostics`
/// as it stands in a pretty-printed object.
#[must_use]
pub fn diagnostics(report: &Report<'_>) -> Box<RawValue> {
    let text = serde_json::to_string_pretty(&findings(report)).unwrap_or_default();
    // A string of JSON holds no line break, so every one of them is layout.
    let text = text.replace('\n', "\n  ");
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn findings<'a>(report: &'a Report<'_>) -> Vec<Finding<'a>> {
    let failures = report.failures.iter().map(Finding::of_failure);
    let findings = report.diagnostics.iter().map(Finding::of_diagnostic);
    failures.chain(findings).collect()
}

/// Returns an object as every command prints it.
pub(crate) fn to_text(object: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(object).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Vec<Finding<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One diagnostic object of the contract.
#[derive(Debug, Serialize)]
pub(crate) struct Finding<'a> {
    code: &'static str,
    severity: &'a str,
    server: Option<String>,
    source: Option<SourcePlace>,
    message: String,
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Fix<'a>>,
}

/// Where something stands.
#[derive(Debug, Serialize)]
struct SourcePlace {
    file: String,
    line: u32,
    column: u32,
    pointer: String,
}

impl SourcePlace {
    fn of(location: &Location) -> Self {
        Self {
            file: location.file.to_string(),
            line: location.start.line,
            column: location.start.column,
            pointer: in_name(location.pointer.as_str()),
        }
    }
}

#[derive(Debug, Serialize)]
struct Fix<'a> {
    applicability: &'static str,
    title: &'a str,
}

impl<'a> Finding<'a> {
    /// Words a finding.
    pub(crate) fn of_diagnostic(diagnostic: &'a Diagnostic) -> Self {
        Self {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity.as_str(),
            server: diagnostic.server.as_deref().map(in_name),
            source: diagnostic.location.as_ref().map(SourcePlace::of),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
            fix: diagnostic.fix.as_ref().map(|fix| Fix {
                applicability: match fix.applicability {
                    Applicability::Safe => "safe",
                    _ => "unsafe",
                },
                title: &fix.title,
            }),
        }
    }

    fn of_failure(failure: &'a LoadError) -> Self {
        Self {
            code: Code::UnreadableFile.as_str(),
            severity: "error",
            server: None,
            source: failure.path().map(|file| SourcePlace {
                file: file.to_owned(),
                line: 1,
                column: 1,
                pointer: String::new(),
            }),
            message: failure.to_string(),
            hint: failure.hint(),
            fix: None,
        }
    }
}
