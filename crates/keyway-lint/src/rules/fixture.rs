//! Runs one rule over text, for the unit tests of the rules.

use keyway_config::diagnostic::Diagnostic;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::edit::{Edit, apply};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::plugin::Plugin;
use keyway_config::source::Source;

use super::{Context, RULES, lint};

/// A plugin of one `.mcp.json`.
pub(crate) fn plugin(text: &str) -> Plugin {
    Plugin::from_text("/plugin", ".mcp.json", text)
}

/// A plugin of one entry named `s`.
pub(crate) fn entry(fields: &str) -> Plugin {
    plugin(&format!("{{\"mcpServers\": {{\"s\": {{{fields}}}}}}}"))
}

/// The findings of the rule `id`, and of no other.
pub(crate) fn findings(id: &str, plugin: &Plugin) -> Vec<Diagnostic> {
    findings_with(id, plugin, None)
}

/// The same with variables to resolve against.
pub(crate) fn findings_with(
    id: &str,
    plugin: &Plugin,
    variables: Option<&Variables>,
) -> Vec<Diagnostic> {
    assert!(
        RULES.iter().any(|rule| rule.id.as_str() == id),
        "no rule `{id}`"
    );
    let host = HostVariables {
        plugin_root: plugin.root.clone(),
        ..HostVariables::default()
    };
    let scope = variables.map(|variables| Scope::new(&host, variables));
    let mut context = Context::new(plugin).pedantic(true);
    context.scope = scope;
    lint(&context)
        .into_iter()
        .filter(|diagnostic| diagnostic.code.as_str() == id)
        .collect()
}

/// The pointers of the findings of `id`.
pub(crate) fn pointers(id: &str, plugin: &Plugin) -> Vec<String> {
    let found = findings(id, plugin);
    let locations = found
        .iter()
        .map(|diagnostic| diagnostic.location.as_ref().unwrap());
    locations
        .map(|location| location.pointer.as_str().to_owned())
        .collect()
}

/// The text after the fixes of `id` are applied; they must leave nothing of `id` to find.
pub(crate) fn fixed(id: &str, text: &str) -> String {
    let found = findings(id, &plugin(text));
    let edits: Vec<&Edit> = found
        .iter()
        .filter_map(|d| d.fix.as_ref())
        .flat_map(|fix| &fix.edits)
        .collect();
    let changed = apply(text, &edits);
    assert_eq!(
        pointers(id, &plugin(&changed)),
        Vec::<String>::new(),
        "{changed}"
    );
    changed
}

/// A plugin of one `.mcp.json` and one manifest.
pub(crate) fn with_manifest(text: &str, manifest: &str) -> Plugin {
    let source = Source::new("plugin.json", manifest.as_bytes());
    let mut plugin = plugin(text);
    let manifest = Document::parse(source, DocumentKind::Manifest);
    plugin.documents.push(manifest);
    plugin
}
