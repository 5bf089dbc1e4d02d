//! `prefer-oauth`: a remote entry sends a fixed credential where signing in might do.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, OAuth};
use keyway_config::diagnostic::Severity;
use keyway_config::headers::{is_credential_header, is_token};
use keyway_config::method::is_blank;
use keyway_secret::server_argument;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::PreferOauth,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "A remote entry sends a fixed credential; with OAuth it would need none",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let can_sign_in = server.transport.supports_oauth()
            && remote.helper.is_none()
            && !remote.url.template.as_str().trim().is_empty()
            && matches!(remote.oauth, OAuth::Automatic);
        let credential = remote.headers.iter().find(|header| {
            is_token(&header.name)
                && is_credential_header(&header.name)
                && !is_blank(&header.name, header.value.template.as_str())
        });
        // A literal or a placeholder is reported as what it is; this is for what works already.
        let credential = credential.filter(|header| !header.value.template.is_literal());
        if let (true, Some(header)) = (can_sign_in, credential) {
            let message = format!(
                "header `{}` sends a fixed credential; if the server offers OAuth, an entry of only `type` and `url` needs none",
                header.name
            );
            report
                .field(document, server, &header.value, message)
                .hint(format!(
                    "`keyway migrate oauth {}` shows the change",
                    server_argument(&server.name)
                ));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    const ID: &str = "prefer-oauth";

    #[test]
    fn a_fixed_credential_is_mentioned_once_per_entry() {
        let fields = r#""type": "sse", "url": "https://h.example", "headers":
            {"X-Tenant-ID": "${T}", "X-API-Key": "${K}", "X-API-Secret": "${S}"}"#;
        assert_eq!(
            pointers(ID, &entry(fields)),
            ["/mcpServers/s/headers/X-API-Key"]
        );
    }

    #[test]
    fn entries_that_cannot_sign_in_or_need_no_credential_are_left_alone() {
        for fields in [
            r#""type": "ws", "url": "wss://h.example", "headers": {"Authorization": "Bearer ${T}"}"#,
            r#""type": "http", "url": "https://h.example", "headers": {"X-Tenant-ID": "${T}"}"#,
            r#""type": "http", "url": "https://h.example", "headers": {"X-API-Key": ""}"#,
            r#""type": "http", "url": "https://h.example", "headers": {"Authorization": "Bearer "}"#,
            r#""type": "http", "url": "", "headers": {"Authorization": "Bearer ${T}"}"#,
            r#""type": "http", "url": "https://h.example", "oauth": false, "headers": {"X-API-Key": "${K}"}"#,
            r#""type": "http", "url": "https://h.example", "headersHelper": "./h.sh", "headers": {"X-API-Key": "${K}"}"#,
            r#""command": "node", "env": {"API_KEY": "${K}"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }
}
