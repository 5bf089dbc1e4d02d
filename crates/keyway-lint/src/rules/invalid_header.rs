//! `invalid-header`: a header that cannot be sent: its name, its value, or their number.

use std::collections::HashMap;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint, NamedField};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::headers::{MAX_HEADERS, MAX_VALUE_BYTES, is_credential_header, is_token};
use keyway_config::placeholder;
use keyway_config::template::Template;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidHeader,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A header has a name or a value that cannot be sent",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        check_number(document, server, &remote.headers, report);
        let mut seen: HashMap<String, &NamedField> = HashMap::new();
        for header in remote.headers.iter().take(MAX_HEADERS) {
            if !is_token(&header.name) {
                report_name(document, server, header, report);
                continue;
            }
            check_value(document, server, header, report);
            let lower = header.name.to_ascii_lowercase();
            if let Some(first) = seen.get(&lower) {
                report
                    .at(
                        &document.source,
                        header.name_span,
                        &header.value.pointer,
                        format!(
                            "header `{}` is given twice; case does not matter",
                            header.name
                        ),
                    )
                    .server(&server.name)
                    .related(
                        &document.source,
                        first.name_span,
                        &first.value.pointer,
                        "first given here",
                    )
                    .hint("keep one of the two");
            } else {
                seen.insert(lower, header);
            }
        }
    }
}

fn check_number(
    document: &Document,
    server: &DeclaredServer,
    headers: &[NamedField],
    report: &mut Report<'_>,
) {
    if let Some(header) = headers.get(MAX_HEADERS) {
        let message = format!("more than {MAX_HEADERS} headers");
        report
            .at(
                &document.source,
                header.name_span,
                &header.value.pointer,
                message,
            )
            .server(&server.name)
            .hint(format!("keep at most {MAX_HEADERS}"));
    }
}

/// Shows no more of a name than could be one: people paste `Authorization: Bearer …` as a key.
fn report_name(
    document: &Document,
    server: &DeclaredServer,
    header: &NamedField,
    report: &mut Report<'_>,
) {
    let is_part = |c: &char| is_token(c.encode_utf8(&mut [0; 4]));
    let start: String = header.name.chars().take_while(is_part).collect();
    let message = format!("`{start}…` is not a header name");
    let around = header.value.pointer.parent();
    report
        .at(&document.source, header.name_span, &around, message)
        .server(&server.name)
        .hint("use letters, digits and hyphens, without spaces or a colon");
}

fn check_value(
    document: &Document,
    server: &DeclaredServer,
    header: &NamedField,
    report: &mut Report<'_>,
) {
    let Some((fault, hint)) = fault_in(&header.value.template) else {
        return;
    };
    // Words in another script are an instruction, which `placeholder-credential` reports.
    let is_for_credentials = is_credential_header(&header.name);
    if placeholder::in_header(&header.value.template, is_for_credentials, None) {
        return;
    }
    let message = format!("the value of header `{}` {fault}", header.name);
    report
        .field(document, server, &header.value, message)
        .hint(hint);
}

/// What is wrong with the text outside variables, and what to do about it.
fn fault_in(template: &Template) -> Option<(&'static str, &'static str)> {
    let text = template.literal_text();
    if text.contains(char::is_control) {
        return Some((
            "has a control character",
            "a header is one line; remove line breaks and tabs",
        ));
    }
    if !text.is_ascii() {
        return Some((
            "has a character outside ASCII",
            "write it percent-encoded, if the server understands that",
        ));
    }
    (text.len() > MAX_VALUE_BYTES).then_some((
        "is longer than 8 KiB",
        "send less, or send it in the request",
    ))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "invalid-header";

    fn with(headers: &str) -> Plugin {
        entry(&format!(
            r#""type": "http", "url": "https://h.example", "headers": {{{headers}}}"#
        ))
    }

    #[test]
    fn ordinary_headers_are_left_alone() {
        let headers = r#""Authorization": "Bearer ${T}", "X-API-Key": "${K:-ü}", "X-Empty": """#;
        assert!(pointers(ID, &with(headers)).is_empty());
    }

    #[test]
    fn a_name_that_is_not_an_http_token_is_reported() {
        for name in ["X Key", "Authorization:", "", "Schlüssel"] {
            let found = pointers(ID, &with(&format!(r#""{name}": "x""#)));
            assert_eq!(found, ["/mcpServers/s/headers"]);
        }
    }

    #[test]
    fn a_credential_in_a_name_is_not_shown() {
        let found = findings(
            ID,
            &with(r#""Authorization: Bearer CANARY": "", "X": "\u0000""#),
        );
        assert_eq!(found.len(), 2);
        assert!(!format!("{found:?}").contains("CANARY"), "{found:?}");
    }

    #[test]
    fn names_that_differ_in_case_are_one_header() {
        let found = findings(ID, &with(r#""X-Key": "${A}", "x-key": "${B}""#));
        assert_eq!(found.len(), 1);
        assert!(found[0].related.is_some());
    }

    #[test]
    fn control_and_foreign_characters_are_reported_without_the_value() {
        for value in [r"CANARY\r\nX: y", r"CANARY\u0000", "CANARYä"] {
            let found = findings(ID, &with(&format!(r#""X-A": "{value}""#)));
            assert_eq!(found.len(), 1, "{value}");
            assert!(!found[0].message.contains("CANARY"));
        }
    }

    #[test]
    fn too_long_a_value_and_too_many_headers_are_reported() {
        let long = "a".repeat(8 * 1024 + 1);
        assert_eq!(pointers(ID, &with(&format!(r#""X-A": "{long}""#))).len(), 1);
        let mut many = String::from(r#""X": "1""#);
        for index in 0..128 {
            write!(many, r#", "X-{index}": "1""#).unwrap();
        }
        assert_eq!(pointers(ID, &with(&many)).len(), 1);
    }
}
