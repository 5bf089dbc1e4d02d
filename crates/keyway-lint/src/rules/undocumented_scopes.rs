//! `undocumented-scopes`: a server asks for consent, and the README does not say to what.

use keyway_code::Code;
use keyway_config::declared::Endpoint;
use keyway_config::diagnostic::Severity;
use keyway_config::method::Method;

use super::walk::contract_servers;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UndocumentedScopes,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "A server is used through OAuth, and the README names no permission",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let Some(readme) = &context.plugin.snapshot.readme else {
        return;
    };
    if names_permissions(readme.text()) {
        return;
    }
    for (document, server) in contract_servers(context.plugin) {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let is_configured = !remote.url.template.as_str().trim().is_empty();
        if is_configured && Method::declared(server) == Method::OAuth {
            let message = format!(
                "`{}` does not say which permissions are needed",
                context.plugin.name_below(readme.path())
            );
            report
                .field(document, server, &remote.url, message)
                .hint("list the scopes or permissions in the README; `keyway readme --write` makes the section");
        }
    }
}

fn names_permissions(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.starts_with("scope") || word.starts_with("permission"))
}

#[cfg(test)]
mod tests {
    use keyway_config::source::Source;

    use crate::rules::fixture::{entry, pointers};

    fn found(readme: &str, fields: &str) -> usize {
        let mut plugin = entry(fields);
        plugin.snapshot.readme = Some(Source::new("README.md", readme.as_bytes()));
        pointers("undocumented-scopes", &plugin).len()
    }

    const OAUTH: &str = r#""type": "http", "url": "https://h.example/mcp""#;

    #[test]
    fn a_readme_without_a_word_about_permissions_is_mentioned() {
        assert_eq!(
            found("# Plugin\n\nLook at the stars with a telescope.", OAUTH),
            1
        );
        assert_eq!(found("## Permissions\n\nread", OAUTH), 0);
        assert_eq!(found("Scopes: `read:issues`", OAUTH), 0);
    }

    #[test]
    fn entries_without_sign_in_are_left_alone() {
        for fields in [
            r#""type": "http", "url": "https://h.example", "headers": {"X-API-Key": "${K}"}"#,
            r#""type": "http", "url": "https://h.example", "headersHelper": "./h.sh""#,
            r#""type": "http", "url": "https://h.example", "oauth": false"#,
            r#""type": "http", "url": """#,
            r#""type": "ws", "url": "wss://h.example""#,
            r#""command": "node""#,
        ] {
            assert_eq!(found("# Plugin", fields), 0, "{fields}");
        }
    }
}
