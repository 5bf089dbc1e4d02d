//! `bad-reference`: a manifest's `mcpServers` names a file that is not read.

use keyway_code::Code;
use keyway_config::declared::Field;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::plugin::Reference;

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::BadReference,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A manifest names a file of servers that is missing or not part of the plugin",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let plugin = context.plugin;
    for document in &plugin.documents {
        let listed = document.listed.iter().filter_map(|it| it.path.as_ref());
        for field in document.references.iter().chain(listed) {
            let text = field.template.as_str();
            let what = match plugin.snapshot.references.get(text) {
                None | Some(Reference::Read) => continue,
                Some(Reference::Missing) => "does not exist",
                Some(Reference::NotJson) => "is not a `.json` file",
                Some(Reference::Bundle) if text.contains("://") => {
                    bundle_address(document, field, report);
                    continue;
                }
                Some(Reference::Bundle) => continue,
                Some(Reference::OutsidePlugin) => "is outside the plugin; it is not read",
                Some(Reference::Unreadable) => "cannot be read",
            };
            let message = format!("`{}` {what}", shown(text));
            let hint = if document.kind == DocumentKind::Marketplace {
                "name the folder of the plugin, such as `./plugins/one`, below the marketplace's own"
            } else {
                "name a file of the plugin, such as `./servers.json`, relative to its root"
            };
            report
                .at(&document.source, field.span, &field.pointer, message)
                .hint(hint);
        }
    }
}

/// The address of a bundle is right for the host of the manifest; only Keyway leaves it out.
fn bundle_address(document: &Document, field: &Field, report: &mut Report<'_>) {
    let message = format!(
        "`{}` is the address of a bundle, which {} downloads and Keyway does not",
        shown(field.template.as_str()),
        document.dialect.name
    );
    report
        .at(&document.source, field.span, &field.pointer, message)
        .severity(Severity::Info)
        .hint("for Keyway, put the bundle into the plugin and name it by its path");
}

#[cfg(test)]
mod tests {
    use keyway_config::document::{Document, DocumentKind};
    use keyway_config::plugin::{Plugin, Reference};
    use keyway_config::source::Source;

    use crate::rules::fixture::{findings, pointers};

    #[test]
    fn the_address_of_a_bundle_is_a_note_in_the_manifest_of_its_host() {
        let text = r#"{"name": "p", "mcpServers": ["./a.mcpb", "https://h.example/b.dxt"]}"#;
        let source = Source::new(".claude-plugin/plugin.json", text.as_bytes());
        let mut plugin = Plugin::new("", vec![Document::parse(source, DocumentKind::Manifest)]);
        let known = ["./a.mcpb", "https://h.example/b.dxt"];
        let known = known.map(|text| (text.to_owned(), Reference::Bundle));
        plugin.snapshot.references = known.into();
        let found = findings("bad-reference", &plugin);
        let severities: Vec<_> = found.iter().map(|it| it.severity).collect();
        assert_eq!(severities, [super::Severity::Info]);
        assert!(found[0].message.contains("b.dxt"), "{}", found[0].message);
    }

    #[test]
    fn only_files_that_were_not_found_are_reported() {
        let text = r#"{"mcpServers": ["./a.json", "../b.json", "./c.json"]}"#;
        let source = Source::new("plugin.json", text.as_bytes());
        let mut plugin = Plugin::new("", vec![Document::parse(source, DocumentKind::Manifest)]);
        let known = [
            ("./a.json", Reference::Read),
            ("../b.json", Reference::OutsidePlugin),
        ];
        let known = known.map(|(text, reference)| (text.to_owned(), reference));
        plugin.snapshot.references = known.into();
        assert_eq!(pointers("bad-reference", &plugin), ["/mcpServers/1"]);
    }
}
