//! Servers of other people that speak another transport than the entry says.

use std::net::TcpListener;

use keyway_testkit::Folder;
use serde_json::Value;

use crate::tools::{Listening, NODE, PYTHON, Tools, keyway, script};

/// Asserts that `doctor` names the right `type`, and that following it works.
fn named(url: &str, wrong: &str, right: &str) {
    let entry = |kind: &str| {
        let rest = url.strip_prefix("http").unwrap();
        let scheme = if kind == "ws" { "ws" } else { "http" };
        format!(r#"{{"s": {{"type": "{kind}", "url": "{scheme}{rest}"}}}}"#)
    };
    let folder = Folder::with_entries(&entry(wrong));
    let outcome = keyway(&folder).args(["doctor", "--format", "json"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("\"code\": \"wrong-transport\""),
        "{}",
        outcome.stdout
    );
    let fix = format!(r#"\"type\": \"{right}\""#);
    assert!(outcome.stdout.contains(&fix), "{}", outcome.stdout);
    folder.put(".mcp.json", entry(right));
    let outcome = keyway(&folder).args(["doctor"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
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
    named(
        &format!("http://127.0.0.1:{}/mcp", http.port),
        "sse",
        "http",
    );
    named(&format!("http://127.0.0.1:{}/sse", sse.port), "http", "sse");
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
    let (http, sse) = (
        format!("http://127.0.0.1:{}/mcp", http.port),
        format!("http://127.0.0.1:{}/sse", sse.port),
    );
    for (url, right) in [(&http, "http"), (&sse, "sse")] {
        for wrong in ["http", "sse", "ws"] {
            if wrong != right {
                named(url, wrong, right);
            }
        }
    }
    // One on pipes listens nowhere, whatever the entry says of it.
    let nowhere = free_port();
    for (kind, scheme) in [("http", "http"), ("sse", "http"), ("ws", "ws")] {
        let folder = Folder::with_entries(&format!(
            r#"{{"s": {{"type": "{kind}", "url": "{scheme}://127.0.0.1:{nowhere}/mcp"}},
                "p": {{"command": "{}", "args": ["{}", "stdio"]}}}}"#,
            tools.at(NODE),
            tools.at(EVERYTHING),
        ));
        let call = |words: &[&str]| keyway(&folder).args(words.iter().copied()).run();
        let outcome = call(&["doctor", "--trust", "--format", "json"]);
        assert_eq!(outcome.code, 5, "{}", outcome.everything());
        let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(object["servers"][0]["code"], "unreachable", "{kind}");
        let what = object["servers"][1]["what"].as_str().unwrap();
        assert!(what.starts_with("MCP 20"), "both eras are spoken: {what}");
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}
