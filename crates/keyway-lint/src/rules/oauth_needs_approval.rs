//! `oauth-needs-approval`: a setting of `oauth` that waits for the person's approval.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, NamedField, OAuth, OAuthFields};
use keyway_config::diagnostic::Severity;
use keyway_config::oauth_rules::address;

use super::walk::contract_servers;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::OauthNeedsApproval,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "A setting of `oauth` weakens a default and waits for the person's approval",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in contract_servers(context.plugin) {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let OAuth::Configured(oauth) = &remote.oauth else {
            continue;
        };
        // Elsewhere it is an error, and none of it ever takes effect.
        if !server.transport.supports_oauth() {
            continue;
        }
        for (field, what) in weakening(oauth) {
            let message = format!("{what}; it takes effect once the person has approved it");
            report
                .field(document, server, &field.value, message)
                .hint("leave it out if the server works without it");
        }
    }
}

/// Returns the members that weaken a default, and what each does.
fn weakening(oauth: &OAuthFields) -> Vec<(&NamedField, &'static str)> {
    let mut found = Vec::new();
    if let Some(field) = oauth.get("resource") {
        found.push((field, "`resource` changes the audience of tokens"));
    }
    let pkce = oauth.get("pkce");
    if let Some(field) = pkce.filter(|field| field.value.template.as_str() == "assume-s256") {
        found.push((field, "`pkce` trusts a server that does not announce PKCE"));
    }
    if let Some(field) = token_endpoint_elsewhere(oauth) {
        found.push((
            field,
            "`tokenUrl` has another origin than `authorizationUrl`",
        ));
    }
    found
}

fn token_endpoint_elsewhere(oauth: &OAuthFields) -> Option<&NamedField> {
    let token = oauth.get("tokenUrl")?;
    let authorization = oauth.get("authorizationUrl")?;
    let origin = |field: &NamedField| Some(address(&field.value.template)??.origin());
    // An address that begins with a variable is unknown before it is resolved.
    (origin(token)? != origin(authorization)?).then_some(token)
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, pointers};

    const ID: &str = "oauth-needs-approval";

    fn reported(members: &str) -> Vec<String> {
        let fields =
            format!(r#""type": "http", "url": "https://h.example", "oauth": {{{members}}}"#);
        pointers(ID, &entry(&fields))
    }

    #[test]
    fn what_weakens_a_default_is_reported() {
        for (members, key) in [
            (r#""resource": "omit""#, "resource"),
            (r#""resource": "https://h.example/""#, "resource"),
            (r#""pkce": "assume-s256""#, "pkce"),
            (
                r#""authorizationUrl": "https://a.example/", "tokenUrl": "https://b.example/""#,
                "tokenUrl",
            ),
            (
                r#""authorizationUrl": "https://a.example/", "tokenUrl": "https://a.example:444/""#,
                "tokenUrl",
            ),
        ] {
            assert_eq!(reported(members), [format!("/mcpServers/s/oauth/{key}")]);
        }
    }

    #[test]
    fn what_weakens_nothing_is_not_reported() {
        for members in [
            r#""clientId": "c", "clientSecret": "${S}", "scopes": ["a"], "callbackPort": 8080"#,
            r#""authorizationUrl": "https://a.example/a", "tokenUrl": "https://a.example:443/t""#,
            r#""authorizationUrl": "https://a.example/a", "tokenUrl": "${T_URL}""#,
            r#""tokenUrl": "https://a.example/t""#,
            r#""pkce": "off""#,
        ] {
            assert!(reported(members).is_empty(), "{members}");
        }
    }
}
