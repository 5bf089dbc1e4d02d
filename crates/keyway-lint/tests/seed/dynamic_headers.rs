//! Section 5.5: a script that prints headers. What it prints is looked at once it is run.

use keyway_config::declared::Refresh;
use keyway_config::method::Method;
use keyway_config::plugin::ProgramState;

use crate::trial::{NOTHING, Trial, owned};

const HELPER: &str = "${HOST_PLUGIN_ROOT}/scripts/headers.sh";

fn with_helper(more: &str) -> Trial {
    Trial::entry(&format!(
        r#""type": "http", "url": "https://h.example/mcp", "headersHelper": "{HELPER}"{more}"#
    ))
}

#[test]
fn seed_5_5_1_the_helper_names_an_executable_script() {
    let id = "helper-not-executable";
    let place: &[String] = &["/s/headersHelper".to_owned()];
    for (state, expected) in [
        (ProgramState::Executable, NOTHING),
        (ProgramState::NotExecutable, place),
        (ProgramState::Missing, place),
    ] {
        let trial = with_helper("").script(HELPER, state, "#!/bin/sh\n");
        assert_eq!(trial.found(id), expected, "{state:?}");
    }
}

#[test]
fn seed_5_5_3_headers_are_made_by_the_script_and_as_often_as_it_takes() {
    let beside_static = with_helper(r#", "headers": {"X-API-Key": "${API_KEY}"}"#);
    let trial = beside_static.with(&[("API_KEY", "k")]);
    assert_eq!(trial.method(), Method::Dynamic);
    assert_eq!(trial.sent(), owned(&[("X-API-Key", "k")]));

    let timed = Trial::entry(
        r#""type": "http", "url": "https://h.example/mcp",
           "headersHelper": {"command": ["./sign.sh", "v2"], "refresh": "request", "ttlMs": 30000}"#,
    );
    let Some(helper) = timed.remote().helper else {
        panic!("the object form is a helper");
    };
    assert_eq!(
        (helper.refresh, helper.ttl_ms),
        (Refresh::Request, Some(30_000))
    );
    assert_eq!(timed.method(), Method::Dynamic);
}

#[test]
fn seed_5_5_4_jwt_script_gets_the_variables_of_its_entry() {
    let script = "#!/bin/sh\njwt=$(get-jwt --user \"$USER_ID\")\n\
                  echo \"{\\\"Authorization\\\": \\\"Bearer $jwt\\\"}\"\n";
    let passed = with_helper(r#", "env": {"USER_ID": "${USER_ID}"}"#);
    let trial = passed
        .script(HELPER, ProgramState::Executable, script)
        .with(&[("USER_ID", "u-1")]);
    assert_eq!(trial.method(), Method::Dynamic);
    assert_eq!(trial.environment(), owned(&[("USER_ID", "u-1")]));
    let found = trial.lint_env();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn seed_5_5_5_hmac_script_is_reported_until_its_entry_passes_the_secret() {
    let script = "#!/bin/sh\nt=$(date -Iseconds)\ns=$(sign \"$t\" \"$SIGNING_SECRET\")\n\
        printf '{\"X-Timestamp\":\"%s\",\"X-Signature\":\"%s\",\"X-API-Key\":\"%s\"}' \"$t\" \"$s\" \"$API_KEY\"\n";
    let id = "helper-needs-env";
    let starving = with_helper("").script(HELPER, ProgramState::Executable, script);
    assert_eq!(starving.found(id).len(), 1);
    let env = r#", "env": {"SIGNING_SECRET": "${SIGNING_SECRET}", "API_KEY": "${API_KEY}"}"#;
    let fed = with_helper(env)
        .script(HELPER, ProgramState::Executable, script)
        .with(&[("SIGNING_SECRET", "s-1"), ("API_KEY", "k-1")]);
    assert_eq!(fed.found(id), NOTHING);
    assert_eq!(
        fed.environment(),
        owned(&[("SIGNING_SECRET", "s-1"), ("API_KEY", "k-1")])
    );
}
