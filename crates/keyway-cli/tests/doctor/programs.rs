//! Helpers and servers that are programs.

use keyway_testkit::Folder;

use crate::server::Server;
use crate::{assert_fault, assert_works, doctor};

#[test]
fn a_helper_is_told_by_the_rule_that_it_broke() {
    let server = Server::wants("x-key: CANARY-good");
    for (script, code, fix) in [
        ("exit 3", "helper-failed", "run the helper by hand"),
        ("echo CANARY", "helper-output", "one JSON object"),
        ("echo '{}'", "helper-empty", "one JSON object"),
        ("sleep 60", "helper-timeout", "run the helper by hand"),
    ] {
        let folder = Folder::with_entries(&format!(
            r#"{{"s": {{"type": "http", "url": "{}",
                "headersHelper": {{"command": ["./h.sh"], "timeoutMs": 1000}}}}}}"#,
            server.url()
        ))
        .executable("h.sh", format!("#!/bin/sh\n{script}\n"));
        let found = assert_fault(&doctor(&folder).run(), code, exit(code), fix);
        assert_eq!(found["stage"], "token", "{code}");
        let good = "#!/bin/sh\necho '{\"X-Key\": \"CANARY-good\"}'\n";
        let folder = folder.executable("h.sh", good);
        assert_works(&doctor(&folder).run());
    }
}

/// One that is late may be on time tomorrow.
fn exit(code: &str) -> i32 {
    if code == "helper-timeout" { 5 } else { 1 }
}

#[test]
fn a_program_that_ends_at_once_is_told_with_its_last_words() {
    let script =
        "#!/bin/sh\necho 'DATABASE_URL is not set' >&2\necho \"I have $TOKEN\" >&2\nexit 3\n";
    let folder =
        Folder::with_entries(r#"{"s": {"command": "./s.sh", "env": {"TOKEN": "${TOKEN}"}}}"#)
            .executable("s.sh", script);
    let outcome = doctor(&folder).env("TOKEN", "CANARY-of-the-child").run();
    let found = assert_fault(&outcome, "child-ended", 1, "run the command by hand");
    assert_eq!(found["last_lines"][0], "DATABASE_URL is not set");
    assert_eq!(found["stage"], "connect");
}

#[test]
fn a_program_that_is_not_there_cannot_be_started() {
    let folder = Folder::with_entries(r#"{"s": {"command": "no-such-program-anywhere"}}"#);
    assert_fault(
        &doctor(&folder).run(),
        "spawn-failed",
        1,
        "installed and in PATH",
    );
}
