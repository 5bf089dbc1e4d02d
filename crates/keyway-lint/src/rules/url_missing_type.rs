//! `url-missing-type`: an entry has `url` but no `type`, so the transport has to be guessed.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, TypeOrigin};
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::{HostFieldRole, Untyped};
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::quote;
use keyway_config::source::Span;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UrlMissingType,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: Some(Applicability::Safe),
    summary: "A remote entry has no `type`; hosts guess differently",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let dialect = document.dialect;
        if server.type_origin != TypeOrigin::FromUrl || dialect.untyped != Untyped::Refused {
            continue;
        }
        // A host without any word for it does not take addresses at all.
        let words = dialect.types.iter();
        let mut own = words.filter(|(_, transport)| *transport == server.transport);
        let word = own.next().map(|(word, _)| *word);
        let Some(transport) = word.filter(|_| dialect.key(HostFieldRole::Type).is_some()) else {
            continue;
        };
        let start = server.span.start + 1;
        let source = &document.source;
        let text = source.slice(Span::between(start, server.span.end));
        let layout: String = text.chars().take_while(|c| c.is_whitespace()).collect();
        let inserted = format!("{layout}\"type\": {},", quote(transport));
        let edits = vec![Edit::replace(source, Span::between(start, start), inserted)];
        // A file that no host's name is on is read by many, of which some guess.
        let (message, severity) = if document.is_of_contract_host() {
            let message = format!(
                "no `type`, so {} skips the entry; Keyway takes it to be `{transport}`",
                dialect.name
            );
            (message, Some(Severity::Error))
        } else if dialect.is_contract() {
            let message = format!("no `type`; taken to be `{transport}`");
            (message, None)
        } else {
            let message = format!("no `type`, so {} refuses the entry", dialect.name);
            (message, Some(Severity::Error))
        };
        let finding = report.field(document, server, &remote.url, message);
        let finding = match severity {
            Some(severity) => finding.severity(severity),
            None => finding,
        };
        finding
            .hint(format!("add `\"type\": \"{transport}\"`"))
            .fix(
                Applicability::Safe,
                format!("add `\"type\": \"{transport}\"`"),
                edits,
            );
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, fixed, pointers};

    #[test]
    fn it_is_an_error_where_the_files_own_host_skips_the_entry() {
        let text = r#"{"mcpServers": {"s": {"url": "https://h.example/mcp"}}}"#;
        for (path, severity) in [
            (".mcp.json", Some(Severity::Error)),
            (".claude-plugin/plugin.json", Some(Severity::Error)),
            (".claude.json", Some(Severity::Error)),
            (".github/mcp.json", Some(Severity::Error)),
            (".roo/mcp.json", Some(Severity::Error)),
            // Many hosts have such a file, and it does not say which one it is for.
            ("mcp.json", Some(Severity::Warning)),
            ("servers.json", Some(Severity::Warning)),
            (".cursor/mcp.json", None),
            (".kiro/settings/mcp.json", None),
        ] {
            let found = findings("url-missing-type", &Plugin::from_text("/p", path, text));
            let found = found.first();
            assert_eq!(found.map(|it| it.severity), severity, "{path}");
            let says_so = found.is_some_and(|it| it.message.contains("Claude Code skips"));
            let is_claude = matches!(
                path,
                ".mcp.json" | ".claude-plugin/plugin.json" | ".claude.json"
            );
            assert_eq!(says_so, is_claude, "{path}");
        }
    }

    #[test]
    fn only_an_address_without_type_is_reported() {
        let id = "url-missing-type";
        assert_eq!(
            pointers(id, &entry(r#""url": "https://h.example/mcp""#)),
            ["/mcpServers/s/url"]
        );
        assert!(pointers(id, &entry(r#""type": "http", "url": "https://h.example""#)).is_empty());
        assert!(pointers(id, &entry(r#""command": "node""#)).is_empty());
    }

    #[test]
    fn the_fix_writes_the_inferred_type_in_the_layout_of_the_entry() {
        for (url, transport) in [
            ("https://h.example/mcp", "http"),
            ("https://h.example/sse", "sse"),
            ("wss://h.example/", "ws"),
        ] {
            let before = format!("{{\n  \"s\": {{\n    \"url\": \"{url}\"\n  }}\n}}");
            let after = format!(
                "{{\n  \"s\": {{\n    \"type\": \"{transport}\",\n    \"url\": \"{url}\"\n  }}\n}}"
            );
            assert_eq!(fixed("url-missing-type", &before), after);
        }
    }
}
