//! Section 5.7: the nine rules.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::method::Method;

use crate::trial::{NOTHING, Trial, Versioned, owned};

/// Shaped like a GitHub token, and none.
const TOKEN: &str = "ghp_CANARYq8ZkVt3mWn5Xs7Rb2Yc4Lf6Hd9Pj1";

#[test]
fn seed_5_7_1_tokens_are_never_written_literally() {
    for (fields, place) in [
        (
            format!(
                r#""type": "http", "url": "https://h.example/", "headers": {{"Authorization": "Bearer {TOKEN}"}}"#
            ),
            "/s/headers/Authorization",
        ),
        (
            format!(r#""command": "node", "env": {{"GITHUB_TOKEN": "{TOKEN}"}}"#),
            "/s/env/GITHUB_TOKEN",
        ),
        (
            format!(r#""command": "node", "args": ["--token", "{TOKEN}"]"#),
            "/s/args/1",
        ),
    ] {
        let trial = Trial::entry(&fields);
        assert_eq!(trial.found("literal-secret"), [place]);
        let found = trial.lint();
        let worst = found.iter().filter(|d| d.code == Code::LiteralSecret);
        assert!(worst.into_iter().all(|d| d.severity == Severity::Error));
        let referring = Trial::entry(&fields.replace(TOKEN, "${GITHUB_TOKEN}"));
        assert_eq!(referring.found("literal-secret"), NOTHING);
    }
}

#[test]
fn seed_5_7_2_tokens_are_never_in_documentation_or_committed() {
    let entry = r#""Authorization": "Bearer ${API_TOKEN}""#;
    let shown = Trial::headers(entry).readme(&format!("export API_TOKEN={TOKEN}\n"));
    assert_eq!(shown.found("secret-in-docs").len(), 1);
    let named = Trial::headers(entry).readme("export API_TOKEN=your-token\n");
    assert_eq!(named.found("secret-in-docs"), NOTHING);
    let committed = Trial::headers(entry).env_file(Versioned::Committed);
    assert_eq!(committed.found("env-file-tracked").len(), 1);
    let ignored = Trial::headers(entry).env_file(Versioned::Ignored);
    assert_eq!(ignored.found("env-file-tracked"), NOTHING);
}

#[test]
fn seed_5_7_3_https_or_wss_only() {
    for (kind, scheme, place) in [
        ("http", "http", true),
        ("sse", "http", true),
        ("ws", "ws", true),
        ("http", "https", false),
        ("sse", "https", false),
        ("ws", "wss", false),
    ] {
        let fields = format!(r#""type": "{kind}", "url": "{scheme}://h.example/mcp""#);
        let trial = Trial::entry(&fields);
        assert_eq!(!trial.found("insecure-url").is_empty(), place, "{fields}");
        assert_eq!(trial.resolve().is_err(), place, "{fields}");
    }
}

#[test]
fn seed_5_7_3_plain_http_to_this_machine_is_our_one_exception() {
    let local = || Trial::entry(r#""type": "http", "url": "http://127.0.0.1:3000/mcp""#);
    let severity = |trial: Trial| {
        let found = trial.lint();
        found
            .iter()
            .find(|d| d.code == Code::InsecureUrl)
            .map(|d| d.severity)
    };
    assert_eq!(severity(local()), Some(Severity::Warning));
    assert_eq!(severity(local().strict()), Some(Severity::Error));
    assert_eq!(local().address(), "http://127.0.0.1:3000/mcp");
}

#[test]
fn seed_5_7_4_nothing_that_can_be_logged_holds_a_token() {
    let trial = Trial::headers(
        r#""Authorization": "Bearer ${API_TOKEN}", "X-API-Key": "${API_KEY}", "X-Bad": "${BAD}""#,
    );
    let good = trial.with(&[("API_TOKEN", TOKEN), ("API_KEY", TOKEN), ("BAD", "b")]);
    let logged = format!("{:?}", good.spec());
    assert!(!logged.contains("CANARY"), "{logged}");

    let bad = good.with(&[("API_TOKEN", TOKEN), ("API_KEY", ""), ("BAD", "CANARY\n")]);
    let reported = format!("{:?} {:?}", bad.errors(), bad.lint_env());
    assert!(reported.contains("X-Bad") && reported.contains("API_KEY"));
    assert!(!reported.contains("CANARY"), "{reported}");

    let literal = Trial::headers(&format!(r#""Authorization": "Bearer {TOKEN}""#));
    let found = literal.lint();
    assert!(found.iter().any(|d| d.code == Code::LiteralSecret));
    for diagnostic in found {
        let said = format!("{} {:?}", diagnostic.message, diagnostic.hint);
        assert!(!said.contains("CANARY"), "{said}");
    }
}

#[test]
fn seed_5_7_5_a_rotated_token_is_used_the_next_time() {
    let old =
        Trial::headers(r#""Authorization": "Bearer ${API_TOKEN}""#).with(&[("API_TOKEN", "old")]);
    assert_eq!(old.sent(), owned(&[("Authorization", "Bearer old")]));
    let new = old.with(&[("API_TOKEN", "new")]);
    assert_eq!(new.sent(), owned(&[("Authorization", "Bearer new")]));
}

#[test]
fn seed_5_7_6_oauth_is_preferred() {
    let id = "prefer-oauth";
    let fixed = Trial::headers(r#""Authorization": "Bearer ${API_TOKEN}""#);
    assert_eq!(fixed.found(id), ["/s/headers/Authorization"]);
    let tenant = Trial::headers(r#""X-Tenant-ID": "${TENANT_ID}""#);
    assert_eq!(tenant.found(id), NOTHING);
    // There is no OAuth over WebSocket to prefer.
    let socket = Trial::entry(
        r#""type": "ws", "url": "wss://h.example/", "headers": {"Authorization": "Bearer ${T}"}"#,
    );
    assert_eq!(socket.found(id), NOTHING);
}

#[test]
fn seed_5_7_7_migration_from_a_hardcoded_token() {
    let entry = |token: &str| Trial::headers(&format!(r#""Authorization": "Bearer {token}""#));
    let hardcoded = entry(TOKEN).readme("# Plugin\n");
    assert_eq!(hardcoded.found("literal-secret").len(), 1);
    // First the README, then the entry, then with the variable set; then nothing is left.
    let changed = entry("${API_TOKEN}").readme("# Plugin\n");
    assert_eq!(changed.found("undocumented-variable").len(), 1);
    let documented = entry("${API_TOKEN}").readme("# Plugin\n\nSet `API_TOKEN`.\n");
    assert_eq!(documented.found_env("unresolved-variable").len(), 1);
    let set = documented.with(&[("API_TOKEN", TOKEN)]);
    let left = set
        .lint_env()
        .into_iter()
        .filter(|d| d.severity > Severity::Info);
    assert_eq!(left.count(), 0);
    let same = format!("Bearer {TOKEN}");
    assert_eq!(set.sent(), owned(&[("Authorization", &same)]));
}

#[test]
fn seed_5_7_8_migration_from_basic_to_oauth() {
    let basic = Trial::headers(r#""Authorization": "Basic ${BASE64_CREDENTIALS}""#)
        .with(&[("BASE64_CREDENTIALS", "dTpw")]);
    assert_eq!(basic.method(), Method::Static);
    let found = basic.lint();
    let hint = found.iter().find(|d| d.code == Code::PreferOauth);
    let hint = hint.and_then(|d| d.hint.as_deref()).unwrap_or_default();
    assert!(hint.contains("keyway migrate oauth"), "{hint}");
    let migrated = Trial::entry(r#""type": "http", "url": "https://api.example.com/mcp""#);
    assert_eq!(migrated.method(), Method::OAuth);
    assert_eq!(migrated.address(), basic.address());
    assert_eq!(migrated.found("prefer-oauth"), NOTHING);
}

#[test]
fn seed_5_7_9_development_and_production_have_separate_tokens() {
    let id = "shared-token";
    let file = |development: &str| {
        Trial::file(&format!(
            r#"{{"api-dev": {{"type": "http", "url": "https://dev.example.com/mcp",
                    "headers": {{"Authorization": "Bearer ${{{development}}}"}}}},
                "api-prod": {{"type": "http", "url": "https://prod.example.com/mcp",
                    "headers": {{"Authorization": "Bearer ${{API_TOKEN}}"}}}}}}"#
        ))
    };
    assert!(!file("API_TOKEN").found(id).is_empty());
    assert_eq!(file("API_TOKEN_DEV").found(id), NOTHING);
}
