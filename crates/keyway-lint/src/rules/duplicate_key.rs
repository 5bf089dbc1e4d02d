//! `duplicate-key`: one object has the same key twice, so that readers disagree about its value.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::json::{Node, Value};
use keyway_config::source::Pointer;

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::DuplicateKey,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A key appears twice in one object; some hosts read the first, some the last",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        if let Some(root) = &document.tree.root {
            walk(document, root, &Pointer::default(), report);
        }
    }
}

fn walk(document: &Document, node: &Node, pointer: &Pointer, report: &mut Report<'_>) {
    match &node.value {
        Value::Object(object) => {
            for (member, first) in object.repeated() {
                let pointer = pointer.child(&member.key);
                let message = format!(
                    "key `{}` is already used in this object",
                    shown(&member.key)
                );
                report
                    .at(&document.source, member.key_span, &pointer, message)
                    .related(
                        &document.source,
                        first.key_span,
                        &pointer,
                        "first used here",
                    )
                    .hint("keep one of the two");
            }
            for member in &object.members {
                walk(document, &member.value, &pointer.child(&member.key), report);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(document, item, &pointer.child(&index.to_string()), report);
            }
        }
        _ => {}
    }
}
