//! Section 5.1: automatic OAuth.

use keyway_config::method::Method;
use keyway_lint::readme;

use crate::trial::{NOTHING, Trial};

const URL_ONLY: &str = r#""type": "http", "url": "https://mcp.example.com/mcp""#;

#[test]
fn seed_5_1_1_applies_to_sse_and_http_only() {
    for (fields, method) in [
        (
            r#""type": "sse", "url": "https://h.example/sse""#,
            Method::OAuth,
        ),
        (
            r#""type": "http", "url": "https://h.example/mcp""#,
            Method::OAuth,
        ),
        (
            r#""type": "ws", "url": "wss://h.example/mcp""#,
            Method::None,
        ),
        (r#""command": "node""#, Method::None),
    ] {
        assert_eq!(Trial::entry(fields).method(), method, "{fields}");
    }
}

#[test]
fn seed_5_1_2_type_and_url_are_all_that_is_needed() {
    let trial = Trial::entry(URL_ONLY);
    assert_eq!(trial.method(), Method::OAuth);
    assert_eq!(trial.address(), "https://mcp.example.com/mcp");
    assert!(trial.sent().is_empty());
    let found = trial.lint();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn seed_5_1_4_scopes_are_the_servers_and_the_readme_names_the_permissions() {
    assert!(Trial::entry(URL_ONLY).remote().scopes.is_empty());
    let silent = Trial::entry(URL_ONLY).readme("# Plugin");
    assert_eq!(silent.found("undocumented-scopes"), ["/s/url"]);
    let permissions = "# Plugin\n\n## Permissions\n\n- read\n- create and update\n";
    let telling = Trial::entry(URL_ONLY).readme(permissions);
    assert_eq!(telling.found("undocumented-scopes"), NOTHING);
    let written = readme::section(telling.plugin());
    assert!(written.contains("### Permissions\n\n- s: "), "{written}");
}

#[test]
fn seed_5_1_6_endpoints_and_redirect_are_open_and_may_be_fixed() {
    let open = Trial::entry(URL_ONLY).remote();
    assert!(open.oauth.is_empty() && open.callback_port.is_none());
    let fixed = Trial::entry(&format!(
        r#"{URL_ONLY}, "oauth": {{"callbackPort": 8123, "tokenUrl": "https://as.example/token",
           "authorizationUrl": "https://as.example/authorize"}}"#
    ));
    assert_eq!(fixed.method(), Method::OAuth);
    let remote = fixed.remote();
    assert_eq!(remote.callback_port, Some(8123));
    let named = |key| remote.oauth.iter().find(|(name, _)| name == key);
    for (key, url) in [
        ("authorizationUrl", "https://as.example/authorize"),
        ("tokenUrl", "https://as.example/token"),
    ] {
        let value = named(key).map(|(_, value)| value.value().expose().as_str());
        assert_eq!(value, Some(url));
    }
    let half = Trial::entry(&format!(
        r#"{URL_ONLY}, "oauth": {{"tokenUrl": "https://as.example/token"}}"#
    ));
    assert_eq!(half.found("invalid-oauth"), ["/s/oauth/tokenUrl"]);
}
