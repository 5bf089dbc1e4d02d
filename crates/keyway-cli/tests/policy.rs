//! `keyway policy`, while a gateway serves a client.

#![expect(clippy::expect_used, reason = "tests stop where they cannot go on")]

use keyway_testkit::{Folder, Gateway, Keyway, Outcome, Upstream, appears, mcp};
use serde_json::{Value, json};

/// A gateway with one server of two tools, and a client of it.
struct Served {
    folder: Folder,
    gateway: Gateway,
    token: String,
    _upstream: Upstream,
}

impl Served {
    fn start() -> Self {
        let upstream = Upstream::start(|request| {
            mcp(request, |method, _| match method {
                "tools/list" => Some(json!({"tools": [
                    {"name": "read_page", "inputSchema": {"type": "object"}},
                    {"name": "delete_page", "inputSchema": {"type": "object"}},
                ]})),
                "tools/call" => Some(json!({"content": [{"type": "text", "text": "done"}]})),
                _ => None,
            })
        });
        let url = upstream.url("/mcp");
        let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#);
        let folder = Folder::new().file("p/.mcp.json", entry);
        let call = || {
            let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
            call.env("KEYWAY_HOME", folder.at("home"))
        };
        let token = Gateway::token(call(), &["--name", "ci"]);
        let gateway = Gateway::start(call(), &["p"]);
        Self {
            gateway,
            token,
            folder,
            _upstream: upstream,
        }
    }

    fn keyway(&self, words: &[&str]) -> Outcome {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &self.folder.at("p"));
        let call = call.env("KEYWAY_HOME", self.folder.at("home"));
        call.args(words.iter().copied()).run()
    }

    /// Asks as a client that begins a session for it.
    fn ask(&self, method: &str, params: &Value) -> String {
        let post = |session: &str, message: Value| {
            let shown = format!("{}{session}", self.token);
            let message = message.to_string();
            self.gateway.post("/mcp/p/s", Some(&shown), &message)
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
        let welcome = post("", hello);
        let session = welcome.split("mcp-session-id: ").nth(1);
        let session = session.and_then(|rest| rest.split("\r\n").next());
        let session = format!("\r\nmcp-session-id: {}", session.expect(&welcome));
        let asked = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        post(&session, asked)
    }

    /// Waits until a list of the tools is as it should be: the gateway looks once a second.
    fn lists(&self, what: &str, is_right: impl Fn(&str) -> bool) {
        appears(what, || {
            let listed = self.ask("tools/list", &json!({}));
            is_right(&listed).then_some(listed)
        });
    }
}

#[test]
fn a_rule_for_a_pattern_reaches_a_gateway_that_runs_and_goes_again() {
    let served = Served::start();
    served.lists("both tools", |it| {
        it.contains("delete_page") && it.contains("read_page")
    });
    let set = served.keyway(&["policy", "deny", "s", "delete_*", "--client", "ci"]);
    assert_eq!(set.code, 0, "{}", set.everything());
    served.lists("one tool", |it| {
        !it.contains("delete_page") && it.contains("read_page")
    });
    let refused = served.ask("tools/call", &json!({"name": "delete_page"}));
    assert!(refused.contains("-32051"), "{refused}");
    let allowed = served.ask("tools/call", &json!({"name": "read_page"}));
    assert!(allowed.contains("done"), "{allowed}");
    let listed = served
        .keyway(&["policy", "list", "--format", "json"])
        .stdout;
    let listed: Value = serde_json::from_str(&listed).expect(&listed);
    assert_eq!(
        listed["policies"],
        json!([{"server": "p:s", "tool": "delete_*", "client": "ci", "rule": "deny",
            "is_in_config": false}])
    );
    let table = served.keyway(&["policy", "list"]).stdout;
    assert!(
        table.contains("delete_*") && table.contains("deny"),
        "{table}"
    );
    let reset = served.keyway(&["policy", "reset", "p:s", "delete_*", "--client", "ci"]);
    assert_eq!(reset.code, 0, "{}", reset.everything());
    served.lists("both tools again", |it| it.contains("delete_page"));
    assert_eq!(served.keyway(&["policy", "list"]).stdout, "no rules\n");
}

#[test]
fn a_tool_is_shown_before_it_is_accepted_and_one_that_is_not_there_is_not() {
    let served = Served::start();
    served.keyway(&["policy", "allow", "s", "*"]);
    let looked = served.keyway(&["policy", "look", "s", "read_page", "--yes"]);
    assert_eq!(looked.code, 0, "{}", looked.everything());
    assert!(
        looked.stdout.contains("\"inputSchema\""),
        "{}",
        looked.stdout
    );
    assert!(looked.stderr.contains("accepted"), "{}", looked.stderr);
    let unasked = served.keyway(&["policy", "look", "s", "read_page"]);
    assert_eq!(unasked.code, 1, "{}", unasked.everything());
    let none = served.keyway(&["policy", "look", "s", "none", "--yes"]);
    assert_eq!(none.code, 2, "{}", none.everything());
    let plugin = served.keyway(&["policy", "deny", "p:*", "x"]);
    assert_eq!(plugin.code, 2, "{}", plugin.everything());
}
