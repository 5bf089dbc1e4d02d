//! `credential-in-url`: an address carries a credential, and addresses are logged everywhere.

use std::ops::Range;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::template::{MASK, Template};

use super::{Context, Report, Rule};
use crate::secrets::{self, Position, is_credential_name, is_placeholder};

pub(super) const RULE: Rule = Rule {
    id: Code::CredentialInUrl,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "An address carries a credential in its query, or user info (then an error)",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let masked = remote.url.template.masked();
        if let Some(range) = user_info(&masked) {
            let message = "the address carries user info in front of the host";
            add(document, server, &remote.url, (range, message), report).severity(Severity::Error);
        }
        let template = &remote.url.template;
        let literals = secrets::find(template.as_str(), Position::Url);
        for parameter in parameters(&masked) {
            let is_literal = literals
                .iter()
                .any(|literal| parameter.value.contains(&literal.range.start));
            if !is_literal && !asks_for_credential(template, &masked, &parameter) {
                continue;
            }
            let name = masked.get(parameter.name.clone()).unwrap_or_default();
            let name = keyway_secret::printable(name);
            let message = format!("query parameter `{name}` carries a credential");
            add(
                document,
                server,
                &remote.url,
                (parameter.name, &message),
                report,
            );
        }
    }
}

fn add<'a>(
    document: &Document,
    server: &DeclaredServer,
    field: &Field,
    (range, message): (Range<usize>, &str),
    report: &'a mut Report<'_>,
) -> super::Finding<'a> {
    let span = field.span_of(&document.source, &range);
    report
        .at(&document.source, span, &field.pointer, message)
        .server(&server.name)
        .hint("send it in a header, such as `Authorization: Bearer ${API_TOKEN}`; addresses end up in logs")
}

/// Where `user:password@` stands.
fn user_info(masked: &str) -> Option<Range<usize>> {
    let start = masked.find("://")? + "://".len();
    let rest = masked.get(start..)?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let length = authority.rfind('@')?;
    Some(start..start + length)
}

/// One `name=value` of a query.
struct Parameter {
    name: Range<usize>,
    value: Range<usize>,
}

fn parameters(masked: &str) -> Vec<Parameter> {
    let address = masked.split('#').next().unwrap_or_default();
    let Some((before, query)) = address.split_once('?') else {
        return Vec::new();
    };
    let mut at = before.len() + 1;
    let mut parameters = Vec::new();
    for pair in query.split(['&', ';']).take(MOST_PARAMETERS) {
        if let Some((name, _)) = pair.split_once('=') {
            let end = at + pair.len();
            parameters.push(Parameter {
                name: at..at + name.len(),
                value: at + name.len() + 1..end,
            });
        }
        at += pair.len() + 1;
    }
    parameters
}

/// Says whether the parameter is there to carry a credential: a variable, or a placeholder.
fn asks_for_credential(template: &Template, masked: &str, parameter: &Parameter) -> bool {
    let Parameter { name, value } = parameter;
    let text = masked.get(value.clone()).unwrap_or_default();
    let is_named = is_credential_name(masked.get(name.clone()).unwrap_or_default());
    if text.contains(MASK) {
        let mut variables = template
            .variables()
            .filter(|variable| value.contains(&variable.range.start));
        return is_named || variables.any(|variable| is_credential_name(&variable.name));
    }
    // A plain word such as `oauth` selects something; it does not ask to be replaced.
    let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase());
    is_named && !is_word && is_placeholder(text)
}

/// How many parameters are looked at; no address has that many.
const MOST_PARAMETERS: usize = 256;

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;

    use crate::rules::fixture::{entry, findings};

    fn found(url: &str) -> Vec<(Severity, String)> {
        let fields = format!(r#""type": "http", "url": "{url}""#);
        let found = findings("credential-in-url", &entry(&fields));
        found.into_iter().map(|d| (d.severity, d.message)).collect()
    }

    #[test]
    fn user_info_is_an_error_and_is_not_printed() {
        for url in [
            "https://user:CANARY@h.example/mcp",
            "https://${USER}:${PASS}@h.example",
            "https://${API_TOKEN}@h.example?x=1",
        ] {
            let found = found(url);
            assert_eq!(found.len(), 1, "{url}");
            assert_eq!(found[0].0, Severity::Error);
            assert!(!found[0].1.contains("CANARY"));
        }
    }

    #[test]
    fn credentials_in_the_query_are_a_warning() {
        for (url, name) in [
            ("https://h.example/mcp?api_key=${KEY}", "api_key"),
            ("https://h.example/mcp?a=1&token=${T}#f", "token"),
            ("https://h.example/mcp?k=${API_KEY}", "k"),
            (
                "https://h.example/mcp?api_key=not-a-real-token-4711",
                "api_key",
            ),
            ("https://h.example/mcp?api_key=YOUR_API_KEY", "api_key"),
        ] {
            let expected = format!("query parameter `{name}` carries a credential");
            assert_eq!(found(url), [(Severity::Warning, expected)], "{url}");
        }
    }

    #[test]
    fn text_inside_a_reference_is_not_parsed_as_a_url() {
        for url in [
            "${BASE:-https://h.example/?token=}/mcp",
            "https://${TENANT_ID:-a@b?c}.h.example/mcp",
            "https://h.example/${A:-?token=x}",
        ] {
            assert!(found(url).is_empty(), "{url}");
        }
    }

    #[test]
    fn ordinary_queries_and_tenant_hosts_are_left_alone() {
        for url in [
            "https://${TENANT_ID}.h.example/mcp",
            "https://h.example/mcp?workspace=${WORKSPACE_ID}&tools=a,b",
            "https://h.example/@scope/mcp",
            "https://h.example/mcp?auth=oauth",
            "https://h.example/mcp?api_key=",
            "",
        ] {
            assert!(found(url).is_empty(), "{url}");
        }
    }
}
