//! `--format github`: workflow commands, which GitHub shows beside the lines of a pull request.

use keyway_code::Code;
use keyway_config::diagnostic::{Diagnostic, Severity};

use super::Report;

/// Renders the report, one line per finding.
pub(super) fn render(report: &Report<'_>) -> String {
    let failures = report.failures.iter().map(|failure| {
        let file = failure
            .path()
            .map_or_else(String::new, |file| format!("file={},", property(file)));
        format!(
            "::error {file}title={}::{}\n",
            Code::UnreadableFile,
            message(&failure.to_string())
        )
    });
    failures
        .chain(report.diagnostics.iter().map(command))
        .collect()
}

fn command(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "notice",
    };
    let mut properties = Vec::new();
    if let Some(location) = &diagnostic.location {
        properties.push(format!("file={}", property(&location.file)));
        properties.push(format!("line={}", location.start.line));
        properties.push(format!("endLine={}", location.end.line));
        properties.push(format!("col={}", location.start.column));
        // GitHub takes an end column only within one line.
        if location.start.line == location.end.line {
            properties.push(format!("endColumn={}", location.end.column));
        }
    }
    properties.push(format!("title={}", property(diagnostic.code.as_str())));
    let mut text = diagnostic.message.clone();
    if let Some(hint) = &diagnostic.hint {
        text.push_str(&format!("\nhelp: {hint}"));
    }
    format!("::{level} {}::{}\n", properties.join(","), message(&text))
}

fn message(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
