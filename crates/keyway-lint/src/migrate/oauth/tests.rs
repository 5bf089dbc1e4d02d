//! What goes, what stays, and which entries are left alone.

use std::sync::Arc;

use keyway_code::Code;

use super::*;
use crate::rules::fixture::entry;

fn planned(plugin: &Plugin) -> OAuthPlan {
    let documents = plugin.documents.iter();
    let files: Vec<Arc<str>> = documents.map(|d| d.source.shared_path()).collect();
    plan(&Selection {
        plugin,
        files: &files,
        server: Some("s"),
    })
}

fn fields_after(fields: &str) -> String {
    let plan = planned(&entry(fields));
    let text = &plan.documents[0].after;
    let inner = text.split_once("\"s\": {").unwrap().1;
    inner.strip_suffix("}}}").unwrap().to_owned()
}

#[test]
fn credentials_go_and_everything_else_stays() {
    let url = r#""type": "sse", "url": "https://h.example/mcp""#;
    for (rest, kept) in [
        (r#", "headers": {"Authorization": "Basic ${B}"}"#, ""),
        (
            r#", "headers": {"Authorization": "Basic ${B}", "X-Tenant-ID": "${T}", "X-Api-Key": "${K}"}"#,
            r#", "headers": {"X-Tenant-ID": "${T}"}"#,
        ),
        (r#", "headers": {"X-Custom": "${VENDOR_TOKEN}"}"#, ""),
        (
            r#", "headersHelper": "./h.sh", "env": {"A": "${A}"}, "disabled": true, "note": "x""#,
            r#", "disabled": true, "note": "x""#,
        ),
        (
            r#", "oauth": {"clientId": "x"}, "envFile": ".env""#,
            r#", "oauth": {"clientId": "x"}"#,
        ),
        (r#", "oauth": false"#, ""),
    ] {
        assert_eq!(
            fields_after(&format!("{url}{rest}")),
            format!("{url}{kept}")
        );
    }
}

#[test]
fn a_missing_type_is_written_down() {
    let after = fields_after(r#""url": "https://h.example/sse", "headers": {"X-Api-Key": "${K}"}"#);
    assert_eq!(after, r#""type": "sse","url": "https://h.example/sse""#);
}

#[test]
fn layout_and_comments_survive() {
    let text = "\r\n  \"headers\": {\r\n    \"X-Api-Key\": \"${K}\"\r\n  }, // about the address\r\n  \"type\": \"http\",\r\n  \"url\": \"https://h.example\"\r\n";
    assert_eq!(
        fields_after(text),
        "\r\n  // about the address\r\n  \"type\": \"http\",\r\n  \"url\": \"https://h.example\"\r\n"
    );
}

#[test]
fn entries_that_cannot_sign_in_are_left_alone_with_the_reason() {
    for (fields, why) in [
        (
            r#""type": "ws", "url": "wss://h.example", "headers": {"X-Api-Key": "${K}"}"#,
            "a WebSocket takes its credential in a header",
        ),
        (r#""command": "x", "env": {"A": "${A}"}"#, "from `env`"),
        (r#""type": "http""#, "it is not loaded as it is"),
        (
            r#""type": "http", "url": "https://h.example", "headers": {"X-Api-Key": "not-a-real-token-4711"}"#,
            "which may be the only copy",
        ),
        (
            r#""type": "http", "url": "https://h.example", "headersHelper": "./h.sh", "env": {"A_TOKEN": "not-a-real-token-4711"}"#,
            "which may be the only copy",
        ),
    ] {
        let plan = planned(&entry(fields));
        assert!(plan.documents.is_empty(), "{fields}");
        assert_eq!(plan.diagnostics[0].code, Code::NotMigrated);
        let message = &plan.diagnostics[0].message;
        assert!(message.ends_with(why), "{message}");
    }
}

#[test]
fn variables_that_are_not_needed_any_more_are_named() {
    let fields = r#""type": "http", "url": "https://${TENANT}.h.example", "headers":
        {"X-Api-Key": "${K}", "X-Tenant": "${TENANT}"}"#;
    let plan = planned(&entry(fields));
    assert_eq!(plan.unneeded, ["K"]);
    assert_eq!(plan.removed, ["header `X-Api-Key`"]);
    assert!(
        plan.diagnostics
            .iter()
            .any(|d| d.code == Code::OauthNotChecked)
    );
}

#[test]
fn an_entry_of_only_type_and_url_has_nothing_to_do() {
    let plan = planned(&entry(r#""type": "http", "url": "https://h.example""#));
    assert!(plan.documents.is_empty() && plan.diagnostics.is_empty());
}
