//! Section 2.2: where the values of variables come from.

use crate::trial::{Trial, owned};

#[test]
fn seed_2_2_host_plugin_root() {
    let trial = Trial::entry(
        r#""command": "${HOST_PLUGIN_ROOT}/run", "env": {"ROOT": "${HOST_PLUGIN_ROOT}"}"#,
    )
    .with(&[("HOST_PLUGIN_ROOT", "/elsewhere")]);
    assert_eq!(trial.local().command.value().expose(), "/plugin/run");
    assert_eq!(trial.environment(), owned(&[("ROOT", "/plugin")]));
}

#[test]
fn seed_2_2_any_other_name_is_read_from_the_environment() {
    for name in [
        "API_TOKEN",
        "API_KEY",
        "API_SECRET",
        "AUTH_TOKEN",
        "USER_ID",
        "TENANT_ID",
        "WORKSPACE_ID",
        "DATABASE_URL",
        "DB_USER",
        "DB_PASSWORD",
        "BASE64_CREDENTIALS",
        "CLIENT_CERT",
        "CLIENT_KEY",
        "_anything_ELSE_9",
    ] {
        let fields = format!(r#""command": "run", "env": {{"X": "<${{{name}}}>"}}"#);
        let set = Trial::entry(&fields).with(&[(name, "value")]);
        assert_eq!(set.environment(), owned(&[("X", "<value>")]));
        let unset = Trial::entry(&fields).errors();
        assert_eq!(unset, [format!("/s/env/X: variable `{name}` is not set")]);
    }
}
