//! `empty-url`: `url` is empty, so the server waits for the person to configure it.

use keyway_code::Code;
use keyway_config::declared::Endpoint;
use keyway_config::diagnostic::Severity;

use super::walk::contract_servers;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::EmptyUrl,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "`url` is empty, so the server is not configured",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in contract_servers(context.plugin) {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        if remote.url.template.as_str().trim().is_empty() {
            let message = "`url` is empty, so the server is not configured and never connects";
            report
                .field(document, server, &remote.url, message)
                .hint("write the address, or a variable such as `${SERVER_URL}`");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    const ID: &str = "empty-url";

    #[test]
    fn only_an_address_without_any_text_is_reported() {
        for empty in ["", " "] {
            let fields = format!(r#""type": "http", "url": "{empty}""#);
            assert_eq!(pointers(ID, &entry(&fields)), ["/mcpServers/s/url"]);
        }
        for fields in [
            r#""type": "http", "url": "${SERVER_URL:-}""#,
            r#""type": "http", "url": "https://h.example""#,
            r#""command": """#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }
}
