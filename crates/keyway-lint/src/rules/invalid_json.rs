//! `invalid-json`: the file is not strict JSON, not UTF-8 or too large. Reading continues after it.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::Syntax;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::{Fault, FaultKind};
use keyway_config::source::{Defect, MAX_BYTES, Pointer, Span};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidJson,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Safe),
    summary: "The file breaks the syntax that its host reads, so it is refused or read differently",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        check_whole(document, report);
        if matches!(document.source.defect(), Some(Defect::TooLarge { .. })) {
            continue;
        }
        check_syntax(document, report);
    }
}

/// Reports the first fault, how many more there are, and one fix for all that can be repaired.
fn check_syntax(document: &Document, report: &mut Report<'_>) {
    let source = &document.source;
    let faults: Vec<&Fault> = document.faults().collect();
    let Some(first) = faults.first() else {
        return;
    };
    let not = match document.syntax {
        Syntax::Json | Syntax::JsonWithComments | Syntax::Jsonc => "strict JSON",
        Syntax::Toml => "TOML",
        _ => "YAML",
    };
    let more = match faults.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("not {not}: {}{more}", first.kind.describe());
    let finding = report.at(source, first.span, &Pointer::default(), message);
    if faults.iter().all(|fault| fault.kind == FaultKind::Comment) {
        // Unsafe: the text of a comment is in no other place.
        let edits = faults
            .iter()
            .map(|fault| Edit::replace(source, fault.span, ""));
        finding
            .hint("move the note into a key that starts with `_`, or into the README")
            .fix(
                Applicability::Unsafe,
                "remove the comments",
                edits.collect(),
            );
        return;
    }
    let edits: Vec<Edit> = faults
        .iter()
        .filter_map(|fault| match fault.kind {
            FaultKind::TrailingComma => Some(Edit::replace(source, fault.span, "")),
            FaultKind::MissingComma => Some(Edit::replace(source, fault.span, ",")),
            _ => None,
        })
        .collect();
    let title = match (edits.len(), first.kind) {
        (0, _) => return,
        (1, FaultKind::TrailingComma) => "remove the comma",
        (1, FaultKind::MissingComma) => "add the comma",
        _ => "correct the commas",
    };
    finding.fix(Applicability::Safe, title, edits);
}

fn check_whole(document: &Document, report: &mut Report<'_>) {
    let source = &document.source;
    match source.defect() {
        Some(Defect::TooLarge { .. }) => {
            let message = format!("the file has more than the {MAX_BYTES} bytes that are read");
            report.at(source, Span::default(), &Pointer::default(), message);
        }
        Some(Defect::NotUtf8 { offset }) => {
            let span = Span::between(offset, offset);
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

#[cfg(test)]
mod tests {
    use keyway_config::edit::Applicability;

    use crate::rules::fixture::{findings, fixed, plugin};

    const ID: &str = "invalid-json";

    #[test]
    fn comments_are_removed_only_where_nothing_else_is_wrong_and_never_as_a_safe_fix() {
        let text = "{\n  // why\n  \"mcpServers\": {} /* end */\n}";
        let found = findings(ID, &plugin(text));
        let fix = found[0].fix.as_ref().unwrap();
        assert_eq!(fix.applicability, Applicability::Unsafe);
        assert_eq!(fixed(ID, text), "{\n  \n  \"mcpServers\": {} \n}");

        let text = "{\n  // why\n  \"mcpServers\": {},\n}";
        let found = findings(ID, &plugin(text));
        let fix = found[0].fix.as_ref().unwrap();
        assert_eq!(fix.applicability, Applicability::Safe);
        assert_eq!(
            (fix.title.as_str(), fix.edits.len()),
            ("correct the commas", 1)
        );
    }
}
