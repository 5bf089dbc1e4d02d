//! Section 5.4: which tenant or workspace.

use keyway_config::method::Method;

use crate::trial::{NOTHING, Trial, owned};

const BY_HOST: &str = r#""type": "http", "url": "https://${TENANT_ID}.api.example.com/mcp""#;

#[test]
fn seed_5_4_1_through_a_header() {
    let trial = Trial::headers(
        r#""Authorization": "Bearer ${API_TOKEN}", "X-Workspace-ID": "${WORKSPACE_ID}""#,
    )
    .with(&[("API_TOKEN", "t-1"), ("WORKSPACE_ID", "w-1")]);
    assert_eq!(
        trial.sent(),
        owned(&[("Authorization", "Bearer t-1"), ("X-Workspace-ID", "w-1")])
    );
    assert_eq!(trial.method(), Method::Static);
}

#[test]
fn seed_5_4_2_through_the_host() {
    let trial = Trial::entry(BY_HOST).with(&[("TENANT_ID", "acme")]);
    assert_eq!(trial.address(), "https://acme.api.example.com/mcp");
    assert_eq!(trial.method(), Method::OAuth);
    assert_eq!(trial.found("credential-in-host"), NOTHING);
}

#[test]
fn seed_5_4_2_a_tenant_cannot_lead_to_another_host() {
    for value in [
        "evil.example/#",
        "x@evil.example",
        "evil.example",
        "a:80",
        "a/b",
        "-a",
    ] {
        let trial = Trial::entry(BY_HOST).with(&[("TENANT_ID", value)]);
        assert_eq!(trial.found_env("unusable-value"), ["/s/url"], "{value}");
        assert_eq!(trial.errors().len(), 1, "{value}");
    }
}

#[test]
fn seed_5_4_3_each_person_sets_their_own() {
    for (tenant, origin) in [
        ("acme", "https://acme.api.example.com"),
        ("globex", "https://globex.api.example.com"),
    ] {
        let trial = Trial::entry(BY_HOST).with(&[("TENANT_ID", tenant)]);
        assert_eq!(trial.remote().address.origin(), origin);
    }
}
