//! `type-alias`: `type` has another host's word for a transport.

use keyway_code::Code;
use keyway_config::declared::TypeOrigin;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::quote;

use super::walk::{objects, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::TypeAlias,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: Some(Applicability::Safe),
    summary: "`type` has another host's word for a transport",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in objects(context.plugin) {
        let (Ok(server), Some(member)) = (&entry.server, object.get("type")) else {
            continue;
        };
        if server.type_origin != TypeOrigin::Alias {
            continue;
        }
        let dialect = document.dialect;
        let mut own = dialect.types.iter();
        let own = own.find(|(_, transport)| *transport == server.transport);
        let canonical = match own.filter(|_| !dialect.is_contract()) {
            Some((word, _)) => *word,
            None => server.transport.as_str(),
        };
        let alias = shown(member.value.as_str().unwrap_or_default());
        let (source, span) = (&document.source, member.value.span);
        let edits = vec![Edit::replace(source, span, quote(canonical))];
        let (message, hint, severity) = if dialect.is_contract() {
            (
                format!("`{alias}` is another host's word for `{canonical}`"),
                format!("write `{canonical}`, the word of the contract"),
                RULE.severity,
            )
        } else {
            (
                format!("`{alias}` is not a transport that {} knows", dialect.name),
                format!("write `{canonical}`"),
                Severity::Warning,
            )
        };
        report
            .at(source, span, &entry.pointer.child("type"), message)
            .server(&entry.name)
            .severity(severity)
            .hint(hint)
            .fix(Applicability::Safe, format!("write `{canonical}`"), edits);
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, fixed, pointers};

    const ID: &str = "type-alias";

    #[test]
    fn canonical_and_missing_types_are_not_reported() {
        for fields in [
            r#""type": "http", "url": "https://h.example""#,
            r#""url": "https://h.example""#,
            r#""command": "node""#,
            r#""type": "smtp", "url": "https://h.example""#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn every_alias_is_mended_to_its_canonical_word() {
        for (alias, canonical, endpoint) in [
            ("streamable-http", "http", "url"),
            ("streamable_http", "http", "url"),
            ("streamableHttp", "http", "url"),
            ("remote", "http", "url"),
            ("websocket", "ws", "url"),
            ("local", "stdio", "command"),
        ] {
            let text = format!(r#"{{"s": {{"type": "{alias}", "{endpoint}": "x"}}}}"#);
            let expected = format!(r#"{{"s": {{"type": "{canonical}", "{endpoint}": "x"}}}}"#);
            assert_eq!(fixed(ID, &text), expected);
        }
    }
}
