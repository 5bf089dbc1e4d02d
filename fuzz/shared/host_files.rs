//! What holds for a file of any host, whatever its syntax.

use keyway_config::dialect::DIALECTS;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::json::{Node, Tree, Value};
use keyway_config::portable::new_file;
use keyway_config::source::Source;
use keyway_lint::convert::convert;

/// Checks the tree of a text, and what becomes of its entries in every other host.
pub fn check(path: &str, text: &str, tree: &Tree) {
    if let Some(root) = &tree.root {
        check_node(root, text);
    }
    for fault in &tree.faults {
        assert!(fault.span.start <= fault.span.end);
        assert!(fault.span.end as usize <= text.len() + 1, "{fault:?}");
    }
    let document = Document::parse(Source::new(path, text.as_bytes()), DocumentKind::Entries);
    for target in DIALECTS.iter().filter(|target| target.is_writable()) {
        let conversion = convert(&document, target, None);
        let written = new_file(target, &conversion.entries);
        let path = target.files[0].path.replace('*', "a");
        let source = Source::new(&path, written.as_bytes());
        let again = Document::parse(source, DocumentKind::Entries);
        assert_eq!(again.faults().count(), 0, "{written}");
        let mut names: Vec<&str> = conversion
            .entries
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        if names.len() == conversion.entries.len() {
            assert_eq!(
                again.servers().count(),
                names.len(),
                "{}\n{written}",
                target.id
            );
        }
    }
}

fn check_node(node: &Node, text: &str) {
    assert!(text.get(node.span.range()).is_some(), "{:?}", node.span);
    match &node.value {
        Value::Object(object) => {
            for member in &object.members {
                assert!(text.get(member.key_span.range()).is_some());
                check_node(&member.value, text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_node(item, text)),
        _ => {}
    }
}
