//! Section 2.3: the header names of the examples and the shapes of their values.

use keyway_code::Code;
use keyway_config::declared::Refresh;
use keyway_config::method::Method;

use crate::trial::{NOTHING, Trial, owned};

/// Sends one header that is filled from `variable` and returns the method that follows from it.
#[track_caller]
fn method_with(header: &str, variable: &str, value: &str) -> Method {
    let trial =
        Trial::headers(&format!(r#""{header}": "${{{variable}}}""#)).with(&[(variable, value)]);
    assert_eq!(trial.sent(), owned(&[(header, value)]));
    let noted = trial.lint_env().into_iter();
    let noted = noted
        .map(|d| d.code)
        .filter(|code| *code != Code::PreferOauth);
    assert_eq!(noted.collect::<Vec<_>>(), Vec::<Code>::new());
    trial.method()
}

#[test]
fn seed_2_3_authorization() {
    for (template, variable, sent) in [
        ("Bearer ${API_TOKEN}", "API_TOKEN", "Bearer abc"),
        (
            "Basic ${BASE64_CREDENTIALS}",
            "BASE64_CREDENTIALS",
            "Basic abc",
        ),
    ] {
        let trial =
            Trial::headers(&format!(r#""Authorization": "{template}""#)).with(&[(variable, "abc")]);
        assert_eq!(trial.sent(), owned(&[("Authorization", sent)]));
        assert_eq!(trial.method(), Method::Static);
        assert_eq!(trial.found("wrong-header-format"), NOTHING);
    }
    let swapped = Trial::headers(r#""Authorization": "Bearer ${BASE64_CREDENTIALS}""#);
    assert_eq!(
        swapped.found("wrong-header-format"),
        ["/s/headers/Authorization"]
    );
}

#[test]
fn seed_2_3_x_api_key() {
    assert_eq!(method_with("X-API-Key", "API_KEY", "k-1"), Method::Static);
}

#[test]
fn seed_2_3_x_api_secret() {
    assert_eq!(
        method_with("X-API-Secret", "API_SECRET", "s-1"),
        Method::Static
    );
}

#[test]
fn seed_2_3_x_auth_token() {
    assert_eq!(
        method_with("X-Auth-Token", "AUTH_TOKEN", "t-1"),
        Method::Static
    );
}

#[test]
fn seed_2_3_x_user_id_is_not_a_credential() {
    assert_eq!(method_with("X-User-ID", "USER_ID", "u-1"), Method::OAuth);
}

#[test]
fn seed_2_3_x_tenant_id_is_not_a_credential() {
    assert_eq!(
        method_with("X-Tenant-ID", "TENANT_ID", "acme"),
        Method::OAuth
    );
}

#[test]
fn seed_2_3_x_workspace_id_is_not_a_credential() {
    assert_eq!(
        method_with("X-Workspace-ID", "WORKSPACE_ID", "w-1"),
        Method::OAuth
    );
}

#[test]
fn seed_2_3_x_timestamp_is_sent_as_it_is_and_can_be_made_per_request() {
    let stamp = "2026-01-31T12:00:00+02:00";
    assert_eq!(method_with("X-Timestamp", "STAMP", stamp), Method::OAuth);
    let trial = Trial::entry(
        r#""type": "http", "url": "https://h.example/mcp",
           "headersHelper": {"command": ["./sign.sh"], "refresh": "request"}"#,
    );
    let helper = trial.remote().helper;
    assert_eq!(helper.map(|helper| helper.refresh), Some(Refresh::Request));
}

#[test]
fn seed_2_3_x_signature() {
    let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    assert_eq!(method_with("X-Signature", "SIGNATURE", hex), Method::Static);
}
