//! `name-collision`: two names become one where tools are prefixed with their server's name.

use std::collections::HashMap;

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, DocumentKind, Entry};
use keyway_config::names::normalised;

use super::walk::{is_left_out, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::NameCollision,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "Two server names are the same once normalised for tool names",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let mut seen: HashMap<String, (&Document, &Entry)> = HashMap::new();
    for (document, entry) in context.plugin.entries() {
        let is_listed = document.kind == DocumentKind::Marketplace;
        if entry.name.is_empty() || is_left_out(entry) || is_listed {
            continue;
        }
        let prefix = normalised(&entry.name);
        let (earlier, first) = *seen.entry(prefix.clone()).or_insert((document, entry));
        if first.name == entry.name {
            continue;
        }
        let (prefix, names) = (shown(&prefix), [&first.name, &entry.name]);
        let [other, name] = names.map(|name| shown(name));
        let message = format!("`{name}` and `{other}` are both `{prefix}` in the names of tools");
        report
            .at(&document.source, entry.name_span, &entry.pointer, message)
            .server(&entry.name)
            .related(
                &earlier.source,
                first.name_span,
                &first.pointer,
                "the other one",
            )
            .hint("rename one so that they differ in a letter, a digit, `_` or `-`");
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{findings, plugin, pointers, with_manifest};

    const ID: &str = "name-collision";

    #[test]
    fn names_that_differ_only_in_other_characters_collide() {
        let text = r#"{"my api": {"command": "x"}, "my.api": {"command": "y"}}"#;
        let found = findings(ID, &plugin(text));
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "`my.api` and `my api` are both `my_api` in the names of tools"
        );
        assert!(found[0].related.is_some());
    }

    #[test]
    fn a_collision_across_files_is_found() {
        let manifest = r#"{"mcpServers": {"a_b": {"command": "x"}}}"#;
        let plugin = with_manifest(r#"{"a:b": {"command": "x"}}"#, manifest);
        assert_eq!(pointers(ID, &plugin), ["/mcpServers/a_b"]);
    }

    #[test]
    fn names_that_stay_apart_and_equal_names_are_not_reported() {
        let text = r#"{"a-b": {"command": "x"}, "a_b": {"command": "x"}, "A_b": {"command": "x"}}"#;
        assert!(pointers(ID, &plugin(text)).is_empty());
        let manifest = r#"{"mcpServers": {"a b": {"command": "x"}}}"#;
        let same = with_manifest(r#"{"a b": {"command": "x"}}"#, manifest);
        assert!(pointers(ID, &same).is_empty());
    }
}
