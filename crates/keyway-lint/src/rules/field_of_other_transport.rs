//! `field-of-other-transport`: a field of remote entries on a local one, or the other way round.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::fields::{AppliesTo, ENTRY, FieldSpec};
use keyway_config::json::{Node, Object, Value};

use super::walk::contract_objects;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::FieldOfOtherTransport,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: Some(Applicability::Safe),
    summary: "An entry has a field that only the other kind of server uses",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in contract_objects(context.plugin) {
        let Some((endpoint, other)) = endpoint_of(object) else {
            continue;
        };
        for (index, member) in object.members.iter().enumerate() {
            let is_other = |spec: &&FieldSpec| spec.name == member.key && spec.applies_to == other;
            let Some(spec) = ENTRY.iter().find(is_other) else {
                continue;
            };
            let pointer = entry.pointer.child(spec.name);
            let message = format!(
                "`{}` has no effect on an entry with `{endpoint}`",
                spec.name
            );
            let finding = report
                .at(&document.source, member.key_span, &pointer, message)
                .server(&entry.name)
                .hint(hint(spec.name));
            if is_empty(&member.value) {
                let removal = Edit::remove_member(&document.source, object, index);
                let title = format!("remove `{}`, which is empty", spec.name);
                finding.fix(Applicability::Safe, title, removal.into_iter().collect());
            }
        }
    }
}

/// Returns the field that says what the entry is, and which fields do not belong to it.
fn endpoint_of(object: &Object) -> Option<(&'static str, AppliesTo)> {
    let has = |key| object.get(key).is_some();
    match (has("url"), has("command")) {
        (true, false) => Some(("url", AppliesTo::Local)),
        (false, true) => Some(("command", AppliesTo::Remote)),
        _ => None,
    }
}

const fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.members.is_empty(),
        _ => false,
    }
}

fn hint(key: &str) -> &'static str {
    match key {
        "headers" => "remove it; a local server gets its credentials through `env`",
        "headersHelper" | "oauth" => "remove it; Keyway only signs in to servers with a `url`",
        _ => "remove it; nothing is started for a server with a `url`",
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;

    use crate::rules::fixture::{entry, findings, fixed, plugin, pointers};
    use crate::rules::{Context, lint};

    const ID: &str = "field-of-other-transport";

    #[test]
    fn fields_of_the_other_kind_are_reported_on_both_kinds() {
        let local =
            r#""command": "x", "headers": {"A": "b"}, "oauth": false, "headersHelper": "h""#;
        assert_eq!(
            pointers(ID, &entry(local)),
            [
                "/mcpServers/s/headers",
                "/mcpServers/s/oauth",
                "/mcpServers/s/headersHelper"
            ]
        );
        let remote = r#""url": "https://h.example", "args": ["a"], "cwd": "/""#;
        assert_eq!(
            pointers(ID, &entry(remote)),
            ["/mcpServers/s/args", "/mcpServers/s/cwd"]
        );
        assert!(findings(ID, &entry(remote))[0].fix.is_none());
    }

    #[test]
    fn fields_of_both_kinds_and_entries_of_no_kind_are_not_reported() {
        for fields in [
            r#""url": "https://h.example", "env": {"A": "${A}"}, "envFile": ".env""#,
            r#""command": "x", "args": [], "env": {}, "cwd": ".", "timeout": 5000"#,
            r#""url": "https://h.example", "command": "x", "args": []"#,
            r#""headers": {}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn an_empty_field_is_removed() {
        assert_eq!(
            fixed(
                ID,
                r#"{"s": {"type": "http", "args": [], "url": "https://h.example"}}"#
            ),
            r#"{"s": {"type": "http", "url": "https://h.example"}}"#
        );
    }

    #[test]
    fn it_is_an_error_under_strict() {
        let plugin = plugin(r#"{"s": {"command": "x", "headers": {}}}"#);
        let context = Context::new(&plugin).strict(true);
        let found = lint(&context);
        assert!(
            found
                .iter()
                .any(|d| d.code.as_str() == ID && d.severity == Severity::Error)
        );
    }
}
