//! `literal-in-credential-place`: a literal stands in a header or variable that is for credentials,
//! though it hardly looks like one.

use keyway_code::Code;
use keyway_config::declared::Field;
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::is_copy;
use keyway_config::headers::is_credential_header;
use keyway_config::method::is_blank;
use keyway_config::placeholder;
use keyway_config::reference::{foreign_parts, lookalike};
use keyway_config::usage::{self, FieldRole};

use super::walk::{in_own_syntax, is_reported_as_secret, named};
use super::{Context, Report, Rule};
use crate::secrets::{self, goes_on, is_credential_name, names_header};

pub(super) const RULE: Rule = Rule {
    id: Code::LiteralInCredentialPlace,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: None,
    summary: "A header or variable for credentials holds a literal, however weak it looks",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        for (role, field) in usage::fields(server) {
            let is_found = match role {
                FieldRole::Header(name) => is_header(name, field),
                FieldRole::Env(name) => {
                    is_variable(name, field) && !is_copy(document.source.path())
                }
                _ => false,
            };
            if is_found && !is_reported_as_secret(context, document, field) {
                let message = format!("{} holds a literal where a credential belongs", named(role));
                report
                    .field(document, server, field, message)
                    .hint(in_own_syntax(document, role));
            }
        }
    }
}

fn is_header(name: &str, field: &Field) -> bool {
    let template = &field.template;
    let is_literal = template.is_literal() && !is_blank(name, template.as_str());
    let is_named = is_credential_header(name) && is_credential_name(name);
    is_literal && is_named && !is_told_elsewhere(field, true)
}

fn is_variable(name: &str, field: &Field) -> bool {
    let text = field.template.as_str().trim();
    let is_switch = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_place = text.contains("://")
        || text.starts_with(['/', '.', '~'])
        || text.contains('\\')
        || secrets::is_path(text);
    field.template.is_literal()
        && is_credential_name(name)
        && !names_header(name, text)
        && !(goes_on(name) && is_words(text))
        && !(text.is_empty() || is_switch || is_place || secrets::is_placeholder(text))
        && !is_told_elsewhere(field, false)
}

/// Says whether a value is nothing but words, such as `winter-party`.
fn is_words(text: &str) -> bool {
    let is_word = |word: &str| {
        let mut letters = word.bytes();
        letters
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_lowercase())
    };
    text.split(['-', '_', '.', ' ']).all(is_word)
}

/// Says whether another rule speaks of the value: it is a placeholder, or a reference.
fn is_told_elsewhere(field: &Field, in_header: bool) -> bool {
    let template = &field.template;
    in_header && placeholder::in_header(template, true, None)
        || lookalike(template).is_some()
        || !foreign_parts(template).is_empty()
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    const ID: &str = "literal-in-credential-place";

    #[test]
    fn weak_literals_are_reported_by_their_place() {
        for fields in [
            r#""url": "https://h.example", "headers": {"Authorization": "Bearer mytoken"}"#,
            r#""url": "https://h.example", "headers": {"X-API-Key": "abc123"}"#,
            r#""command": "x", "env": {"SEARCH_TOKEN": "acme-team"}"#,
            r#""command": "x", "env": {"API_KEY_ACME": "acme-team-7"}"#,
            r#""command": "x", "env": {"SECRET_SANTA": "4 reindeer"}"#,
        ] {
            assert_eq!(pointers(ID, &entry(fields)).len(), 1, "{fields}");
        }
    }

    #[test]
    fn references_placeholders_switches_and_places_are_not() {
        for fields in [
            r#""url": "https://h.example", "headers": {"Authorization": "Bearer ${T}", "X-Team": "acme"}"#,
            r#""url": "https://h.example", "headers": {"Authorization": "Bearer YOUR_TOKEN"}"#,
            r#""command": "x", "env": {"USE_TOKEN": "true", "API_KEY": "", "TOKEN_FILE": "/run/token"}"#,
            r#""command": "x", "env": {"A_TOKEN": "$A_TOKEN", "B_TOKEN": "changeme"}"#,
            r#""command": "x", "env": {"SECRET_SANTA": "winter-party", "TOKEN_RING_MODE": "Blue team"}"#,
            r#""command": "x", "env": {"VAULT_KEY": "secret/data/app#token", "API_KEY_HEADER": "X-Key"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }
}
