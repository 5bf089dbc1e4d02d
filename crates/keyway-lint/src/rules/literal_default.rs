//! `literal-default`: the default of a variable is a credential.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;

use super::literal_secret::name_of;
use super::{Context, Report, Rule};
use crate::secrets::Reason;

pub(super) const RULE: Rule = Rule {
    id: Code::LiteralDefault,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "The default in `${VAR:-default}` is a token, key or password",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, literal) in context.literals() {
        let name = literal.default_of.as_deref();
        if literal.finding.reason != Reason::Default && name.is_none() {
            continue;
        }
        let what = name_of(literal.finding.vendor);
        let of = name.map_or_else(|| "a variable".to_owned(), |name| format!("`{name}`"));
        let message = format!(
            "the default of {of} is a literal {what} (`{}`)",
            literal.hint
        );
        let finding = report
            .at(&document.source, literal.span, &literal.pointer, message)
            .hint(format!(
                "remove the default, set {of} instead, and rotate the value, since it was written down"
            ));
        if let Some(server) = &literal.server {
            finding.server(server);
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "literal-default";

    fn with(value: &str) -> Plugin {
        entry(&format!(
            r#""command": "x", "env": {{"API_TOKEN": "{value}"}}"#
        ))
    }

    #[test]
    fn a_credential_as_default_is_reported_here_and_nowhere_else() {
        let plugin = with("${API_TOKEN:-not-a-real-token-4711}");
        let found = findings(ID, &plugin);
        assert_eq!(
            found[0].message,
            "the default of `API_TOKEN` is a literal credential (`not-…`)"
        );
        assert!(pointers("literal-secret", &plugin).is_empty());
    }

    /// A token that is known by its shape is one whatever holds it.
    #[test]
    fn a_token_as_default_is_found_in_every_place() {
        let token = ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat();
        for fields in [
            r#""type": "http", "url": "https://h.example/mcp", "headers": {"X-A": "${TK:-TOKEN}"}"#,
            r#""type": "http", "url": "https://h.example/${P:-TOKEN}""#,
            r#""command": "x", "env": {"REGION": "${REGION:-TOKEN}"}"#,
            r#""command": "x", "args": ["--u=${U:-TOKEN}"]"#,
        ] {
            let plugin = entry(&fields.replace("TOKEN", &token));
            assert_eq!(pointers(ID, &plugin).len(), 1, "{fields}");
        }
    }

    #[test]
    fn harmless_defaults_are_left_alone() {
        for value in [
            "${API_TOKEN:-}",
            "${API_TOKEN}",
            "${API_TOKEN:-your-token-here}",
        ] {
            assert!(pointers(ID, &with(value)).is_empty(), "{value}");
        }
        for fields in [
            r#""command": "x", "env": {"PORT": "${PORT:-8080}", "MODE": "${MODE:-production}"}"#,
            r#""type": "http", "url": "${API_BASE_URL:-https://api.example.com}/mcp""#,
            r#""command": "x", "args": ["--key-file", "${KEY_FILE:-~/.ssh/id_rsa}"]"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }
}
