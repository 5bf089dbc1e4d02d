//! HTTP 401 and 403: what is wrong with a credential.

use keyway_testkit::{Folder, Keyway};

use crate::doctor::server::{Answer, Server, mcp};
use crate::doctor::{KEYWAY, assert_fault, assert_works, doctor};

fn entry(url: &str, value: &str) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "{value}"}}}}}}"#
    ))
}

#[test]
fn a_refused_token_is_looked_at_and_the_right_one_works() {
    let server = Server::wants("authorization: Bearer CANARY-good");
    // {"exp": 1000000000}, in 2001.
    let expired = "eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.Q0FOQVJZ";
    let folder = entry(&server.url(), "Bearer ${TOKEN}");
    for (value, code, fix) in [
        (expired, "token-expired", "export TOKEN=…"),
        ("YOUR_TOKEN", "token-placeholder", "export TOKEN=…"),
        ("<token>", "token-placeholder", "export TOKEN=…"),
        ("xxx", "token-placeholder", "export TOKEN=…"),
        (
            "Bearer CANARY-good",
            "wrong-header-format",
            "take the scheme out of the value: export TOKEN=…",
        ),
        (
            " CANARY-good",
            "whitespace-in-value",
            "without the whitespace: export TOKEN=…",
        ),
        ("CANARY-bad", "auth-rejected", "keyway doctor s"),
        ("CANARY-bad ", "auth-rejected", "keyway doctor s"),
    ] {
        let outcome = doctor(&folder).env("TOKEN", value).run();
        let found = assert_fault(&outcome, code, 1, fix);
        assert_eq!(found["stage"], "challenge", "{value}");
        assert_eq!(found["http"]["status"], 401, "{value}");
        let message = found["message"].as_str().unwrap();
        assert!(
            message.contains("`Authorization` comes from `TOKEN`, which is set"),
            "{message}"
        );
        let names_blank = message.ends_with(": it begins or ends with a blank, which is not sent");
        assert_eq!(names_blank, value.ends_with(' '), "{message}");
        assert!(!outcome.everything().contains("eyJleHAi"), "{value}");
    }
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| !asked.contains("well-known"))
    );
    assert_works(&doctor(&folder).env("TOKEN", "CANARY-good").run());
    // A blank at the end does no harm: it is not sent.
    assert_works(&doctor(&folder).env("TOKEN", "CANARY-good ").run());
}

#[test]
fn a_variable_that_is_not_set_is_named_and_nothing_is_sent() {
    let server = Server::wants("authorization: Bearer CANARY-good");
    let folder = entry(&server.url(), "Bearer ${TOKEN}");
    let outcome = doctor(&folder).env("TOKNE", "CANARY-near").run();
    let fix = "`TOKNE` is set; is that the one? otherwise: export TOKEN=…, or keep it: keyway env set TOKEN";
    let found = assert_fault(&outcome, "unresolved-variable", 1, fix);
    assert_eq!(found["stage"], "variables");
    assert_eq!(found["source"]["line"], 1);
    // A line break would end the header.
    let outcome = doctor(&folder).env("TOKEN", "CANARY-good\n").run();
    let fix = r#"export TOKEN="$(printf %s "$TOKEN" | tr -d '\r\n')""#;
    let found = assert_fault(&outcome, "unusable-value", 1, fix);
    assert_eq!(found["stage"], "variables");
    assert!(server.asked().is_empty());
    // The command, as a shell takes it.
    let line = format!("{fix}; exec '{KEYWAY}' doctor --trust --format json");
    let call = Keyway::new("/bin/sh", folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let call = call.env("TOKEN", "CANARY-good\r\n");
    assert_works(&call.args(["-c", &line]).run());
    assert_works(&doctor(&folder).env("TOKEN", "CANARY-good").run());
}

#[test]
fn a_bare_token_is_mended_by_the_command_that_is_named() {
    let server = Server::wants("authorization: Bearer CANARY-good");
    let folder = entry(&server.url(), "${TOKEN}");
    let outcome = doctor(&folder).env("TOKEN", "CANARY-good").run();
    assert_fault(
        &outcome,
        "wrong-header-format",
        1,
        "keyway check --fix --unsafe-fixes",
    );
    let fixed = Keyway::new(KEYWAY, folder.path())
        .args(["check", "--fix", "--unsafe-fixes"])
        .run();
    assert!(!fixed.everything().contains("CANARY"));
    assert_works(&doctor(&folder).env("TOKEN", "CANARY-good").run());
}

#[test]
fn a_forbidden_request_says_what_is_missing() {
    let admin = "www-authenticate: Bearer error=\"admin_approval_required\"\r\n";
    let scope = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"files:write\"\r\n";
    for (status, told, more, code, fix) in [
        (
            403,
            scope,
            "",
            "insufficient-scope",
            "with the scope `files:write`",
        ),
        (
            401,
            scope,
            "",
            "insufficient-scope",
            "with the scope `files:write`",
        ),
        (
            403,
            admin,
            "",
            "admin-approval-needed",
            "ask the administrator",
        ),
        (
            403,
            "",
            r#", "X-Tenant-ID": "${TENANT}""#,
            "wrong-tenant",
            "export TENANT=…",
        ),
        (
            403,
            "",
            r#", "X-Workspace-ID": "${TENANT}""#,
            "wrong-tenant",
            "export TENANT=…",
        ),
        (403, "", "", "forbidden", "with more permissions"),
    ] {
        let told = told.to_owned();
        let server = Server::start(move |request| {
            if request
                .lines()
                .any(|line| line.eq_ignore_ascii_case("authorization: Bearer CANARY-may"))
            {
                return mcp(request);
            }
            Answer::empty(status, &told)
        });
        let folder = Folder::with_entries(&format!(
            r#"{{"s": {{"type": "http", "url": "{}", "headers": {{"Authorization": "Bearer ${{TOKEN}}"{more}}}}}}}"#,
            server.url()
        ));
        let call = |token: &str| {
            doctor(&folder)
                .env("TOKEN", token)
                .env("TENANT", "CANARY-other")
        };
        let found = assert_fault(&call("CANARY-x").run(), code, 1, fix);
        assert_eq!(found["http"]["status"], status);
        assert_works(&call("CANARY-may").run());
    }
}

#[test]
fn a_clock_that_is_wrong_is_told_with_the_refusal() {
    let server = Server::start(|request| {
        if request.contains("CANARY-good") {
            return mcp(request);
        }
        Answer::empty(401, "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
    });
    let folder = entry(&server.url(), "Bearer ${TOKEN}");
    let outcome = doctor(&folder).env("TOKEN", "CANARY-signed").run();
    let found = assert_fault(&outcome, "clock-skew", 1, "timedatectl");
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .contains("behind this one")
    );
    assert_works(&doctor(&folder).env("TOKEN", "CANARY-good").run());
}

/// A tenant may stand in the address as well.
#[test]
fn a_tenant_in_the_address_is_named_by_its_variable_and_another_one_works() {
    let server = Server::start(|request| {
        if request.starts_with("POST /acme/mcp ") {
            return mcp(request);
        }
        Answer::empty(403, "")
    });
    let origin = format!("http://127.0.0.1:{}", server.port);
    let folder = entry(
        &format!("{origin}/${{WORKSPACE_ID}}/mcp"),
        "Bearer ${TOKEN}",
    );
    let call = |workspace: &str| {
        let call = doctor(&folder).env("TOKEN", "CANARY-good");
        call.env("WORKSPACE_ID", workspace).run()
    };
    let found = assert_fault(&call("other"), "wrong-tenant", 1, "export WORKSPACE_ID=…");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.contains("the address comes from `WORKSPACE_ID`"),
        "{message}"
    );
    assert_works(&call("acme"));
}
