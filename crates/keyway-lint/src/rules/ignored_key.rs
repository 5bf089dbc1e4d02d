//! `ignored-key`: a key among the entries is not an entry, and is skipped.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, IgnoredKey};

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::IgnoredKey,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "A key among the entries is a note or not an entry, and is skipped",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        for ignored in &document.ignored {
            if is_schema_of_file(document, ignored) || ignored.key == "_keyway_ignore" {
                continue;
            }
            let key = shown(&ignored.key);
            let (message, hint) = match document.tree.at(&ignored.pointer) {
                Some(value) if !ignored.key.starts_with(['_', '$']) => (
                    format!("`{key}` is {}, not an entry, and is skipped", value.kind()),
                    "move the entries under `mcpServers`, or start the key with `_`",
                ),
                _ => (
                    format!("`{key}` is taken for a note and is skipped"),
                    "rename it if it is meant to be a server",
                ),
            };
            report
                .at(&document.source, ignored.span, &ignored.pointer, message)
                .hint(hint);
        }
    }
}

/// Says whether the key is the `$schema` that other rules look at.
fn is_schema_of_file(document: &Document, ignored: &IgnoredKey) -> bool {
    let schema = document.schema.as_ref();
    schema.is_some_and(|schema| schema.pointer == ignored.pointer)
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{findings, plugin, pointers};

    const ID: &str = "ignored-key";

    #[test]
    fn notes_and_values_that_are_not_objects_are_reported() {
        let text = r#"{"_comment": {"a": 1}, "version": 2, "s": {"command": "x"}}"#;
        assert_eq!(pointers(ID, &plugin(text)), ["/_comment", "/version"]);
        let found = findings(ID, &plugin(text));
        assert_eq!(
            found[0].message,
            "`_comment` is taken for a note and is skipped"
        );
        assert_eq!(
            found[1].message,
            "`version` is a number, not an entry, and is skipped"
        );
    }

    #[test]
    fn a_schema_is_reported_only_where_it_is_not_the_files_own() {
        let text = r#"{"$schema": "https://other.example", "s": {"command": "x"}}"#;
        assert!(pointers(ID, &plugin(text)).is_empty());
        let text = r#"{"mcpServers": {"$schema": "https://other.example"}}"#;
        assert_eq!(pointers(ID, &plugin(text)), ["/mcpServers/$schema"]);
    }

    #[test]
    fn keys_beside_the_wrapper_are_not_reported() {
        let text = r#"{"inputs": [], "_note": "x", "mcpServers": {"s": {"command": "x"}}}"#;
        assert!(pointers(ID, &plugin(text)).is_empty());
    }
}
