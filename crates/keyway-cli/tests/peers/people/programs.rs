//! Programs that run on the gateway for people: approved for that, confined, in a folder of each
//! person's own, and so many at once.

use std::time::Duration;

use super::*;

/// Keeps what a call says in the folder that it got, and answers with everything that it can read.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*)
        result='{"tools":[{"name":"keep","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
        text=$(printf '%s' "$line" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
        mkdir -p "$DATA" && printf '%s ' "$text" >>"$DATA/note.txt"
        notes=$(find "$ALL" -name note.txt -exec cat '{}' + 2>/dev/null)
        settings=$(cat "$ALL/config/config.toml" 2>/dev/null | wc -c)
        result="{\"content\":[{\"type\":\"text\",\"text\":\"$KEY; notes: $notes; settings: $settings\"}]}" ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// One session of a person with the program.
struct Session<'a> {
    gateway: &'a Gateway,
    headers: String,
}

impl<'a> Session<'a> {
    fn begin(gateway: &'a Gateway, token: &str) -> Self {
        let begun = gateway.post(NOTES, Some(token), HELLO);
        assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
        let id = session_id(&begun);
        let headers = format!(
            "authorization: Bearer {token}\r\nmcp-session-id: {id}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        );
        Self { gateway, headers }
    }

    fn keep(&self, text: &str) -> String {
        let call = json!({
            "jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "keep", "arguments": {"text": text}},
        });
        let headers = &self.headers;
        self.gateway
            .request("POST", NOTES, headers, &call.to_string())
    }

    fn end(self) {
        drop(self.gateway.request("DELETE", NOTES, &self.headers, ""));
    }
}

#[test]
fn a_program_runs_for_people_as_approved_confined_and_within_limits() {
    let Some(tools) = Tools::find(&[NODE, PROVIDER]) else {
        return;
    };
    let port = free_port();
    let limits = "programs_for_each = 2\nprograms_for_all = 3\n";
    let mut team = Team::prepare(&tools, port, limits, None);
    let env = json!({
        "KEY": "${API_KEY}", "DATA": "${CLAUDE_PLUGIN_DATA}", "ALL": team.folder.at("home"),
    });
    let entry = json!({"command": "sh", "args": ["server.sh"], "env": env});
    let folder = &team.folder;
    folder.put("p/.mcp.json", json!({ "notes": entry }).to_string());
    folder.put("p/server.sh", SERVER);
    let set = keyway(folder).args(["env", "set", "API_KEY"]);
    let set = set.stdin("key-for-all\n").run();
    assert_eq!(set.code, 0, "{}", set.everything());
    let listen = format!("127.0.0.1:{port}");
    let serve = keyway(folder).args(["serve", "--listen", &listen, "p"]);
    let gateway = Gateway::listening(&serve);
    team.gateways.push(gateway);
    let token = |name| {
        let report = team.person(&tools, NOTES, name);
        report["token"].as_str().unwrap().to_owned()
    };
    let (ada, amy) = (token("ada"), token("amy"));
    let session = |token: &str| Session::begin(team.gateway(), token);
    let refused = session(&ada).keep("too-early");
    assert!(refused.contains("no admin approved"), "{refused}");

    let grant = ["trust", "grant", "notes", "--for-people", "--config"];
    let grant = keyway(&team.folder).args([&grant[..], &["p/.mcp.json"]].concat());
    let grant = grant.run();
    assert_eq!(grant.code, 0, "{}", grant.everything());
    assert!(grant.stderr.contains("confined"), "{}", grant.stderr);
    // A session from before the gateway's looks at the vault have settled is ended by one of them.
    eventually("the program runs for a person, and goes on", || {
        let begun = session(&ada);
        let first = begun.keep("of-ada");
        thread::sleep(Duration::from_secs(4));
        let second = begun.keep("of-ada");
        begun.end();
        let is_own = |answer: &str| answer.contains("key-for-all; notes: of-ada");
        is_own(&first) && is_own(&second)
    });

    // Neither notes of the other nor anything else of the gateway's.
    let of_amy = session(&amy);
    let answer = of_amy.keep("of-amy");
    let only = "key-for-all; notes: of-amy ; settings: 0";
    assert!(answer.contains(only), "{answer}");

    // Each session has a process of its own; a person has two, and all together three.
    let (first, second) = (session(&ada), session(&ada));
    eventually("sessions that have ended make room", || {
        first.keep("1").contains("of-ada") && second.keep("2").contains("of-ada")
    });
    let third = session(&ada);
    let refused = third.keep("3");
    let limit = "2 programs run for you at this gateway, which is the limit";
    assert!(refused.contains(limit), "{refused}");
    let refused = session(&amy).keep("4");
    let limit = "3 programs run at this gateway, which is the limit";
    assert!(refused.contains(limit), "{refused}");
    first.end();
    eventually("there is room again", || {
        third.keep("5").contains("key-for-all")
    });

    // Another content is not what was approved: sessions end, and new ones are refused.
    team.folder.put("p/server.sh", format!("{SERVER}# more\n"));
    let over = |session: &Session<'_>| session.keep("6").starts_with("HTTP/1.1 404");
    eventually("sessions end", || over(&second) && over(&of_amy));
    let refused = session(&ada).keep("7");
    assert!(refused.contains("no admin approved"), "{refused}");
    // What the refusal says to do is enough.
    let (_, digest) = refused.split_once("--for-people --digest ").unwrap();
    let grant = ["trust", "grant", "notes", "--for-people", "--config"];
    let grant = [&grant[..], &["p/.mcp.json", "--digest", &digest[..64]]].concat();
    let grant = keyway(&team.folder).args(grant).without_digests().run();
    assert_eq!(grant.code, 0, "{}", grant.everything());
    eventually("it runs again", || {
        let begun = session(&ada);
        let answer = begun.keep("8");
        begun.end();
        answer.contains("key-for-all")
    });
}

const NOTES: &str = "/mcp/p/notes";
