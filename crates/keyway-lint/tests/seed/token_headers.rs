//! Section 5.2: tokens and keys in headers.

use keyway_config::edit::{Edit, apply};
use keyway_config::method::Method;
use keyway_lint::readme;

use crate::trial::{NOTHING, Trial, owned};

#[test]
fn seed_5_2_1_bearer_prefix_is_required() {
    let id = "wrong-header-format";
    let good = Trial::headers(r#""Authorization": "Bearer ${API_TOKEN}""#);
    assert_eq!(good.found(id), NOTHING);
    assert_eq!(good.with(&[("API_TOKEN", "t")]).method(), Method::Static);

    let bare = Trial::headers(r#""Authorization": "${API_TOKEN}""#);
    assert_eq!(bare.found(id), ["/s/headers/Authorization"]);
    let found = bare.lint();
    let fixes = found.iter().filter(|d| d.code.as_str() == id);
    let edits: Vec<&Edit> = fixes
        .flat_map(|d| d.fix.iter().flat_map(|f| &f.edits))
        .collect();
    let text = bare.plugin().documents[0].source.text();
    assert!(apply(text, &edits).contains(r#""Authorization": "Bearer ${API_TOKEN}""#));
}

#[test]
fn seed_5_2_1_tokens_travel_over_http_sse_and_websocket() {
    for (kind, scheme) in [("http", "https"), ("sse", "https"), ("ws", "wss")] {
        let fields = format!(
            r#""type": "{kind}", "url": "{scheme}://h.example/mcp",
               "headers": {{"Authorization": "Bearer ${{API_TOKEN}}"}}"#
        );
        let trial = Trial::entry(&fields).with(&[("API_TOKEN", "t-1")]);
        assert_eq!(trial.method(), Method::Static, "{kind}");
        assert_eq!(trial.sent(), owned(&[("Authorization", "Bearer t-1")]));
    }
}

#[test]
fn seed_5_2_2_api_key_and_secret() {
    let trial = Trial::headers(r#""X-API-Key": "${API_KEY}", "X-API-Secret": "${API_SECRET}""#)
        .with(&[("API_KEY", "k-1"), ("API_SECRET", "s-1")]);
    assert_eq!(
        trial.sent(),
        owned(&[("X-API-Key", "k-1"), ("X-API-Secret", "s-1")])
    );
    assert_eq!(trial.method(), Method::Static);
}

#[test]
fn seed_5_2_3_custom_headers() {
    let trial = Trial::headers(
        r#""X-Auth-Token": "${AUTH_TOKEN}", "X-User-ID": "${USER_ID}", "X-Tenant-ID": "${TENANT_ID}""#,
    )
    .with(&[("AUTH_TOKEN", "t"), ("USER_ID", "u"), ("TENANT_ID", "n")]);
    assert_eq!(
        trial.sent(),
        owned(&[
            ("X-Auth-Token", "t"),
            ("X-User-ID", "u"),
            ("X-Tenant-ID", "n")
        ])
    );
    assert_eq!(trial.method(), Method::Static);
}

#[test]
fn seed_5_2_4_the_person_exports_every_variable_before_use() {
    let headers = r#""X-API-Key": "${API_KEY}", "X-API-Secret": "${API_SECRET}""#;
    let half = Trial::headers(headers).with(&[("API_KEY", "k")]);
    assert_eq!(
        half.errors(),
        ["/s/headers/X-API-Secret: variable `API_SECRET` is not set"]
    );
    let found = half.lint_env();
    let hints = found.iter().filter_map(|d| d.hint.as_deref());
    assert!(hints.into_iter().any(|hint| hint == "export API_SECRET=…"));
    let both = half.with(&[("API_KEY", "k"), ("API_SECRET", "s")]);
    assert_eq!(both.found_env("unresolved-variable"), NOTHING);
}

#[test]
fn seed_5_2_4_the_readme_lists_variables_where_to_get_them_and_permissions() {
    let entry = r#""Authorization": "Bearer ${API_TOKEN}""#;
    let silent = Trial::headers(entry).readme("# Plugin");
    assert_eq!(
        silent.found("undocumented-variable"),
        ["/s/headers/Authorization"]
    );
    let noted = Trial::headers(entry).manifest(
        r#"{"name": "p", "keyway": {"variables": {"API_TOKEN": {
            "obtain": "Settings, API",
            "permissions": ["read", "write for creation", "delete (optional)"]}}}}"#,
    );
    let section = readme::section(noted.plugin());
    for line in [
        "| `API_TOKEN` | header `Authorization` of s | Settings, API |",
        "export API_TOKEN=…",
        "- `API_TOKEN`: read, write for creation, delete (optional)",
    ] {
        assert!(section.lines().any(|l| l == line), "{line}\n{section}");
    }
    let documented = noted.readme(&section);
    assert_eq!(documented.found("undocumented-variable"), NOTHING);
}
