//! `duplicate-server`: one plugin declares the same name twice, and only one of the two is used.

use std::collections::HashMap;

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, DocumentKind, Entry};

use super::walk::{is_left_out, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::DuplicateServer,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "Two files of the plugin declare the same server; the manifest's is used",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let entries = || {
        context.plugin.entries().filter(|(document, entry)| {
            // Each plugin of a marketplace has names of its own.
            document.kind != DocumentKind::Marketplace && !is_left_out(entry)
        })
    };
    // Manifests come last, so what stays in the map is what is used.
    let used: HashMap<&str, (&Document, &Entry)> = entries()
        .map(|(document, entry)| (entry.name.as_str(), (document, entry)))
        .collect();
    for (document, entry) in entries() {
        let Some(&(winner, winning)) = used.get(entry.name.as_str()) else {
            continue;
        };
        // A key that appears twice in one object is reported by `duplicate-key`.
        let same_file = document.source.path() == winner.source.path();
        if same_file && entry.pointer == winning.pointer {
            continue;
        }
        let name = shown(&entry.name);
        let file = shown(context.plugin.name_below(winner.source.path()));
        let message = format!("`{name}` is not used, since `{file}` declares it as well");
        report
            .at(&document.source, entry.name_span, &entry.pointer, message)
            .server(&entry.name)
            .related(
                &winner.source,
                winning.name_span,
                &winning.pointer,
                "this one is used",
            )
            .hint("keep one of the two, or rename one");
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{findings, plugin, pointers, with_manifest};

    const ID: &str = "duplicate-server";

    #[test]
    fn the_entry_that_loses_to_the_manifest_is_reported_and_the_winner_is_shown() {
        let manifest = r#"{"mcpServers": {"s": {"command": "y"}}}"#;
        let plugin = with_manifest(
            r#"{"t": {"command": "x"}, "s": {"command": "x"}}"#,
            manifest,
        );
        let found = findings(ID, &plugin);
        assert_eq!(found.len(), 1);
        assert_eq!(&*found[0].location.as_ref().unwrap().file, ".mcp.json");
        let winner = &found[0].related.as_ref().unwrap().location;
        assert_eq!(&*winner.file, "plugin.json");
        assert_eq!(winner.pointer.as_str(), "/mcpServers/s");
    }

    #[test]
    fn two_parts_of_one_manifest_are_compared_too() {
        let entry = r#"{"s": {"command": "x"}}"#;
        let plugin = with_manifest("{}", &format!(r#"{{"mcpServers": [{entry}, {entry}]}}"#));
        assert_eq!(pointers(ID, &plugin), ["/mcpServers/0/s"]);
    }

    #[test]
    fn other_names_and_repeated_keys_and_a_file_read_twice_are_not_reported() {
        let other = with_manifest(
            r#"{"s": {"command": "x"}}"#,
            r#"{"mcpServers": {"S": {"command": "x"}}}"#,
        );
        assert!(pointers(ID, &other).is_empty());
        let mut once = plugin(r#"{"s": {"command": "x"}, "s": {"command": "y"}}"#);
        assert!(pointers(ID, &once).is_empty());
        once.documents.extend_from_within(..);
        assert!(pointers(ID, &once).is_empty());
    }
}
