//! Programs that run on the gateway for people: approved for that, confined, in a folder of each
//! person's own, and so many at once.

use std::time::{Duration, Instant};

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

/// Adds the program to what a team serves, and sets its key for all.
fn add_program(team: &Team) {
    let env = json!({
        "KEY": "${API_KEY}", "DATA": "${CLAUDE_PLUGIN_DATA}", "ALL": team.folder.at("home"),
    });
    let entry = json!({"command": "sh", "args": ["server.sh"], "env": env});
    let folder = &team.folder;
    folder.put("p/.mcp.json", json!({ "notes": entry }).to_string());
    folder.put("p/server.sh", SERVER);
    set_for_all(team, "key-for-all");
}

fn set_for_all(team: &Team, key: &str) {
    let set = keyway(&team.folder).args(["env", "set", "API_KEY"]);
    let set = set.stdin(format!("{key}\n")).run();
    assert_eq!(set.code, 0, "{}", set.everything());
}

/// Starts a gateway whose own files are in `home`.
fn serve(team: &Team, port: u16, home: &str) -> Gateway {
    let listen = format!("127.0.0.1:{port}");
    let serve = keyway(&team.folder).env("KEYWAY_HOME", team.folder.at(home));
    Gateway::listening(&serve.args(["serve", "--listen", &listen, "p"]))
}

fn token(team: &Team, tools: &Tools, name: &str) -> String {
    let report = team.person(tools, NOTES, name);
    report["token"].as_str().unwrap().to_owned()
}

/// An admin approves the program, confined.
fn approve(team: &Team) {
    let grant = ["trust", "grant", "notes", "--for-people", "--config"];
    let grant = keyway(&team.folder).args([&grant[..], &["p/.mcp.json"]].concat());
    let grant = grant.run();
    assert_eq!(grant.code, 0, "{}", grant.everything());
    assert!(grant.stderr.contains("confined"), "{}", grant.stderr);
}

/// Waits until the program answers a person and goes on: a session from before a gateway's looks at its
/// stores have settled is ended by one of them.
fn settles(gateway: &Gateway, token: &str, text: &str) {
    eventually("the program runs for a person, and goes on", || {
        let begun = Session::begin(gateway, token);
        let first = begun.keep(text);
        let since = Instant::now();
        let mut second = begun.keep(text);
        while since.elapsed() < SETTLED && second.contains("key-for-all; ") {
            second = begun.keep(text);
        }
        begun.end();
        let is_own = |answer: &str| answer.contains("key-for-all; ");
        is_own(&first) && is_own(&second)
    });
}

#[test]
fn a_program_runs_for_people_as_approved_confined_and_within_limits() {
    let Some(tools) = Tools::find(&[NODE, PROVIDER]) else {
        return;
    };
    let port = free_port();
    let limits = "programs_for_each = 2\nprograms_for_all = 3\n";
    let mut team = Team::prepare(&tools, port, limits, None);
    add_program(&team);
    let gateway = serve(&team, port, "home");
    team.gateways.push(gateway);
    let (ada, amy) = (token(&team, &tools, "ada"), token(&team, &tools, "amy"));
    let session = |token: &str| Session::begin(team.gateway(), token);
    let refused = session(&ada).keep("too-early");
    assert!(refused.contains("no admin approved"), "{refused}");

    approve(&team);
    settles(team.gateway(), &ada, "of-ada");

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
    // At the limit of a person the one that was idle for longest gives way.
    let third = session(&ada);
    let answer = third.keep("3");
    assert!(answer.contains("of-ada"), "{answer}");
    let refused = session(&amy).keep("4");
    let limit = "3 programs run at this gateway, which is the limit";
    assert!(refused.contains(limit), "{refused}");
    third.end();
    let another = session(&amy);
    eventually("there is room again", || {
        another.keep("5").contains("key-for-all")
    });

    // Another content is not what was approved: what runs ends, and new sessions are refused.
    team.folder.put("p/server.sh", format!("{SERVER}# more\n"));
    let over = |session: &Session<'_>| !session.keep("6").contains("key-for-all; ");
    eventually("nothing runs on", || over(&second) && over(&of_amy));
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

/// The replicas share the database alone, as two machines do.
#[test]
fn a_change_of_variables_or_approvals_ends_connections_at_every_replica() {
    let Some(tools) = Tools::find(&[NODE, PROVIDER]) else {
        return;
    };
    let server = PostgresServer::start();
    let database = server.create_database();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut team = Team::prepare(&tools, port, &on_database(&server, &database), None);
    let settings = std::fs::read_to_string(team.folder.at("home/config/config.toml")).unwrap();
    let folder = std::mem::replace(&mut team.folder, Folder::new());
    let folder = folder.file("other/config/config.toml", settings);
    team.folder = folder.mode("other/config", 0o700);
    add_program(&team);
    approve(&team);
    for home in ["home", "other"] {
        let gateway = serve(&team, 0, home);
        team.gateways.push(gateway);
    }
    team.relay_from(listener);
    let ada = token(&team, &tools, "ada");
    let all = || team.gateways.iter();
    let sessions = || -> Vec<Session<'_>> {
        all()
            .map(|gateway| settles(gateway, &ada, "of-ada"))
            .for_each(drop);
        all().map(|gateway| Session::begin(gateway, &ada)).collect()
    };
    let answers = |expected: &str| {
        eventually("each replica answers so in a new session", || {
            all().all(|gateway| {
                let begun = Session::begin(gateway, &ada);
                let answer = begun.keep("new");
                begun.end();
                answer.contains(expected)
            })
        });
    };
    let end = |sessions: &[Session<'_>]| {
        let is_over = |it: &Session<'_>| !it.keep("old").contains("key-for-all; ");
        eventually("each session with what was before ends", || {
            sessions.iter().all(is_over)
        });
    };

    let before = sessions();
    set_for_all(&team, "another-key");
    end(&before);
    answers("another-key; notes: ");
    set_for_all(&team, "key-for-all");
    let before = sessions();
    let revoke = ["trust", "revoke", "notes", "--config", "p/.mcp.json"];
    let revoked = keyway(&team.folder).args(revoke).run();
    assert_eq!(revoked.code, 0, "{}", revoked.everything());
    end(&before);
    answers("no admin approved");
}

const NOTES: &str = "/mcp/p/notes";

/// Longer than a gateway looks again at stores that have changed.
const SETTLED: Duration = Duration::from_secs(4);
