//! Whatever a file holds, every finding points into it and every fix leaves it as good as it was.

#![no_main]

use keyway_config::document::{Document, DocumentKind};
use keyway_config::edit::{Edit, apply};
use keyway_config::environment::{Scope, Variables};
use keyway_config::json::{self, Node, Tree, Value};
use keyway_config::plugin::Plugin;
use keyway_config::source::{Location, Source};
use keyway_lint::{Context, lint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for kind in [DocumentKind::Entries, DocumentKind::Manifest] {
        check(bytes, kind);
    }
});

fn check(bytes: &[u8], kind: DocumentKind) {
    let document = Document::parse(Source::new("f.json", bytes), kind);
    let plugin = Plugin::new("/plugin", vec![document]);
    let (host, variables) = (plugin.host_variables(), Variables::from_pairs([("A", "a")]));
    let scope = Scope::new(&host, &variables);
    let context = Context::new(&plugin).with_scope(scope);
    let [document] = &plugin.documents[..] else {
        return;
    };
    let text = document.source.text();
    for diagnostic in lint(&context) {
        let related = diagnostic.related.iter().map(|related| &related.location);
        for location in diagnostic.location.iter().chain(related) {
            check_location(location, text, &document.tree);
        }
        if let Some(fix) = &diagnostic.fix {
            check_edits(&fix.edits, text, &document.tree);
        }
    }
}

fn check_location(location: &Location, text: &str, tree: &Tree) {
    assert!(text.get(location.span.range()).is_some(), "{location:?}");
    // Of a repeated key a pointer leads to the last one only.
    let is_sure = !tree.root.as_ref().is_some_and(has_repeated_key);
    assert!(
        !is_sure || tree.at(&location.pointer).is_some() || tree.root.is_none(),
        "{location:?}"
    );
    let before = &text[..location.span.start as usize];
    let lines = before.matches('\n').count() + 1;
    assert_eq!(location.start.line as usize, lines, "{location:?}");
}

fn has_repeated_key(node: &Node) -> bool {
    match &node.value {
        Value::Object(object) => {
            let mut members = object.members.iter();
            !object.repeated().is_empty() || members.any(|member| has_repeated_key(&member.value))
        }
        Value::Array(items) => items.iter().any(has_repeated_key),
        _ => false,
    }
}

fn check_edits(edits: &[Edit], text: &str, tree: &Tree) {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    for edit in &ordered {
        assert!(text.get(edit.span.range()).is_some(), "{edit:?}");
    }
    for pair in ordered.windows(2) {
        assert!(pair[0].span.end <= pair[1].span.start, "{pair:?}");
    }
    let changed = apply(text, &ordered);
    assert_ne!(changed, text, "a fix that changes nothing: {edits:?}");
    if tree.faults.is_empty() {
        let faults = json::read(&changed).faults;
        assert!(faults.is_empty(), "{changed}\n{faults:?}");
    }
}
