//! `invalid-oauth`: an `oauth` or `headersHelper` setting that cannot or must not take effect.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::oauth_rules::{self, OAuthFaultKind};

use super::walk::contract_servers;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::InvalidOauth,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A setting of `oauth` cannot take effect, or would weaken the sign-in",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in contract_servers(context.plugin) {
        for fault in oauth_rules::check(server) {
            let span = document
                .tree
                .at(&fault.pointer)
                .map_or(fault.span, |node| node.span);
            report
                .at(
                    &document.source,
                    span,
                    &fault.pointer,
                    fault.kind.to_string(),
                )
                .server(&server.name)
                .hint(hint(&fault.kind));
        }
    }
}

const fn hint(kind: &OAuthFaultKind) -> &'static str {
    match kind {
        OAuthFaultKind::OnWebSocket => {
            "send a token in `headers`, or use the server's `http` address"
        }
        OAuthFaultKind::RefreshOnWebSocket => {
            "write `\"refresh\": \"connection\"`, or leave it out"
        }
        OAuthFaultKind::OneEndpoint { .. } => {
            "give both, or neither: the server's metadata names them"
        }
        OAuthFaultKind::LiteralSecret => {
            "write `${CLIENT_SECRET}` and set that variable in the environment"
        }
        OAuthFaultKind::NotSecure { .. } => "use the `https` address of the authorization server",
        OAuthFaultKind::RedirectElsewhere => {
            "write `http://localhost:PORT/callback`, or leave it out"
        }
        OAuthFaultKind::BadResource => "leave it out: the server names it",
        OAuthFaultKind::BadPkce => "leave it out: PKCE is always used",
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "invalid-oauth";

    fn oauth(members: &str) -> keyway_config::plugin::Plugin {
        entry(&format!(
            r#""type": "http", "url": "https://h.example", "oauth": {{{members}}}"#
        ))
    }

    #[test]
    fn settings_that_the_contract_allows_are_not_reported() {
        for members in [
            "",
            r#""clientId": "abc", "clientSecret": "${CLIENT_SECRET}", "scopes": "read write""#,
            r#""clientSecret": "${env:CLIENT_SECRET}", "callbackPort": 8080"#,
            r#""redirectUri": "http://localhost:8080/callback", "pkce": "assume-s256""#,
            r#""redirectUri": "http://127.0.0.1:${PORT}/cb", "resource": "omit""#,
            r#""redirectUri": "http://[::1]/cb", "resource": "https://h.example/mcp""#,
            r#""authorizationUrl": "https://a.example/a", "tokenUrl": "${TOKEN_URL}""#,
            r#""authorizationUrl": "http://localhost:9/a", "tokenUrl": "http://127.0.0.1:9/t""#,
            r#""authServerMetadataUrl": "https://${TENANT}.a.example/.well-known/x""#,
        ] {
            assert!(pointers(ID, &oauth(members)).is_empty(), "{members}");
        }
        let off = r#""type": "ws", "url": "wss://h.example", "oauth": false"#;
        assert!(pointers(ID, &entry(off)).is_empty());
    }

    #[test]
    fn each_setting_that_breaks_a_rule_is_reported_at_its_place() {
        for (members, key) in [
            (r#""clientSecret": "abc""#, "clientSecret"),
            (r#""clientSecret": "x-${S}""#, "clientSecret"),
            (r#""clientSecret": "${S:-abc}""#, "clientSecret"),
            (r#""tokenUrl": "https://a.example/t""#, "tokenUrl"),
            (
                r#""authorizationUrl": "https://a.example/a""#,
                "authorizationUrl",
            ),
            (
                r#""authServerMetadataUrl": "http://a.example""#,
                "authServerMetadataUrl",
            ),
            (
                r#""authServerMetadataUrl": "/metadata""#,
                "authServerMetadataUrl",
            ),
            (
                r#""redirectUri": "https://a.example/callback""#,
                "redirectUri",
            ),
            (
                r#""redirectUri": "http://localhost.a.example/""#,
                "redirectUri",
            ),
            (r#""redirectUri": "myapp://callback""#, "redirectUri"),
            (r#""pkce": "off""#, "pkce"),
            (r#""pkce": "${PKCE}""#, "pkce"),
            (r#""resource": "mine""#, "resource"),
        ] {
            let expected = format!("/mcpServers/s/oauth/{key}");
            assert_eq!(pointers(ID, &oauth(members)), [expected], "{members}");
        }
    }

    #[test]
    fn plain_http_is_refused_for_hosts_that_only_look_like_this_machine() {
        for host in [
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "a.example",
            "0.0.0.0",
        ] {
            let members = format!(
                r#""authorizationUrl": "https://a.example", "tokenUrl": "http://{host}/t""#
            );
            assert_eq!(pointers(ID, &oauth(&members)).len(), 1, "{host}");
        }
    }

    #[test]
    fn a_web_socket_has_neither_oauth_nor_headers_per_request() {
        let fields = r#""type": "ws", "url": "wss://h.example", "oauth": {"clientId": "c"}"#;
        assert_eq!(pointers(ID, &entry(fields)), ["/mcpServers/s/oauth"]);
        let helper = r#""headersHelper": {"command": ["./h"], "refresh": "request"}"#;
        let ws = format!(r#""type": "ws", "url": "wss://h.example", {helper}"#);
        assert_eq!(
            pointers(ID, &entry(&ws)),
            ["/mcpServers/s/headersHelper/refresh"]
        );
        let http = format!(r#""type": "http", "url": "https://h.example", {helper}"#);
        assert!(pointers(ID, &entry(&http)).is_empty());
    }

    #[test]
    fn a_client_secret_is_never_shown() {
        let found = findings(ID, &oauth(r#""clientSecret": "CANARY-7f3a""#));
        assert!(!format!("{found:?}").contains("CANARY"));
    }
}
