//! Servers of other people that speak another transport than the entry says.

use keyway_testkit::Folder;

use crate::tools::{Listening, NODE, PYTHON, Tools, keyway, script};

/// Asserts that `doctor` names the right `type`, and that following it works.
fn named(url: &str, wrong: &str, right: &str) {
    let entry = |kind: &str| format!(r#"{{"s": {{"type": "{kind}", "url": "{url}"}}}}"#);
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
    named(
        &format!("http://127.0.0.1:{}/mcp", http.port),
        "sse",
        "http",
    );
    named(&format!("http://127.0.0.1:{}/sse", sse.port), "http", "sse");
}
