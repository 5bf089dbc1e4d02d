//! `wrong-header-format`: an `Authorization` that no server understands: a bare token, a doubled
//! scheme, or the wrong one.

mod verdict;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};

use self::verdict::{Change, Verdict, judge};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::WrongHeaderFormat,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: Some(Applicability::Unsafe),
    summary: "`Authorization` is not `Scheme credential`: a bare token, or a doubled scheme",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        for header in &remote.headers {
            if !header.name.eq_ignore_ascii_case("authorization") {
                continue;
            }
            if let Some(verdict) = judge(&header.value.template) {
                add(document, server, &header.value, verdict, report);
            }
        }
    }
}

fn add(
    document: &Document,
    server: &DeclaredServer,
    field: &Field,
    verdict: Verdict,
    report: &mut Report<'_>,
) {
    let finding = report
        .field(document, server, field, verdict.message)
        .hint(verdict.hint);
    // A bare number has no quotes to write into.
    let is_quoted = document.source.slice(field.span).starts_with('"');
    let change = verdict.change.filter(|_| is_quoted);
    if let Some(Change {
        range,
        text,
        applicability,
    }) = change
    {
        let span = field.span_of(&document.source, &range);
        let edit = Edit::replace(&document.source, span, text);
        finding.fix(applicability, verdict.hint, vec![edit]);
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::edit::Applicability;
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, fixed, pointers};

    const ID: &str = "wrong-header-format";

    fn with(value: &str) -> Plugin {
        entry(&format!(
            r#""type": "http", "url": "https://h.example", "headers": {{"Authorization": "{value}"}}"#
        ))
    }

    #[test]
    fn every_scheme_followed_by_a_credential_is_fine() {
        for value in [
            "Bearer ${API_TOKEN}",
            "bearer ${API_TOKEN}",
            "Basic ${BASE64_CREDENTIALS}",
            "Token ${T}",
            "ApiKey ${K}",
            "AWS4-HMAC-SHA256 Credential=${A}, SignedHeaders=host, Signature=${S}",
            "Digest username=\\\"u\\\"",
            "DPoP ${T}",
            "${SCHEME} ${TOKEN}",
            "${AUTHORIZATION}",
            "${MY_AUTH_HEADER}",
            "Bearer ${TOKEN:-a b}",
            "",
        ] {
            assert!(pointers(ID, &with(value)).is_empty(), "{value}");
        }
    }

    #[test]
    fn other_headers_and_transports_are_left_alone() {
        for fields in [
            r#""url": "https://h.example", "headers": {"X-API-Key": "${API_TOKEN}"}"#,
            r#""command": "node", "env": {"Authorization": "${API_TOKEN}"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn each_fix_writes_what_was_meant() {
        use Applicability::Unsafe;
        for (value, expected, applicability) in [
            ("${API_TOKEN}", "Bearer ${API_TOKEN}", Unsafe),
            ("abcdef0123456789", "Bearer abcdef0123456789", Unsafe),
            ("Bearer Bearer ${X}", "Bearer ${X}", Unsafe),
            ("Bearer bearer Bearer ${X}", "Bearer ${X}", Unsafe),
            ("Basic Basic ${X}", "Basic ${X}", Unsafe),
            ("bearer${X}", "Bearer ${X}", Unsafe),
            ("Bearer:${X}", "Bearer ${X}", Unsafe),
            ("Bearer: ${X}", "Bearer ${X}", Unsafe),
            ("Basic: ${X}", "Basic ${X}", Unsafe),
            ("Authorization: Bearer ${X}", "Bearer ${X}", Unsafe),
            (
                "Bearer ${BASE64_CREDENTIALS}",
                "Basic ${BASE64_CREDENTIALS}",
                Unsafe,
            ),
            (
                "Bearer dXNlcjpwYXNzd29yZA==",
                "Basic dXNlcjpwYXNzd29yZA==",
                Unsafe,
            ),
            ("${BASIC_AUTH}", "Basic ${BASIC_AUTH}", Unsafe),
            ("Bearer Basic ${X}", "Basic ${X}", Unsafe),
        ] {
            let text = |value: &str| {
                format!(
                    r#"{{"s": {{"type": "http", "url": "https://h.example", "headers": {{"Authorization": "{value}"}}}}}}"#
                )
            };
            assert_eq!(fixed(ID, &text(value)), text(expected));
            let found = findings(ID, &with(value));
            assert_eq!(
                found[0].fix.as_ref().unwrap().applicability,
                applicability,
                "{value}"
            );
        }
    }

    #[test]
    fn what_cannot_be_mended_is_reported_without_a_fix() {
        let number = entry(r#""url": "https://h.example", "headers": {"Authorization": 4711}"#);
        assert!(
            findings(ID, &number)
                .iter()
                .all(|found| found.fix.is_none())
        );
        for value in ["Basic ${USER}:${PASS}", "token=${X}", "Bearer "] {
            let found = findings(ID, &with(value));
            assert_eq!(found.len(), 1, "{value}");
            assert!(found[0].fix.is_none(), "{value}");
        }
    }

    #[test]
    fn the_message_holds_nothing_of_a_literal_token() {
        for value in [
            "CANARY0123456789",
            "Bearer Bearer CANARY0123",
            "CANARY:0123456",
        ] {
            let found = findings(ID, &with(value));
            let shown = format!("{}{:?}", found[0].message, found[0].hint);
            assert!(!shown.contains("CANARY"), "{shown}");
        }
    }
}
