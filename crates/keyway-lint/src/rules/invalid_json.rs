//! `invalid-json`: the file is not strict JSON, not UTF-8 or too large. Reading goes on behind it.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::FaultKind;
use keyway_config::source::{Defect, MAX_BYTES, Pointer, Span};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidJson,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Safe),
    summary: "The file is not strict JSON, so hosts refuse it or read it differently",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        check_whole(document, report);
        if matches!(document.source.defect(), Some(Defect::TooLarge { .. })) {
            continue;
        }
        for fault in &document.tree.faults {
            let message = format!("not strict JSON: {}", fault.kind.describe());
            let source = &document.source;
            let finding = report.at(source, fault.span, &Pointer::default(), message);
            match fault.kind {
                FaultKind::TrailingComma => {
                    let edits = vec![Edit::replace(source, fault.span, "")];
                    finding.fix(Applicability::Safe, "remove the comma", edits);
                }
                FaultKind::MissingComma => {
                    let edits = vec![Edit::replace(source, fault.span, ",")];
                    finding.fix(Applicability::Safe, "add the comma", edits);
                }
                FaultKind::Comment => {
                    finding
                        .hint("move the note into a key that starts with `_`, or into the README");
                }
                _ => {}
            }
        }
    }
}

fn check_whole(document: &Document, report: &mut Report<'_>) {
    let source = &document.source;
    match source.defect() {
        Some(Defect::TooLarge { .. }) => {
            let message = format!("the file has more than the {MAX_BYTES} bytes that are read");
            report.at(source, Span::default(), &Pointer::default(), message);
        }
        Some(Defect::NotUtf8 { offset }) => {
            let span = Span {
                start: offset,
                end: offset,
            };
            report.at(
                source,
                span,
                &Pointer::default(),
                "the file is not UTF-8 from here on",
            );
        }
        None => {}
    }
}
