//! Helpers and servers that are programs.

use keyway_testkit::Folder;

use crate::doctor::server::Server;
use crate::doctor::{assert_fault, assert_works, doctor};

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
        let found = assert_fault(&doctor(&folder).run(), code, 1, fix);
        assert_eq!(found["stage"], "token", "{code}");
        let good = "#!/bin/sh\necho '{\"X-Key\": \"CANARY-good\"}'\n";
        let folder = folder.executable("h.sh", good);
        assert_works(&doctor(&folder).run());
    }
}

#[test]
fn a_program_that_ends_at_once_is_told_with_its_last_words() {
    let script =
        "#!/bin/sh\necho 'DATABASE_URL is not set' >&2\necho \"I have $TOKEN\" >&2\nexit 3\n";
    let folder =
        Folder::with_entries(r#"{"s": {"command": "./s.sh", "env": {"TOKEN": "${TOKEN}"}}}"#)
            .executable("s.sh", script);
    let outcome = doctor(&folder).env("TOKEN", "CANARY-of-the-child").run();
    let fix = "do what its last lines say, or run `./s.sh` by hand, with its `args`; then keyway doctor s";
    let found = assert_fault(&outcome, "child-ended", 1, fix);
    assert_eq!(found["last_lines"][0], "DATABASE_URL is not set");
    assert_eq!(found["stage"], "connect");
    let silent = folder.executable("s.sh", "#!/bin/sh\nexit 3\n");
    let outcome = doctor(&silent).env("TOKEN", "CANARY-of-the-child").run();
    assert_fault(
        &outcome,
        "child-ended",
        1,
        "it said nothing: run `./s.sh` by hand",
    );
    let mended = silent.executable("s.sh", SPEAKS);
    assert_works(&doctor(&mended).env("TOKEN", "CANARY-of-the-child").run());
}

#[test]
fn a_program_that_is_not_there_cannot_be_started() {
    let folder = Folder::with_entries(r#"{"s": {"command": "no-such-program-anywhere"}}"#);
    assert_fault(
        &doctor(&folder).run(),
        "spawn-failed",
        1,
        "install `no-such-program-anywhere`, or write its whole path into `command`; then keyway doctor s",
    );
    let folder = folder.executable("s.sh", SPEAKS);
    let path = folder.at("s.sh").display().to_string();
    let text = folder.read(".mcp.json");
    folder.put(".mcp.json", text.replace("no-such-program-anywhere", &path));
    assert_works(&doctor(&folder).run());
}

/// A server in a few lines.
pub(crate) const SPEAKS: &str = r##"#!/bin/sh
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;
