//! `unknown-type`: `type` is not a transport, so the entry is skipped.

use keyway_code::Code;
use keyway_config::declared::{EntryFault, TYPE_ALIASES, Transport};
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::environment::nearest;
use keyway_config::json::quote;

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UnknownType,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Unsafe),
    summary: "`type` is not a transport, so the entry is skipped",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry) in context.plugin.entries() {
        let faults = entry.server.as_ref().err();
        for fault in faults.into_iter().flatten() {
            let EntryFault::UnknownType { found, span } = fault else {
                continue;
            };
            let source = &document.source;
            let message = match found.as_str() {
                "" => "`type` is empty".to_owned(),
                found => format!("`{}` is not a transport", shown(found)),
            };
            let finding = report
                .at(source, *span, &entry.pointer.child("type"), message)
                .server(&entry.name);
            let dialect = document.dialect;
            if !dialect.is_contract() {
                let words: Vec<String> = dialect
                    .types
                    .iter()
                    .map(|(word, _)| format!("`{word}`"))
                    .collect();
                finding.hint(format!("{} knows {}", dialect.name, words.join(", ")));
                continue;
            }
            let Some((transport, is_clear)) = meant(found) else {
                finding.hint("use `http`, `sse`, `ws` or `stdio`");
                continue;
            };
            let finding = finding.hint(format!("did you mean `{transport}`?"));
            if is_clear {
                let edits = vec![Edit::replace(source, *span, quote(transport))];
                finding.fix(Applicability::Unsafe, format!("write `{transport}`"), edits);
            }
        }
    }
}

/// Returns the transport that was probably meant, and whether nothing else was near.
fn meant(found: &str) -> Option<(&'static str, bool)> {
    let canonical = Transport::ALL
        .iter()
        .map(|transport| (transport.as_str(), *transport));
    let words: Vec<_> = canonical.chain(TYPE_ALIASES.iter().copied()).collect();
    let near = nearest(found.trim(), words.iter().map(|(word, _)| *word));
    let mut transports = near
        .iter()
        .filter_map(|near| words.iter().find(|(word, _)| word == near))
        .map(|(_, transport)| *transport);
    // Blanks around a known word leave nothing that is merely near.
    let exact = Transport::from_type(found.trim()).map(|(transport, _)| transport);
    let first = exact.or_else(|| transports.next())?;
    let is_clear = exact.is_some() || transports.all(|other| other == first);
    Some((first.as_str(), is_clear))
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, findings, fixed, pointers};

    const ID: &str = "unknown-type";

    #[test]
    fn an_unknown_transport_is_reported_and_the_known_ones_are_not() {
        let found = findings(ID, &entry(r#""type": "grpc", "url": "https://h.example""#));
        assert_eq!(found[0].message, "`grpc` is not a transport");
        assert!(found[0].hint.as_ref().unwrap().contains("`stdio`"));
        assert!(found[0].fix.is_none());
        for known in [
            "http",
            "sse",
            "ws",
            "streamable-http",
            "remote",
            "websocket",
        ] {
            let fields = format!(r#""type": "{known}", "url": "https://h.example""#);
            assert!(pointers(ID, &entry(&fields)).is_empty(), "{known}");
        }
        assert!(pointers(ID, &entry(r#""type": 1, "url": "https://h.example""#)).is_empty());
    }

    #[test]
    fn a_slip_is_mended_to_the_canonical_word() {
        for (slip, meant) in [
            ("HTTP", "http"),
            ("https", "http"),
            ("streamableHTTP", "http"),
            ("streamable-htpp", "http"),
            ("WebSocket", "ws"),
            ("stdoi", "stdio"),
            (" sse", "sse"),
        ] {
            let text = format!(r#"{{"s": {{"type": "{slip}", "url": "wss://h.example"}}}}"#);
            let expected = text.replacen(slip, meant, 1);
            assert_eq!(fixed(ID, &text), expected);
        }
    }

    #[test]
    fn a_hostile_word_is_shown_short_and_printable() {
        let fields = format!(r#""type": "\u001b[31m{}", "url": "u""#, "x".repeat(500));
        let found = findings(ID, &entry(&fields));
        assert!(found[0].message.len() < 120);
        assert!(!found[0].message.contains('\u{1b}'));
    }
}
