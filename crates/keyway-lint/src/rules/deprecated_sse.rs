//! `deprecated-sse`: `type` is `sse`, which Streamable HTTP has replaced.

use keyway_code::Code;
use keyway_config::declared::{Transport, TypeOrigin};
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::HostFieldRole;

use super::walk::objects;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::DeprecatedSse,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "With `--pedantic`: `sse` still works, but Streamable HTTP has replaced it",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in objects(context.plugin) {
        let (Ok(server), Some(member)) = (&entry.server, object.get("type")) else {
            continue;
        };
        // Some hosts do not read the word: they try, or reach no servers from that file.
        let field = document.dialect.field("type");
        let is_read = field.is_some_and(|field| field.role == HostFieldRole::Type);
        let is_declared = is_read && server.type_origin == TypeOrigin::Declared;
        if is_declared && server.transport == Transport::Sse {
            let (span, pointer) = (member.value.span, entry.pointer.child("type"));
            let message = "`sse` works, but the protocol has replaced it with Streamable HTTP";
            report
                .at(&document.source, span, &pointer, message)
                .server(&entry.name)
                .hint("ask the server's operator for its `http` address");
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, pointers};

    const ID: &str = "deprecated-sse";

    #[test]
    fn a_host_that_does_not_read_the_word_is_left_alone() {
        let text = r#"{"mcpServers": {"s": {"type": "sse", "url": "https://h.example/sse"}}}"#;
        for (path, count) in [(".roo/mcp.json", 1), ("claude_desktop_config.json", 0)] {
            let plugin = Plugin::from_text("/plugin", path, text);
            assert_eq!(pointers(ID, &plugin).len(), count, "{path}");
        }
    }

    #[test]
    fn only_a_declared_sse_is_reported() {
        assert_eq!(
            pointers(
                ID,
                &entry(r#""type": "sse", "url": "https://h.example/sse""#)
            ),
            ["/mcpServers/s/type"]
        );
        for fields in [
            r#""url": "https://h.example/sse""#,
            r#""type": "http", "url": "https://h.example/sse""#,
            r#""command": "sse""#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }
}
