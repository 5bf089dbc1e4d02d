//! `literal-placeholder`: text that is not a credential stands where one belongs (seed rule 5.7.1).

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::headers::is_credential_header;
use keyway_config::method::is_blank;
use keyway_config::placeholder;
use keyway_config::reference::{foreign_parts, lookalike};
use keyway_config::usage::{self, FieldRole};

use super::walk::named;
use super::{Context, Report, Rule};
use crate::secrets::is_credential_name;

pub(super) const RULE: Rule = Rule {
    id: Code::LiteralPlaceholder,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A placeholder such as `YOUR_TOKEN` stands where a value belongs; any other literal in a credential's place is a warning",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        for (role, field) in usage::fields(server) {
            let Some(found) = finding(role, field) else {
                continue;
            };
            let is_told = || is_reported_as_secret(context, document, field);
            if matches!(found, Found::Literal) && is_told() {
                continue;
            }
            add(report, (document, server), (role, field), found);
        }
    }
}

/// What stands in the place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A placeholder; the entry does not resolve.
    Refused,
    /// A placeholder that a program gets.
    PassedOn,
    /// A literal that may be a credential or may be none.
    Literal,
}

fn finding(role: FieldRole<'_>, field: &Field) -> Option<Found> {
    let template = &field.template;
    match role {
        FieldRole::Header(name) => {
            let is_for_credentials = is_credential_header(name);
            if placeholder::in_header(template, is_for_credentials, None) {
                return Some(Found::Refused);
            }
            let is_literal = template.is_literal() && !is_blank(name, template.as_str());
            let is_named = is_for_credentials && is_credential_name(name);
            let is_reference = lookalike(template).is_some() || !foreign_parts(template).is_empty();
            (is_literal && is_named && !is_reference).then_some(Found::Literal)
        }
        FieldRole::Url => placeholder::in_address(template, None).then_some(Found::Refused),
        FieldRole::OAuth(_) => placeholder::in_oauth(template, None).then_some(Found::Refused),
        FieldRole::Env(name) if is_credential_name(name) => {
            let text = template.as_str().trim();
            (template.is_literal() && placeholder::is_placeholder(text)).then_some(Found::PassedOn)
        }
        FieldRole::Env(_)
        | FieldRole::Command
        | FieldRole::Argument(_)
        | FieldRole::Cwd
        | FieldRole::EnvFile => None,
    }
}

/// Says whether the scanner takes the value for a credential, which is worse.
fn is_reported_as_secret(context: &Context<'_>, document: &Document, field: &Field) -> bool {
    context
        .literals()
        .any(|(other, literal)| std::ptr::eq(other, document) && literal.string_span == field.span)
}

fn add(
    report: &mut Report<'_>,
    (document, server): (&Document, &DeclaredServer),
    (role, field): (FieldRole<'_>, &Field),
    found: Found,
) {
    let field_name = named(role);
    let severity = match (found, report.strict) {
        (Found::Refused, _) | (_, true) => Severity::Error,
        (Found::PassedOn | Found::Literal, false) => Severity::Warning,
    };
    let message = match found {
        Found::Refused => format!("{field_name} holds a placeholder, so nothing is sent"),
        Found::PassedOn => format!("{field_name} holds a placeholder"),
        Found::Literal => format!("{field_name} holds a literal where a credential belongs"),
    };
    report
        .field(document, server, field, message)
        .severity(severity)
        .hint("write a `${VARIABLE}` instead, which each person sets");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "literal-placeholder";

    fn header(name: &str, value: &str) -> Option<(Severity, String)> {
        let fields = format!(
            r#""type": "http", "url": "https://h.example", "headers": {{"{name}": "{value}"}}"#
        );
        let found = findings(ID, &entry(&fields));
        assert!(found.len() <= 1, "{value}");
        found
            .into_iter()
            .next()
            .map(|finding| (finding.severity, finding.message))
    }

    #[test]
    fn a_placeholder_in_a_header_is_an_error_since_nothing_is_sent() {
        for value in ["Bearer YOUR_API_KEY_HERE", "Bearer <token>", "Bearer xxx"] {
            let (severity, message) = header("Authorization", value).unwrap();
            assert_eq!(severity, Severity::Error, "{value}");
            assert_eq!(
                message,
                "header `Authorization` holds a placeholder, so nothing is sent"
            );
        }
        assert!(header("X-Tenant-ID", "<tenant>").is_some());
    }

    #[test]
    fn any_other_literal_in_a_credential_header_is_a_warning() {
        for (name, value) in [
            ("Authorization", "Bearer mytoken"),
            ("X-API-Key", "abc123"),
            ("X-API-Key", "test"),
        ] {
            let (severity, message) = header(name, value).unwrap();
            assert_eq!(severity, Severity::Warning, "{value}");
            assert!(message.contains("where a credential belongs"), "{message}");
        }
    }

    #[test]
    fn what_is_reported_elsewhere_or_is_no_credential_is_left_alone() {
        for (name, value) in [
            ("Authorization", "Bearer ${TOKEN}"),
            ("Authorization", "Bearer $TOKEN"),
            ("Authorization", "Bearer ${input:token}"),
            ("Authorization", "Bearer not-a-real-token-4711"),
            ("Authorization", "Bearer "),
            ("X-Tenant-ID", "acme"),
            ("X-Auth-Mode", "basic"),
            ("User-Agent", "text <b>"),
        ] {
            assert_eq!(header(name, value), None, "{name}: {value}");
        }
    }

    #[test]
    fn addresses_oauth_and_variables_for_credentials_are_looked_at_too() {
        for (fields, severity) in [
            (
                r#""type": "http", "url": "https://YOUR_TENANT.h.example/mcp""#,
                Severity::Error,
            ),
            (
                r#""type": "http", "url": "https://h.example", "oauth": {"clientId": "YOUR_CLIENT_ID"}"#,
                Severity::Error,
            ),
            (
                r#""command": "x", "env": {"API_TOKEN": "<your-token>"}"#,
                Severity::Warning,
            ),
        ] {
            let found = findings(ID, &entry(fields));
            assert_eq!(found.len(), 1, "{fields}");
            assert_eq!(found[0].severity, severity, "{fields}");
        }
        let harmless =
            r#""command": "x", "env": {"API_KEY": "ollama", "NAME": "<name>"}, "args": ["<path>"]"#;
        assert!(pointers(ID, &entry(harmless)).is_empty());
    }
}
