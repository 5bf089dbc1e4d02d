//! Section 7: what goes wrong, as far as it can be told before a request is sent.

use keyway_code::Code;

use crate::trial::{NOTHING, Trial};

const BEARER: &str = r#""Authorization": "Bearer ${API_TOKEN}""#;

#[test]
fn seed_7_http_401_token_not_set_or_header_in_the_wrong_format() {
    let unset = Trial::headers(BEARER);
    assert_eq!(
        unset.found_env("unresolved-variable"),
        ["/s/headers/Authorization"]
    );
    for wrong in [
        "${API_TOKEN}",
        "Bearer Bearer ${API_TOKEN}",
        "Bearer:${API_TOKEN}",
    ] {
        let trial = Trial::headers(&format!(r#""Authorization": "{wrong}""#));
        assert_eq!(
            trial.found("wrong-header-format"),
            ["/s/headers/Authorization"],
            "{wrong}"
        );
    }
}

#[test]
fn seed_7_http_403_workspace_or_tenant_that_cannot_be_right() {
    let trial = Trial::entry(
        r#""type": "http", "url": "https://${TENANT_ID}.h.example/mcp",
           "headers": {"X-Workspace-ID": "${WORKSPACE_ID}"}"#,
    );
    let wrong = trial.with(&[("TENANT_ID", "https://acme"), ("WORKSPACE_ID", "w\n1")]);
    assert_eq!(
        wrong.found_env("unusable-value"),
        ["/s/url", "/s/headers/X-Workspace-ID"]
    );
    let right = wrong.with(&[("TENANT_ID", "acme"), ("WORKSPACE_ID", "w1")]);
    assert_eq!(right.found_env("unusable-value"), NOTHING);
}

#[test]
fn seed_7_token_not_found() {
    for variables in [&[][..], &[("API_TOKEN", "")]] {
        let trial = Trial::headers(BEARER).with(variables);
        assert_eq!(
            trial.errors(),
            ["/s/headers/Authorization: variable `API_TOKEN` is not set"]
        );
        let found = trial.lint_env();
        let Some(report) = found.iter().find(|d| d.code == Code::UnresolvedVariable) else {
            panic!("{found:?}");
        };
        assert_eq!(report.server.as_deref(), Some("s"));
        assert_eq!(report.hint.as_deref(), Some("export API_TOKEN=…"));
    }
}

#[test]
fn seed_7_wrong_header_format() {
    let trial = Trial::headers(r#""Authorization": "${API_TOKEN}""#);
    let found = trial.lint();
    let Some(report) = found.iter().find(|d| d.code == Code::WrongHeaderFormat) else {
        panic!("{found:?}");
    };
    let hint = report.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("Bearer"), "{hint}");
    assert_eq!(Trial::headers(BEARER).found("wrong-header-format"), NOTHING);
}

#[test]
fn seed_7_authentication_loop_redirect_urls_are_checked() {
    let with_redirect = |redirect: &str| {
        Trial::entry(&format!(
            r#""type": "http", "url": "https://h.example/mcp", "oauth": {{"redirectUri": "{redirect}"}}"#
        ))
    };
    let elsewhere = with_redirect("https://callback.example/");
    assert_eq!(elsewhere.found("invalid-oauth"), ["/s/oauth/redirectUri"]);
    let here = with_redirect("http://localhost:8123/callback");
    assert_eq!(here.found("invalid-oauth"), NOTHING);
}

#[test]
fn seed_7_debug_shows_sanitized_header_values() {
    let trial = Trial::headers(BEARER).with(&[("API_TOKEN", "CANARY")]);
    let remote = trial.remote();
    let (name, value) = &remote.headers[0];
    assert_eq!(
        format!("{name}: {value}"),
        "Authorization: Bearer ${API_TOKEN}"
    );
    assert_eq!(value.value().expose(), "Bearer CANARY");
    assert!(!format!("{remote:?}").contains("CANARY"));
}
