//! `insecure-url`: a server is reached without encryption (seed rule 5.7.3).

use std::ops::Range;

use keyway_code::Code;
use keyway_config::address::{Address, AddressError};
use keyway_config::declared::{DeclaredServer, Endpoint, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::template::{Part, Template};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InsecureUrl,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Unsafe),
    summary: "A server is reached over plain `http` or `ws`; on this machine itself a warning",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let template = &remote.url.template;
        match Address::check(template, server.transport) {
            Err(AddressError::Insecure) if listens(template).is_some() => {
                report_listening(document, server, &remote.url, report);
            }
            Err(AddressError::Insecure) => {
                let finding = report.field(
                    document,
                    server,
                    &remote.url,
                    "the server is reached without encryption",
                );
                let scheme = match template.parts().first() {
                    Some(Part::Literal { text, .. }) if text.starts_with("http:") => "http",
                    Some(Part::Literal { text, .. }) if text.starts_with("ws:") => "ws",
                    _ => {
                        finding.hint("use an `https://` or `wss://` address");
                        continue;
                    }
                };
                let end = remote.url.span_of(&document.source, &(0..scheme.len()));
                let edits = vec![Edit::replace(&document.source, end, format!("{scheme}s"))];
                let title = format!("use `{scheme}s://`");
                finding
                    .hint(title.clone())
                    .fix(Applicability::Unsafe, title, edits);
            }
            // A project's file is for the machine of who works on it; a plugin is for other people.
            Ok(Some(address))
                if is_plain(address.origin())
                    && (context.plugin.has_manifest() || context.strict || context.pedantic) =>
            {
                let severity = if context.strict {
                    Severity::Error
                } else {
                    Severity::Warning
                };
                report
                    .field(
                        document,
                        server,
                        &remote.url,
                        "plain `http` or `ws`, though only to this machine",
                    )
                    .severity(severity)
                    .hint("fine while developing; a published plugin needs `https` or `wss`");
            }
            _ => {}
        }
    }
}

/// Where `0.0.0.0` stands in an address: a server listens there, and is reached as `127.0.0.1`.
fn listens(template: &Template) -> Option<Range<usize>> {
    let text = template.as_str();
    let start = text.find("://")? + 3;
    let behind = text.get(start..)?.strip_prefix(EVERY_ADDRESS)?;
    let is_host = behind.is_empty() || behind.starts_with([':', '/', '?']);
    is_host.then(|| start..start + EVERY_ADDRESS.len())
}

/// A host may reach it, on this machine; Keyway does not, since elsewhere it is no address at all.
fn report_listening(
    document: &Document,
    server: &DeclaredServer,
    url: &Field,
    report: &mut Report<'_>,
) {
    let Some(range) = listens(&url.template) else {
        return;
    };
    let severity = if document.dialect.is_contract() {
        Severity::Error
    } else {
        Severity::Warning
    };
    let title = "use `127.0.0.1`";
    let span = url.span_of(&document.source, &range);
    let edits = vec![Edit::replace(&document.source, span, "127.0.0.1")];
    report
        .field(
            document,
            server,
            url,
            "`0.0.0.0` is where a server listens, not an address to reach it at",
        )
        .severity(severity)
        .hint(title)
        .fix(Applicability::Unsafe, title.to_owned(), edits);
}

const EVERY_ADDRESS: &str = "0.0.0.0";

fn is_plain(origin: &str) -> bool {
    origin.starts_with("http:") || origin.starts_with("ws:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::{entry, findings, fixed};

    fn severity(kind: &str, url: &str) -> Option<Severity> {
        let plugin = entry(&format!(r#""type": "{kind}", "url": "{url}""#));
        findings("insecure-url", &plugin)
            .first()
            .map(|finding| finding.severity)
    }

    #[test]
    fn plain_http_is_an_error_elsewhere_and_a_warning_on_this_machine() {
        assert_eq!(
            severity("http", "http://h.example/mcp"),
            Some(Severity::Error)
        );
        assert_eq!(severity("ws", "ws://h.example/mcp"), Some(Severity::Error));
        assert_eq!(
            severity("http", "http://${T}.h.example/mcp"),
            Some(Severity::Error)
        );
        assert_eq!(
            severity("http", "http://localhost:3000/mcp"),
            Some(Severity::Warning)
        );
        assert_eq!(
            severity("http", "${BASE:-http://localhost:80}/mcp"),
            Some(Severity::Warning)
        );
        assert_eq!(severity("http", "https://h.example/mcp"), None);
        assert_eq!(severity("ws", "wss://h.example/mcp"), None);
    }

    #[test]
    fn host_that_only_looks_like_loopback_is_reported() {
        for host in [
            "localhost.attacker.example",
            "127.0.0.1.attacker.example",
            "localhost.",
        ] {
            assert_eq!(
                severity("http", &format!("http://{host}/")),
                Some(Severity::Error),
                "{host}"
            );
        }
    }

    #[test]
    fn where_a_server_listens_is_told_from_where_it_is_reached() {
        let text = r#"{"servers": {"s": {"type": "sse", "url": "http://0.0.0.0:7071/sse"}}}"#;
        let plugin = keyway_config::plugin::Plugin::from_text("/p", ".vscode/mcp.json", text);
        let found = findings("insecure-url", &plugin);
        assert_eq!(
            found[0].severity,
            Severity::Warning,
            "the editor reaches it"
        );
        assert!(found[0].message.contains("listens"), "{}", found[0].message);
        let edit = &found[0].fix.as_ref().unwrap().edits[0];
        assert_eq!(edit.replacement, "127.0.0.1");
        assert_eq!(&text[edit.span.range()], "0.0.0.0");
        assert_eq!(
            severity("http", "http://0.0.0.0/mcp"),
            Some(Severity::Error)
        );
        for host in ["0.0.0.0.attacker.example", "10.0.0.0"] {
            let found = findings(
                "insecure-url",
                &entry(&format!(r#""type": "http", "url": "http://{host}/""#)),
            );
            assert!(!found[0].message.contains("listens"), "{host}");
        }
    }

    #[test]
    fn the_fix_changes_only_the_scheme() {
        assert_eq!(
            fixed(
                "insecure-url",
                r#"{"s": {"type": "http", "url": "http://h.example/${P}"}}"#
            ),
            r#"{"s": {"type": "http", "url": "https://h.example/${P}"}}"#
        );
    }
}
