//! Servers of other people that speak another transport or another era than one may think.
//!
//! Each server is declared as every remote `type`. With the right one `doctor` connects, whichever
//! era the server is of, and says which; with a wrong one it names the right one.

use keyway_testkit::{Folder, Outcome, free_port};
use serde_json::Value;

use crate::tools::{Listening, NODE, PYTHON, RUST_PEER, Tools, keyway, script};

const MODERN: &str = "MCP 2026-07-28 (modern)";
const LEGACY: &str = "MCP 2025-11-25 (legacy)";

fn examined(folder: &Folder) -> (Outcome, Value) {
    let words = ["doctor", "--trust", "--format", "json"];
    let outcome = keyway(folder).args(words).run();
    let object = serde_json::from_str(&outcome.stdout).unwrap();
    (outcome, object)
}

/// Asserts that a server works, and that the table says in which protocol.
#[track_caller]
fn assert_spoken(folder: &Folder, spoken: &str) {
    let (outcome, object) = examined(folder);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let server = &object["servers"][0];
    let what = server["what"].as_str().unwrap();
    assert!(what.starts_with(&format!("{spoken}, ")), "{spoken}: {what}");
    let protocol = &server["protocol"];
    let (version, era) = (&protocol["version"], &protocol["era"]);
    let told = format!(
        "MCP {} ({})",
        version.as_str().unwrap(),
        era.as_str().unwrap()
    );
    assert_eq!(told, spoken);
    let table = keyway(folder).args(["doctor", "--trust"]).run();
    assert!(table.stdout.contains(spoken), "{}", table.stdout);
}

/// Declares one server as every type: the right one works, and a wrong one names the right one.
#[track_caller]
fn declared_as_all(url: &str, right: &str, spoken: &str) {
    let entry = |kind: &str| {
        let rest = url.strip_prefix("http").unwrap();
        let scheme = if kind == "ws" { "ws" } else { "http" };
        format!(r#"{{"s": {{"type": "{kind}", "url": "{scheme}{rest}"}}}}"#)
    };
    for wrong in ["http", "sse", "ws"] {
        let folder = Folder::with_entries(&entry(wrong));
        if wrong == right {
            assert_spoken(&folder, spoken);
            continue;
        }
        let (outcome, object) = examined(&folder);
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        let found = &object["diagnostics"][0];
        assert_eq!(found["code"], "wrong-transport", "{}", outcome.stdout);
        let message = found["message"].as_str().unwrap();
        let says = format!("says `{wrong}`, and the server answers as `{right}`, with {spoken}");
        assert!(message.contains(&says), "{message}");
        let hint = found["hint"].as_str().unwrap();
        let fix = format!("change the entry to \"type\": \"{right}\"");
        assert!(hint.contains(&fix), "{hint}");
        folder.put(".mcp.json", entry(right));
        let (outcome, _) = examined(&folder);
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }
}

fn local(program: &str, words: &[&str]) -> Folder {
    let words = serde_json::to_string(words).unwrap();
    Folder::with_entries(&format!(
        r#"{{"s": {{"command": "{program}", "args": {words}}}}}"#
    ))
}

#[test]
fn a_wrong_type_is_told_for_the_python_sdk() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    let words = |kind: &str| {
        let port = "PORT".to_owned();
        vec![tools.at(PYTHON), script("server.py"), kind.to_owned(), port]
    };
    let (http, sse) = (
        Listening::start(&words("http")),
        Listening::start(&words("sse")),
    );
    declared_as_all(
        &format!("http://127.0.0.1:{}/mcp", http.port),
        "http",
        MODERN,
    );
    declared_as_all(&format!("http://127.0.0.1:{}/sse", sse.port), "sse", LEGACY);
    let folder = local(&tools.at(PYTHON), &[&script("server.py"), "stdio"]);
    assert_spoken(&folder, MODERN);
}

/// The eras that the SDK can be told to speak: a server of one era alone is not a fault.
#[test]
fn a_server_of_one_era_alone_is_reached_and_its_era_is_told() {
    let Some(tools) = Tools::find(&[RUST_PEER]) else {
        return;
    };
    for (eras, spoken) in [("modern", MODERN), ("legacy", LEGACY), ("both", MODERN)] {
        let words = ["server", "http", "PORT", eras].map(str::to_owned);
        let http = Listening::start(&[&[tools.at(RUST_PEER)], words.as_slice()].concat());
        declared_as_all(
            &format!("http://127.0.0.1:{}/mcp", http.port),
            "http",
            spoken,
        );
        let folder = local(&tools.at(RUST_PEER), &["server", "stdio", eras]);
        assert_spoken(&folder, spoken);
    }
}

#[test]
fn a_wrong_type_is_told_for_server_everything() {
    const EVERYTHING: &str =
        "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let Some(tools) = Tools::find(&[NODE, EVERYTHING]) else {
        return;
    };
    let words = |kind: &str| {
        let line = format!("PORT=\"$2\" exec \"$0\" \"$1\" {kind}");
        let words = ["/bin/sh".to_owned(), "-c".to_owned(), line];
        let rest = [tools.at(NODE), tools.at(EVERYTHING), "PORT".to_owned()];
        words.into_iter().chain(rest).collect::<Vec<_>>()
    };
    let http = Listening::start(&words("streamableHttp"));
    let sse = Listening::start(&words("sse"));
    declared_as_all(
        &format!("http://127.0.0.1:{}/mcp", http.port),
        "http",
        LEGACY,
    );
    declared_as_all(&format!("http://127.0.0.1:{}/sse", sse.port), "sse", LEGACY);
    let folder = local(&tools.at(NODE), &[&tools.at(EVERYTHING), "stdio"]);
    assert_spoken(&folder, LEGACY);
    // One on pipes listens nowhere, whatever the entry says of it.
    let nowhere = free_port();
    for (kind, scheme) in [("http", "http"), ("sse", "http"), ("ws", "ws")] {
        let folder = Folder::with_entries(&format!(
            r#"{{"s": {{"type": "{kind}", "url": "{scheme}://127.0.0.1:{nowhere}/mcp"}}}}"#
        ));
        let (outcome, object) = examined(&folder);
        assert_eq!(outcome.code, 5, "{}", outcome.everything());
        assert_eq!(object["servers"][0]["code"], "unreachable", "{kind}");
        let hint = object["diagnostics"][0]["hint"].as_str().unwrap();
        assert!(hint.starts_with("start the server"), "{hint}");
    }
}
