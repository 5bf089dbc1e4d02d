//! `auth-conflict`: an entry both configures OAuth and sends its own `Authorization`.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, OAuth};
use keyway_config::diagnostic::Severity;
use keyway_config::method::is_blank;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::AuthConflict,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: None,
    summary: "An entry has `oauth` and an `Authorization` header; the header wins",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let OAuth::Configured(oauth) = &remote.oauth else {
            continue;
        };
        let authorization = remote.headers.iter().find(|header| {
            header.name.eq_ignore_ascii_case("authorization")
                && !is_blank(&header.name, header.value.template.as_str())
        });
        if let Some(header) = authorization {
            report
                .field(
                    document,
                    server,
                    &header.value,
                    "`Authorization` is sent, so `oauth` is never used",
                )
                .related(
                    &document.source,
                    oauth.span,
                    &server.pointer.child("oauth"),
                    "`oauth` is here",
                )
                .hint("keep one of the two");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    #[test]
    fn an_empty_header_is_not_a_conflict() {
        for (value, count) in [("Bearer ${T}", 1), ("", 0), ("Bearer ", 0)] {
            let fields = format!(
                r#""type": "http", "url": "https://h.example", "oauth": {{"clientId": "c"}},
                   "headers": {{"Authorization": "{value}"}}"#
            );
            assert_eq!(
                pointers("auth-conflict", &entry(&fields)).len(),
                count,
                "{value}"
            );
        }
    }
}
