//! `insecure-url`: a server is reached without encryption (seed rule 5.7.3).

use keyway_code::Code;
use keyway_config::address::{Address, AddressError};
use keyway_config::declared::Endpoint;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::template::Part;

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
