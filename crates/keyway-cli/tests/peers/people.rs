//! People who sign in to the gateway itself: `oidc-provider` as their issuer, the official TypeScript
//! client as theirs, and the official Rust SDK's server behind the gateway.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use keyway_testkit::{Folder, Gateway, free_port};
use serde_json::{Value, json};

use crate::tools::{Listening, NODE, RUST_PEER, Tools, keyway};

/// The issuer of the team.
struct Issuer {
    child: Child,
    name: String,
}

impl Issuer {
    fn start(tools: &Tools) -> Self {
        let mut child = Command::new(tools.at(NODE))
            .args([server("people.mjs"), tools.modules()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        let name = found["issuer"].as_str().unwrap().to_owned();
        Self { child, name }
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A gateway of a team, in front of one server that takes no credential.
struct Team {
    _issuer: Issuer,
    _server: Listening,
    gateway: Gateway,
    folder: Folder,
}

impl Team {
    fn start(tools: &Tools) -> Self {
        let issuer = Issuer::start(tools);
        let words = [
            tools.at(RUST_PEER),
            "server".into(),
            "http".into(),
            "PORT".into(),
        ];
        let server = Listening::start(&words);
        let port = free_port();
        let settings = format!(
            "[gateway]\npublic_url = \"http://127.0.0.1:{port}\"\n[gateway.people]\n\
             issuers = [\"{}\"]\nalgorithms = [\"RS256\"]\nscopes = [\"mcp\"]\n\
             member_claim = \"groups\"\nmember_values = [\"team\"]\n",
            issuer.name
        );
        let entries = json!({
            "open": {"type": "http", "url": format!("http://127.0.0.1:{}/mcp", server.port)},
            "keyed": {
                "type": "http",
                "url": format!("http://127.0.0.1:{}/mcp", server.port),
                "headers": {"X-Key": "${SHARED_KEY}"},
            },
        });
        let folder = Folder::new()
            .file("p/.mcp.json", entries.to_string())
            .file("home/config/config.toml", settings)
            .mode("home/config", 0o700);
        let call = keyway(&folder).env("SHARED_KEY", "of the gateway");
        let listen = format!("127.0.0.1:{port}");
        let call = call.args(["serve", "--listen", &listen, "p", "--trust"]);
        let gateway = Gateway::listening(&call);
        Self {
            _issuer: issuer,
            _server: server,
            gateway,
            folder,
        }
    }

    /// Lets the client of a person sign in, list and call; returns what it reports.
    fn person(&self, tools: &Tools, path: &str, name: &str) -> Value {
        let output = Command::new(tools.at(NODE))
            .args([server("person.mjs"), tools.modules()])
            .args([&self.gateway.url(path), name])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let report = serde_json::from_slice(&output.stdout);
        report.unwrap_or_else(|_| panic!("{name}: {errors}"))
    }
}

fn server(name: &str) -> String {
    let manifest = env!("CARGO_MANIFEST_DIR");
    format!("{manifest}/../keyway-testkit/servers/{name}")
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn a_person_signs_in_to_the_gateway_and_uses_its_servers() {
    let Some(tools) = Tools::find(&[
        NODE,
        RUST_PEER,
        "npm/node_modules/oidc-provider/package.json",
    ]) else {
        return;
    };
    let team = Team::start(&tools);
    let ada = team.person(&tools, "/mcp/p/open", "ada");
    assert_eq!(ada["tools"], json!(["count", "echo", "greet"]), "{ada}");
    assert_eq!(ada["echo"], "Echo: hello", "{ada}");
    assert_eq!(ada["header"]["typ"], "at+jwt", "{ada}");
    assert_eq!(ada["claims"]["aud"], team.gateway.url("/mcp"), "{ada}");

    // Another person of the issuer has a token that is as good, and no access.
    let eve = team.person(&tools, "/mcp/p/open", "eve");
    assert!(eve["token"].is_string() && eve["tools"].is_null(), "{eve}");
    let token = |report: &Value| report["token"].as_str().unwrap().to_owned();
    let refused = team.gateway.post("/mcp/p/open", Some(&token(&eve)), HELLO);
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");

    // A third is let in, and neither session is the other's.
    let amy = team.person(&tools, "/mcp/p/open", "amy");
    assert_eq!(amy["echo"], "Echo: hello", "{amy}");
    let begun = team.gateway.post("/mcp/p/open", Some(&token(&ada)), HELLO);
    let id = begun.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
    });
    let id = id.unwrap_or_else(|| panic!("{begun}"));
    let list = |token: &str| {
        let headers = format!(
            "authorization: Bearer {token}\r\nmcp-session-id: {id}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        );
        team.gateway.request("POST", "/mcp/p/open", &headers, LIST)
    };
    assert!(list(&token(&ada)).starts_with("HTTP/1.1 200"));
    assert!(list(&token(&amy)).starts_with("HTTP/1.1 404"));

    // What the gateway has for a server is not for people, unless it is shared.
    let keyed = team.person(&tools, "/mcp/p/keyed", "ada");
    assert_ne!(keyed["echo"], "Echo: hello", "{keyed}");

    // The tokens went no further.
    let said = team.gateway.said();
    let files = team.folder.files().into_iter();
    let kept: Vec<_> = files
        .filter_map(|name| std::fs::read(team.folder.at(&name)).ok())
        .collect();
    let kept = String::from_utf8_lossy(&kept.concat()).into_owned();
    for report in [&ada, &eve, &amy] {
        let signature = token(report).rsplit_once('.').unwrap().1.to_owned();
        assert!(!said.contains(&signature) && !kept.contains(&signature));
    }
}
