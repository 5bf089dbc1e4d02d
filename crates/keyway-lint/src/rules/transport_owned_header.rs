//! `transport-owned-header`: an entry sets a header that the transport writes itself.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, NamedField};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::headers::{MAX_HEADERS, is_transport_owned};
use keyway_config::json::Member;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::TransportOwnedHeader,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: Some(Applicability::Safe),
    summary: "A header belongs to the transport and is ignored",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        for header in remote.headers.iter().take(MAX_HEADERS) {
            if !is_transport_owned(&header.name) {
                continue;
            }
            let message = format!(
                "header `{}` is set by the transport and ignored",
                header.name
            );
            let source = &document.source;
            let finding = report
                .at(source, header.name_span, &header.value.pointer, message)
                .server(&server.name)
                .hint("remove it");
            if let Some(edit) = removal(document, header) {
                let title = format!("remove `{}`", header.name);
                finding.fix(Applicability::Safe, title, vec![edit]);
            }
        }
    }
}

fn removal(document: &Document, header: &NamedField) -> Option<Edit> {
    let headers = document.tree.at(&header.value.pointer.parent())?;
    let object = headers.as_object()?;
    let is_it = |member: &Member| member.key_span == header.name_span;
    let index = object.members.iter().position(is_it)?;
    Edit::remove_member(&document.source, object, index)
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, fixed, pointers};

    const ID: &str = "transport-owned-header";

    #[test]
    fn headers_of_the_transport_are_reported_in_any_case() {
        for name in [
            "content-type",
            "Host",
            "Mcp-Session-Id",
            "sec-websocket-key",
        ] {
            let fields = format!(
                r#""type": "http", "url": "https://h.example", "headers": {{"{name}": "x"}}"#
            );
            assert_eq!(
                pointers(ID, &entry(&fields)),
                [format!("/mcpServers/s/headers/{name}")]
            );
        }
    }

    #[test]
    fn headers_of_the_author_and_variables_of_a_process_are_left_alone() {
        for fields in [
            r#""url": "https://h.example", "headers": {"Authorization": "Bearer ${T}", "X-Host": "a"}"#,
            r#""command": "node", "env": {"HOST": "x"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn the_fix_removes_the_member_and_keeps_its_neighbours() {
        let before = "{\"s\": {\"url\": \"https://h.example\", \"headers\": {\n  \"Accept\": \"*/*\",\n  \"X-A\": \"1\"\n}}}";
        let after =
            "{\"s\": {\"url\": \"https://h.example\", \"headers\": {\n  \"X-A\": \"1\"\n}}}";
        assert_eq!(fixed(ID, before), after);
    }
}
