//! `placeholder-credential`: text that only marks the place of a credential stands in it.

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::is_copy;
use keyway_config::document::Document;
use keyway_config::headers::is_credential_header;
use keyway_config::placeholder;
use keyway_config::reference::lookalike;
use keyway_config::usage::{self, FieldRole};

use super::walk::{credential_flag, in_own_syntax, is_reported_as_secret, is_sample, named};
use super::{Context, Report, Rule};
use crate::secrets::{self, is_credential_name, is_credential_parameter, names_header};

pub(super) const RULE: Rule = Rule {
    id: Code::PlaceholderCredential,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A placeholder such as `YOUR_TOKEN` is in the place of a credential",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        // A file that others copy and fill in is made of placeholders.
        if is_copy(document.source.path()) {
            continue;
        }
        let fields = usage::fields(server);
        for (place, (role, field)) in fields.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|before| fields.get(before));
            let flag = before.map(|(_, field)| field.template.as_str());
            // One value is one finding, and the worse one; an address may hold two values.
            let is_told = |_: &Found| {
                *role != FieldRole::Url && is_reported_as_secret(context, document, field)
            };
            if let Some(found) = finding(*role, field, flag).filter(|found| !is_told(found)) {
                add(report, (document, server), (*role, field), found);
            }
        }
    }
}

/// What becomes of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The entry does not resolve.
    Refused,
    /// A program gets it.
    PassedOn,
    /// A program gets it in a place that may be for something else, or in the address of a database,
    /// where a word is often the real password of a server on this machine.
    Maybe,
}

fn finding(role: FieldRole<'_>, field: &Field, before: Option<&str>) -> Option<Found> {
    let template = &field.template;
    let text = template.as_str();
    // A reference in another syntax is what `foreign-variable-syntax` reports.
    if lookalike(template).is_some() {
        return None;
    }
    let is_stock = |text: &str| {
        let text = text.trim();
        !text.is_empty() && template.is_literal() && secrets::is_placeholder(text)
    };
    match role {
        FieldRole::Header(name) => {
            let is_for_credentials = is_credential_header(name);
            placeholder::in_header(template, is_for_credentials, None).then_some(Found::Refused)
        }
        FieldRole::Url if placeholder::in_address(template, None) => Some(Found::Refused),
        FieldRole::Url => {
            let query = text.split_once('?').map_or("", |(_, query)| query);
            let mut pairs = query
                .split(['&', '#'])
                .filter_map(|pair| pair.split_once('='));
            let is_filled_in =
                |(name, value): (&str, &str)| is_credential_parameter(name) && is_stock(value);
            pairs.any(is_filled_in).then_some(Found::PassedOn)
        }
        FieldRole::OAuth(_) => placeholder::in_oauth(template, None).then_some(Found::Refused),
        FieldRole::Env(name) => {
            let is_filled_in = is_stock(text) && !names_header(name, text);
            match is_credential_name(name) && is_filled_in {
                true => Some(Found::PassedOn),
                false => password(text).is_some_and(is_stock).then_some(Found::Maybe),
            }
        }
        FieldRole::Argument(_) => {
            let value = match (text.strip_prefix("--"), before) {
                (Some(flag), _) => {
                    let (name, value) = flag.split_once('=')?;
                    value.get(..).filter(|_| is_credential_name(name))?
                }
                (None, Some(before)) if credential_flag(before) => text,
                (None, _) => {
                    let marked = text.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
                    let is_marked = marked.is_some_and(is_credential_name);
                    let is_filled_in = is_marked || password(text).is_some_and(is_stock);
                    return is_filled_in.then_some(Found::Maybe);
                }
            };
            is_stock(value).then_some(Found::PassedOn)
        }
        FieldRole::Command | FieldRole::Cwd | FieldRole::EnvFile => None,
    }
}

/// Returns the password in an address such as `postgresql://user:password@host/db`.
fn password(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user_info, _) = authority.rsplit_once('@')?;
    Some(user_info.split_once(':')?.1)
}

fn add(
    report: &mut Report<'_>,
    (document, server): (&Document, &DeclaredServer),
    (role, field): (FieldRole<'_>, &Field),
    found: Found,
) {
    let field_name = named(role);
    // Nothing else can stand there in a sample.
    let is_sample = found != Found::Refused && !report.strict && is_sample(document, role);
    if is_sample && !report.pedantic {
        return;
    }
    let (message, severity) = match (found, report.strict) {
        (Found::Refused, _) => (
            format!("{field_name} holds a placeholder, so nothing is sent"),
            Severity::Error,
        ),
        (found, strict) => {
            let severity = match (found, strict) {
                _ if is_sample => Severity::Info,
                (Found::PassedOn, true) => Severity::Error,
                (Found::PassedOn, false) | (_, true) => Severity::Warning,
                (_, false) => Severity::Info,
            };
            (format!("{field_name} holds a placeholder"), severity)
        }
    };
    report
        .field(document, server, field, message)
        .severity(severity)
        .hint(in_own_syntax(document, role));
}

#[cfg(test)]
mod tests {
    use keyway_code::Code;
    use keyway_config::diagnostic::Severity;
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, pointers};
    use crate::rules::{Context, lint};

    const ID: &str = "placeholder-credential";

    #[test]
    fn a_sample_of_a_host_without_variables_is_made_of_placeholders() {
        let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"API_KEY": "YOUR_API_KEY"}}}}"#;
        let found = |path: &str, is_pedantic: bool| -> Vec<Severity> {
            let plugin = Plugin::from_text("/p", path, text);
            let found = lint(&Context::new(&plugin).pedantic(is_pedantic)).into_iter();
            let found = found.filter(|it| it.code == Code::PlaceholderCredential);
            found.map(|it| it.severity).collect()
        };
        for path in [
            "claude_desktop_config.json",
            "configs/claude_desktop_config.json",
        ] {
            assert!(found(path, false).is_empty(), "{path}");
            assert_eq!(found(path, true), [Severity::Info], "{path}");
        }
        // In the place where its host reads it the program gets the placeholder, and other hosts
        // have a way to leave the value open.
        for path in [
            "Library/Application Support/Claude/claude_desktop_config.json",
            "cline_mcp_settings.json",
            ".cursor/mcp.json",
        ] {
            assert_eq!(found(path, false), [Severity::Warning], "{path}");
        }
    }

    #[test]
    fn it_is_an_error_where_it_would_be_sent_and_a_warning_for_a_program() {
        for (fields, severity) in [
            (
                r#""url": "https://h.example", "headers": {"Authorization": "Bearer YOUR_API_KEY"}"#,
                Severity::Error,
            ),
            (
                r#""url": "https://YOUR_TENANT.h.example/mcp""#,
                Severity::Error,
            ),
            (
                r#""url": "https://h.example", "headers": {"Authorization": "Bearer 你的密钥"}"#,
                Severity::Error,
            ),
            (
                r#""url": "https://h.example/mcp?profile=a&api_key=sk-...""#,
                Severity::Warning,
            ),
            (
                r#""url": "https://h.example", "oauth": {"clientId": "<client id>"}"#,
                Severity::Error,
            ),
            (
                r#""command": "x", "env": {"API_KEY": "your-api-key-here"}"#,
                Severity::Warning,
            ),
            (
                r#""command": "x", "env": {"DB_PASSWORD": "changeme"}"#,
                Severity::Warning,
            ),
            (
                r#""command": "x", "args": ["--api-key", "YOUR_API_KEY"]"#,
                Severity::Warning,
            ),
            (
                r#""command": "x", "args": ["--token=<token>"]"#,
                Severity::Warning,
            ),
            (
                r#""command": "x", "args": ["<your-github-pat>"]"#,
                Severity::Info,
            ),
            (
                r#""command": "x", "args": ["postgresql://user:password@h.example/db"]"#,
                Severity::Info,
            ),
            (
                r#""command": "x", "env": {"DATABASE_URL": "mysql://u:<password>@h.example"}"#,
                Severity::Info,
            ),
        ] {
            let found = findings(ID, &entry(fields));
            assert_eq!(found.len(), 1, "{fields}");
            assert_eq!(found[0].severity, severity, "{fields}");
        }
    }

    /// A vendor's shape is a credential whatever stands in it, and then nothing but that.
    #[test]
    fn one_value_is_reported_once() {
        let random = ["A7f3K9x2Qm5Wz8Rt", "1Yb6Lc4Nd0Ve0aHjPs2u"].concat();
        let values = [
            format!("ghp_{random}"),
            format!("ghp_{}", "x".repeat(36)),
            format!("your-{random}"),
            format!("{random}-here"),
            format!("sk-proj-{random}{random}-xxx"),
            format!("YOUR_TOKEN {random}"),
            format!("<token> {random}"),
            "YOUR_API_KEY".to_owned(),
            "changeme".to_owned(),
            "sk-xxxx".to_owned(),
            "hunter2".to_owned(),
        ];
        let mut secrets = 0;
        for value in values {
            for fields in [
                format!(
                    r#""type": "http", "url": "https://h.example", "headers": {{"Authorization": "Bearer {value}"}}"#
                ),
                format!(
                    r#""type": "http", "url": "https://h.example", "headers": {{"X-API-Key": "{value}"}}"#
                ),
                format!(r#""command": "x", "env": {{"API_KEY": "{value}"}}"#),
                format!(r#""command": "x", "args": ["--api-key", "{value}"]"#),
                format!(
                    r#""type": "http", "url": "https://h.example", "oauth": {{"clientId": "c", "clientSecret": "{value}"}}"#
                ),
            ] {
                let found = lint(&Context::new(&entry(&fields)));
                let of_value: Vec<_> = found
                    .iter()
                    .map(|it| it.code.as_str())
                    .filter(|code| {
                        [
                            "literal-secret",
                            "placeholder-credential",
                            "literal-in-credential-place",
                        ]
                        .contains(code)
                    })
                    .collect();
                assert!(of_value.len() <= 1, "{fields}: {of_value:?}");
                secrets += usize::from(of_value == ["literal-secret"]);
            }
        }
        assert!(secrets > 10, "{secrets}");
    }

    #[test]
    fn references_words_and_empty_values_are_left_alone() {
        for fields in [
            r#""command": "x", "env": {"API_KEY": "${API_KEY}", "A_TOKEN": "", "MODE": "your-mode"}"#,
            r#""command": "x", "args": ["--api-key", "${API_KEY}", "--name", "YOUR_NAME"]"#,
            r#""url": "https://your-team.example/mcp", "headers": {"X-Team": "acme"}"#,
            r#""command": "x", "env": {"API_KEY_HEADER": "X-Api-Key"}"#,
            r#""command": "x", "args": ["<folder>", "https://h.example/@scope:1"]"#,
            r#""command": "x", "env": {"DATABASE_URL": "postgresql://u:${DB_PASSWORD}@h.example"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn a_file_to_copy_and_fill_in_may_have_them_and_a_hint_is_the_hosts_own() {
        let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"API_KEY": "YOUR_API_KEY"}}}}"#;
        let plugin = Plugin::from_text("/plugin", ".mcp.json.example", text);
        assert!(findings(ID, &plugin).is_empty());
        let plugin = Plugin::from_text("/plugin", ".cursor/mcp.json", text);
        let hint = findings(ID, &plugin)[0].hint.clone().unwrap();
        assert!(hint.contains("`${env:API_KEY}`"), "{hint}");
    }
}
