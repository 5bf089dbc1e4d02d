//! One server that refuses its credential, seen by every surface: all of them say the same.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use keyway_testkit::{Answer, Folder, Upstream};
use serde_json::{Value, json};

use crate::house::{House, wait_for};

const TOKEN: &str = "pZ4vX8mKq2Lw9Rt6Yb3NcH7Jd5";

/// What has to agree, without the `--config` that only hints for other folders need.
fn facts(found: &Value, place: &str) -> Value {
    let hint = found["hint"].as_str().unwrap();
    json!({
        "code": found["code"],
        "state": found["state"],
        "reason": found["reason"],
        "hint": hint.replace(&format!(" --config {place}"), ""),
        "fixable_by": found["fixable_by"],
    })
}

/// Returns the only diagnostic that a command prints.
fn diagnostic(house: &House, words: &[&str]) -> Value {
    let words = [words, &["--trust"]].concat();
    printed(house, &words, &[("API_TOKEN", TOKEN)])
}

fn printed(house: &House, words: &[&str], variables: &[(&str, &str)]) -> Value {
    let words = [words, &["--config", "p", "--format", "json"]].concat();
    let outcome = house.keyway_with(&words, variables);
    let object: Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|_| panic!("{}", outcome.everything()));
    let found = object.pointer("/diagnostics").unwrap().as_array().unwrap();
    assert_eq!(found.len(), 1, "{object:#}");
    found.first().unwrap().clone()
}

/// Returns what the status tool says that `keyway run` has in place of the server's own.
fn error_data(house: &House) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
        .args(["run", "s", "--config", "p", "--trust"])
        .current_dir(house.folder.path())
        .env("KEYWAY_HOME", house.folder.at("home"))
        .env("API_TOKEN", TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let status = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"status"}}"#;
    writeln!(stdin, "{hello}\n{status}").unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut answers = stdout.lines().map(|line| {
        let line = line.unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    });
    let welcome = answers
        .find(|answer| answer.get("id") == Some(&1.into()))
        .unwrap();
    assert!(
        welcome.pointer("/result").is_some_and(Value::is_object),
        "{welcome}"
    );
    // There is nothing to sign in to.
    let instructions = welcome.pointer("/result/instructions").unwrap().to_string();
    assert!(instructions.contains("keyway doctor"), "{instructions}");
    for absent in ["sign_in", "keyway login"] {
        assert!(!instructions.contains(absent), "{instructions}");
    }
    let told = answers
        .find(|answer| answer.get("id") == Some(&2.into()))
        .unwrap();
    drop(stdin);
    drop(child.wait());
    let told = told.pointer("/result/structuredContent");
    told.unwrap().clone()
}

/// Returns what the page of the server says.
fn page(house: &House) -> Value {
    let pass = house.enter(&house.open());
    assert!(house.get("/", &pass).contains("<h1>Servers</h1>"));
    let page = wait_for("the fault", || {
        let page = house.get("/s/p/s", &pass);
        page.contains("id=\"fault\"").then_some(page)
    });
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from).expect(text);
        rest.split_once(to).expect(rest).0.to_owned()
    };
    let fault = between(&page, "id=\"fault\"", "</section>");
    let mut hint = between(&fault, "<p class=\"fix\">", "</p>");
    for mark in ["<code class=\"copy\">", "<code>", "</code>"] {
        hint = hint.replace(mark, "");
    }
    json!({
        "code": between(&fault, "keyway explain ", "</code>"),
        "state": between(&fault, "data-state=\"", "\""),
        "reason": between(&fault, "data-reason=\"", "\""),
        "fixable_by": between(&fault, "data-fixable-by=\"", "\""),
        "hint": hint,
    })
}

#[test]
fn every_surface_tells_the_same_of_a_refused_credential() {
    let refusing = Upstream::start(|_| {
        Answer::empty(401).with("www-authenticate", r#"Bearer error="invalid_token""#)
    });
    let entries = format!(
        r#"{{"s": {{"type": "http", "url": "{}",
            "headers": {{"Authorization": "Bearer ${{API_TOKEN}}"}}}}}}"#,
        refusing.url("/mcp")
    );
    let folder = Folder::new().file("p/.mcp.json", entries);
    let place = folder.at("p").display().to_string();
    let house = House::over(folder, &[("API_TOKEN", TOKEN)], &["--trust"]);
    let expected = json!({
        "code": "auth-rejected",
        "state": "needs-auth",
        "reason": "auth-failed",
        "hint": "set a new value: export API_TOKEN=…; then keyway doctor s",
        "fixable_by": "person",
    });
    // The place of what was refused, and not only the entry's.
    let source = json!({"file": "p/.mcp.json", "line": 2, "column": 42,
        "pointer": "/s/headers/Authorization"});
    for words in COMMANDS {
        let found = diagnostic(&house, words);
        assert_eq!(facts(&found, &place), expected, "{words:?}");
        assert_eq!(found["source"], source, "{words:?}");
    }
    let data = error_data(&house);
    assert_eq!(facts(&data, &place), expected);
    assert_eq!(data["source"], source);
    assert_eq!(facts(&page(&house), &place), expected);
    // It sends nothing, so that it knows of no refusal; of what the entry needs it says the same.
    let status = house.keyway_with(
        &["status", "s", "--config", "p", "--format", "json"],
        &[("API_TOKEN", TOKEN)],
    );
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let server = &status["servers"][0];
    assert_eq!(
        server["variables"],
        json!([{"name": "API_TOKEN", "set": true, "from": "environment"}])
    );
    assert_eq!(server["code"], "pending-trust");
    assert_eq!(
        (&server["state"], &server["reason"]),
        (&json!("pending"), &json!("pending-trust"))
    );
    assert_eq!(server["fixable_by"], "person");
    assert_eq!(server["source"]["pointer"], "/s");
}

/// What is wrong with the way to a server, or with its program, names the entry.
#[test]
fn every_diagnostic_of_a_connection_names_the_place_of_its_entry() {
    let unused = TcpListener::bind("127.0.0.79:0").unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    let entries = format!(
        r#"{{"http": {{"type": "http", "url": "http://{address}/mcp"}},
            "sse": {{"type": "sse", "url": "http://{address}/sse"}},
            "program": {{"command": "no-such-program-anywhere"}},
            "empty": {{"type": "http", "url": ""}},
            "off": {{"command": "true", "disabled": true}}}}"#
    );
    let folder = Folder::new().file("p/.mcp.json", entries);
    let house = House::over(folder, &[], &["--trust"]);
    for (line, server, code) in [
        (1, "http", "unreachable"),
        (2, "sse", "unreachable"),
        (3, "program", "spawn-failed"),
        (4, "empty", "not-configured"),
        (5, "off", "disabled"),
    ] {
        for words in [
            &["tools", server][..],
            &["probe", server],
            &["call", server, "t"],
        ] {
            let found = diagnostic(&house, words);
            assert_eq!(found["code"], code, "{words:?}: {found:#}");
            assert_eq!(found["server"], server, "{words:?}: {found:#}");
            let source = &found["source"];
            assert_eq!(
                source["pointer"],
                format!("/{server}"),
                "{words:?}: {found:#}"
            );
            assert_eq!(source["line"], line, "{words:?}: {found:#}");
        }
    }
    let found = printed(&house, &["tools", "program"], &[]);
    assert_eq!(found["code"], "pending-trust", "{found:#}");
    assert_eq!(found["source"]["pointer"], "/program", "{found:#}");
}

/// What is known without a request is the same everywhere as well, the message included.
#[test]
fn every_surface_tells_the_same_of_a_missing_variable() {
    let entries = r#"{"s": {"type": "http", "url": "http://127.0.0.1:1/mcp",
        "headers": {"Authorization": "Bearer ${API_TOKEN}"}}}"#;
    let folder = Folder::new().file("p/.mcp.json", entries);
    let place = folder.at("p").display().to_string();
    let house = House::over(folder, &[], &["--trust"]);
    let words = ["doctor", "s", "--config", "p", "--format", "json"];
    let examined: Value = serde_json::from_str(&house.keyway(&words).stdout).unwrap();
    let examined = facts(&examined["diagnostics"][0], &place);
    let words = ["status", "s", "--config", "p", "--format", "json"];
    let status: Value = serde_json::from_str(&house.keyway(&words).stdout).unwrap();
    assert_eq!(facts(&status["servers"][0], &place), examined);
    assert_eq!(facts(&page(&house), &place), examined);
    assert_eq!(examined["code"], "unresolved-variable");
    // Nor does it matter that the entry is not approved: an approval would not help.
    for words in COMMANDS {
        let found = printed(&house, words, &[]);
        assert_eq!(facts(&found, &place), examined, "{words:?}");
        assert_eq!(found["source"]["pointer"], "/s/headers/Authorization");
    }
}

/// The commands that connect to one server.
const COMMANDS: [&[&str]; 4] = [
    &["doctor", "s"],
    &["tools", "s"],
    &["probe", "s"],
    &["call", "s", "echo"],
];
