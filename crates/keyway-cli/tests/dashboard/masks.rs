//! What a server was given by Keyway does not come back on a page, whatever the server says.

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Canary, Desk, Folder, Request, Upstream, mcp};
use serde_json::{Value, json};

use crate::house::{House, Pass, wait_for};
use crate::waiting::{Waiting, plugin};
use keyway_config::names::path_segment;

/// In names, descriptions, results and errors: by a header, by a helper, by the environment.
#[test]
fn a_server_that_repeats_what_it_was_sent_is_shown_without_it() {
    let keys = ["Hq4zP7mX2kVw9Ls", "8Tn\"3Rc6\\Yb1Jd5", "Wf2Gx8Za5Qe7Uo3"].map(Canary::hidden);
    let [beta, gamma, printed] = &keys;
    let upstream = Upstream::start(repeating);
    let (url, refusing) = (upstream.url("/mcp"), upstream.url("/refusing"));
    let sends =
        r#""headers": {"X-Api-Key": "${BETA_KEY}", "Authorization": "Bearer ${GAMMA_KEY}"}"#;
    let entries = format!(
        r#"{{"sent": {{"type": "http", "url": "{url}", {sends}}},
            "refusing": {{"type": "http", "url": "{refusing}", {sends}}},
            "helped": {{"type": "http", "url": "{url}", "headersHelper": "./helper.sh"}},
            "local": {{"command": "./local.sh", "env": {{"KEY": "${{BETA_KEY}}"}}}}}}"#
    );
    let helper = format!(
        "#!/bin/sh\nprintf '{{\"X-Signature\": \"v1 {}\"}}'\n",
        printed.value()
    );
    let folder = Folder::new()
        .file("p/.mcp.json", entries)
        .executable("p/helper.sh", helper)
        .executable("p/local.sh", LOCAL);
    let variables = [("BETA_KEY", beta.value()), ("GAMMA_KEY", gamma.value())];
    let house = House::over(folder, &variables, &["--trust"]);
    let pass = house.enter(&house.open());
    let mut all = house.get("/", &pass);
    // A program is not started by a look.
    let mark = house.mark(&pass);
    house.post("/s/p/local/check", &pass, &format!("_mark={mark}"));
    for server in ["sent", "helped", "local"] {
        let page = wait_for(&format!("the tools of {server}"), || {
            let page = house.get(&format!("/s/p/{server}"), &pass);
            page.contains("It knows").then_some(page)
        });
        let called = call(&house, &pass, &format!("/s/p/{server}/tool/repeat"), None);
        assert!(called.contains("It got [redacted]"), "{called}");
        assert!(called.contains("besides, fine"), "{called}");
        let failed = call(&house, &pass, &format!("/s/p/{server}/tool/fail"), None);
        assert!(failed.contains("It fails on [redacted]"), "{failed}");
        all.extend([page, called, failed]);
    }
    let refused = wait_for("a fault", || {
        let page = house.get("/s/p/refusing", &pass);
        page.contains("What is wrong").then_some(page)
    });
    all.push_str(&refused);
    for path in ["/", "/s/p/sent", "/s/p/refusing"] {
        all.push_str(&house.stream(path, &pass));
    }
    for key in &keys {
        assert_eq!(
            key.leak(&all.replace("&quot;", "\"")),
            None,
            "{}",
            key.value()
        );
    }
    let seen = upstream.seen();
    let got = |name: &str, value: &str| seen.iter().any(|it| it.header(name) == Some(value));
    assert!(got("x-api-key", beta.value()), "the server itself gets it");
    // A call at the terminal gets what the server sent.
    let words = ["call", "local", "repeat", "--trust", "--config", "p"];
    let printed = house.keyway_with(&words, &variables);
    assert!(
        printed.stdout.contains(beta.value()),
        "{}",
        printed.everything()
    );
}

/// The one that was used for this very call.
#[test]
fn an_access_token_that_a_tool_returns_is_masked() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let place = Waiting::at(desk);
    let (pass, _stream) = place.open();
    let path = format!("/s/{}/s", path_segment(plugin(&place.desk).as_bytes()));
    wait_for("its tools", || {
        let page = place.house.get(&path, &pass);
        page.contains("Echoes the message").then_some(page)
    });
    let sent = place.desk.rig.seen("/mcp");
    let token = sent
        .iter()
        .rev()
        .find_map(|it| it.request.header("authorization"));
    let token = token.unwrap().strip_prefix("Bearer ").unwrap().to_owned();
    let tool = format!("{path}/tool/echo");
    let page = call(&place.house, &pass, &tool, Some(&token));
    let (_, result) = page.split_once("id=\"result\"").expect(&page);
    assert!(result.contains("Echo: [redacted]"), "{result}");
    assert!(!result.contains(&token));
}

/// Sends the form of a tool, with a first field if it is to have one; returns what came of it.
fn call(house: &House, pass: &Pass, path: &str, first: Option<&str>) -> String {
    let mut body = format!("_mark={}", house.mark(pass));
    if let Some(value) = first {
        let form = house.get(path, pass);
        let (_, field) = form.split_once("id=\"f0\" name=\"").expect(&form);
        body.push_str(&format!("&{}={value}", field.split_once('"').unwrap().0));
    }
    let answer = house.post(path, pass, &body);
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    house.get(path, pass)
}

/// Repeats the headers that are not part of the protocol.
fn repeating(request: &Request) -> Answer {
    let sent = ["x-api-key", "authorization", "x-signature"];
    let sent: Vec<&str> = sent
        .iter()
        .filter_map(|name| request.header(name))
        .collect();
    let sent = sent.join(", ");
    if request.path == "/refusing" {
        let body = json!({"error": {"message": format!("not with {sent}")}});
        let told = format!(
            "Bearer error=\"invalid_token\", error_description=\"{sent}\", scope=\"{sent}\""
        );
        return Answer::json(403, &body).with("www-authenticate", &told);
    }
    let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
    if message.pointer("/params/name") == Some(&Value::from("fail")) {
        let error = json!({"code": -32000, "message": format!("It fails on {sent}")});
        return Answer::json(
            200,
            &json!({"jsonrpc": "2.0", "id": message.get("id"), "error": error}),
        );
    }
    mcp(request, |method, _| match method {
        "tools/list" => Some(json!({"tools": [
            {"name": "repeat", "description": format!("It knows {sent}"),
             "inputSchema": {"type": "object", "properties": {"a": {"description": sent}}}},
            {"name": "fail", "title": sent, "inputSchema": {"type": "object"}},
            {"name": sent, "inputSchema": {"type": "object"}}]})),
        "tools/call" => Some(json!({"content": [
            {"type": "text", "text": format!("It got {sent}")},
            {"type": "text", "text": json!({"headers": sent}).to_string()},
            {"type": "resource_link", "uri": format!("x://{sent}"), "name": sent},
            {"type": "text", "text": "besides, fine"}]})),
        _ => None,
    })
}

/// The same over standard input and output, of its environment.
const LOCAL: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"'$KEY'","version":"1"}}' ;;
    *'"tools/list"'*) result='"result":{"tools":[{"name":"repeat","description":"It knows '$KEY'","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}' ;;
    *'"fail"'*) result='"error":{"code":-32000,"message":"It fails on '$KEY'"}' ;;
    *'"tools/call"'*) result='"result":{"content":[{"type":"text","text":"It got '$KEY', besides, fine"}]}' ;;
    *) result='"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$result"
done
"#;
