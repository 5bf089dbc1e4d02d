//! People who sign in to the gateway itself: `oidc-provider` as their issuer, the official TypeScript
//! client as theirs, and the official Rust SDK's server behind the gateway. Another `oidc-provider`
//! stands before an MCP server that each person signs in to in their own browser.

mod programs;

use std::io::{self, BufRead as _, BufReader};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use keyway_testkit::{Folder, Gateway, PostgresServer, eventually, free_port, visit};
use serde_json::{Value, json};

use crate::tools::{Listening, NODE, RUST_PEER, Tools, keyway};

/// The issuer of the team, or a server with an authorization server of its own.
struct Peer {
    child: Child,
    said: Value,
}

impl Peer {
    fn start(tools: &Tools, script: &str) -> Self {
        let mut child = Command::new(tools.at(NODE))
            .args([server(script), tools.modules()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap();
        Self { child, said }
    }

    fn said(&self, what: &str) -> &str {
        self.said[what].as_str().unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The gateways of a team, in front of a server that wants a sign-in.
struct Team {
    issuer: Peer,
    protected: Peer,
    /// The one that takes no credential, where a test needs it.
    _server: Option<Listening>,
    /// Where people reach them.
    public: String,
    gateways: Vec<Gateway>,
    folder: Folder,
}

impl Team {
    /// One gateway, with its sign-ins in a vault.
    fn start(tools: &Tools) -> Self {
        let port = free_port();
        let mut team = Self::prepare(tools, port, "", None);
        team.add_gateway(port);
        team
    }

    /// The same, in front of a server that takes no credential as well.
    fn with_open_server(tools: &Tools) -> Self {
        let words = [
            tools.at(RUST_PEER),
            "server".into(),
            "http".into(),
            "PORT".into(),
        ];
        let port = free_port();
        let open = Listening::start(&words);
        let mut team = Self::prepare(tools, port, "", Some(open));
        team.add_gateway(port);
        team
    }

    /// Two gateways behind a proxy that passes requests on in turn, with their sign-ins in a database.
    fn of_replicas(tools: &Tools, server: &PostgresServer, database: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let settings = on_database(server, database);
        let mut team = Self::prepare(tools, port, &settings, None);
        for _ in 0..2 {
            team.add_gateway(0);
        }
        team.relay_from(listener);
        team
    }

    /// Passes connections on to the gateways in turn.
    fn relay_from(&self, listener: TcpListener) {
        let port = |gateway: &Gateway| {
            let address = gateway.url("");
            address.rsplit_once(':').unwrap().1.parse().unwrap()
        };
        let ports = self.gateways.iter().map(port).collect();
        drop(thread::spawn(move || relay(&listener, ports)));
    }

    /// Starts everything but the gateways, which people reach at a port.
    fn prepare(tools: &Tools, port: u16, settings: &str, open: Option<Listening>) -> Self {
        let issuer = Peer::start(tools, "people.mjs");
        let protected = Peer::start(tools, "protected.mjs");
        let name = issuer.said("issuer");
        let public = format!("http://127.0.0.1:{port}");
        let redirect = format!("{public}/oauth/callback");
        let client = browse(tools, &["register", name, &redirect]);
        let settings = format!(
            "[gateway]\npublic_url = \"{public}\"\n[gateway.people]\n\
             issuers = [\"{name}\"]\nalgorithms = [\"RS256\"]\nscopes = [\"mcp\"]\n\
             member_claim = \"groups\"\nmember_values = [\"team\"]\n\
             browser_clients = {{ \"{name}\" = {} }}\n{settings}",
            client["client"]
        );
        let guarded = json!({"type": "http", "url": protected.said("server")});
        let mut entries = json!({ "guarded": guarded });
        if let Some(open) = &open {
            let url = format!("http://127.0.0.1:{}/mcp", open.port);
            entries["open"] = json!({"type": "http", "url": url});
            let headers = json!({"X-Key": "${SHARED_KEY}"});
            entries["keyed"] = json!({"type": "http", "url": url, "headers": headers});
        }
        let folder = Folder::new()
            .file("p/.mcp.json", entries.to_string())
            .file("home/config/config.toml", settings)
            .mode("home/config", 0o700);
        Self {
            issuer,
            protected,
            _server: open,
            public,
            gateways: Vec::new(),
            folder,
        }
    }

    fn add_gateway(&mut self, port: u16) {
        let call = keyway(&self.folder).env("SHARED_KEY", "of the gateway");
        let listen = format!("127.0.0.1:{port}");
        let call = call.args(["serve", "--listen", &listen, "p", "--trust"]);
        self.gateways.push(Gateway::listening(&call));
    }

    fn gateway(&self) -> &Gateway {
        &self.gateways[0]
    }

    /// Lets the client of a person sign in, list and call; returns what it reports.
    fn person(&self, tools: &Tools, path: &str, name: &str) -> Value {
        let output = Command::new(tools.at(NODE))
            .args([server("person.mjs"), tools.modules()])
            .args([&format!("{}{path}", self.public), name])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let report = serde_json::from_slice(&output.stdout);
        report.unwrap_or_else(|_| panic!("{name}: {errors}"))
    }
}

/// Returns the settings of gateways that keep sign-ins in a database.
fn on_database(server: &PostgresServer, database: &str) -> String {
    let (address, key) = (server.address("keyway", database), "5a".repeat(32));
    format!("[vault]\naddress = \"{address}\"\nkey_command = \"echo {key}\"\n")
}

/// Passes connections on in turn, as a proxy before replicas does.
fn relay(listener: &TcpListener, ports: Vec<u16>) {
    let mut ports = ports.into_iter().cycle();
    for browser in listener.incoming() {
        let (browser, port) = (browser.unwrap(), ports.next().unwrap());
        let gateway = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let ways = [(&browser, &gateway), (&gateway, &browser)];
        for (from, to) in
            ways.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
        {
            drop(thread::spawn(move || {
                let (mut from, mut to) = (from, to);
                // Either side may be gone already.
                drop(io::copy(&mut from, &mut to));
                drop(to.shutdown(Shutdown::Write));
            }));
        }
    }
}

/// Plays a browser.
fn browse(tools: &Tools, words: &[&str]) -> Value {
    let output = Command::new(tools.at(NODE))
        .arg(server("browse.mjs"))
        .args(words)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout);
    report.unwrap_or_else(|_| panic!("{words:?}: {errors}"))
}

/// A person at the server that wants a sign-in: a token, a session and a browser.
struct Guest<'a> {
    team: &'a Team,
    gateway: &'a Gateway,
    tools: &'a Tools,
    name: &'a str,
    headers: String,
}

impl<'a> Guest<'a> {
    fn enter(team: &'a Team, gateway: &'a Gateway, tools: &'a Tools, name: &'a str) -> Self {
        let report = team.person(tools, "/mcp/p/guarded", name);
        let token = report["token"].as_str().unwrap();
        let begun = gateway.post("/mcp/p/guarded", Some(token), HELLO);
        assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
        let id = session_id(&begun);
        let headers = format!(
            "authorization: Bearer {token}\r\nmcp-session-id: {id}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        );
        Self {
            team,
            gateway,
            tools,
            name,
            headers,
        }
    }

    fn ask(&self, message: &str) -> String {
        self.gateway
            .request("POST", "/mcp/p/guarded", &self.headers, message)
    }

    /// Calls a tool, and returns the link that the answer holds.
    fn link(&self) -> String {
        let answer = self.ask(WHOAMI);
        let start = format!("{}/oauth/start/", self.team.public);
        let at = answer.find(&start).unwrap_or_else(|| panic!("{answer}"));
        let rest = &answer[at + start.len()..];
        let is_end = |it: char| !(it.is_ascii_alphanumeric() || "-_".contains(it));
        format!("{start}{}", &rest[..rest.find(is_end).unwrap()])
    }

    /// Opens an address in the person's browser.
    fn open(&self, address: &str, stop: &str) -> Value {
        let jar = self.team.folder.at(&format!("jar-{}", self.name));
        let jar = jar.to_str().unwrap();
        browse(self.tools, &["open", address, self.name, jar, stop])
    }
}

/// Opens an address in Chromium, with a profile and as the person of that name; returns the title of
/// the page that it leads to.
fn chromium(team: &Team, tools: &Tools, name: &str, address: &str) -> String {
    let output = Command::new(tools.at(NODE))
        .args([server("browser.mjs"), tools.modules()])
        .arg(address)
        .env("BROWSER_NAME", name)
        .env(
            "BROWSER_PROFILE",
            team.folder.at(&format!("profile-{name}")),
        )
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let page: Result<Value, _> = serde_json::from_slice(&output.stdout);
    let page = page.unwrap_or_else(|_| panic!("{name}: {errors}"));
    page["title"].as_str().unwrap().to_owned()
}

fn session_id(answer: &str) -> String {
    let id = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
    });
    id.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn server(name: &str) -> String {
    let manifest = env!("CARGO_MANIFEST_DIR");
    format!("{manifest}/../keyway-testkit/servers/{name}")
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const WHOAMI: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"whoami","arguments":{}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn a_person_signs_in_to_the_gateway_and_uses_its_servers() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER, PROVIDER]) else {
        return;
    };
    let team = Team::with_open_server(&tools);
    let ada = team.person(&tools, "/mcp/p/open", "ada");
    assert_eq!(ada["tools"], json!(["count", "echo", "greet"]), "{ada}");
    assert_eq!(ada["echo"], "Echo: hello", "{ada}");
    assert_eq!(ada["header"]["typ"], "at+jwt", "{ada}");
    assert_eq!(
        ada["claims"]["aud"],
        format!("{}/mcp", team.public),
        "{ada}"
    );

    // Another person of the issuer has a token that is as good, and no access.
    let eve = team.person(&tools, "/mcp/p/open", "eve");
    assert!(eve["token"].is_string() && eve["tools"].is_null(), "{eve}");
    let token = |report: &Value| report["token"].as_str().unwrap().to_owned();
    let refused = team
        .gateway()
        .post("/mcp/p/open", Some(&token(&eve)), HELLO);
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");

    // A third is let in, and neither session is the other's.
    let amy = team.person(&tools, "/mcp/p/open", "amy");
    assert_eq!(amy["echo"], "Echo: hello", "{amy}");
    let begun = team
        .gateway()
        .post("/mcp/p/open", Some(&token(&ada)), HELLO);
    let id = session_id(&begun);
    let list = |token: &str| {
        let headers = format!(
            "authorization: Bearer {token}\r\nmcp-session-id: {id}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        );
        team.gateway()
            .request("POST", "/mcp/p/open", &headers, LIST)
    };
    assert!(list(&token(&ada)).starts_with("HTTP/1.1 200"));
    assert!(list(&token(&amy)).starts_with("HTTP/1.1 404"));

    // What the gateway has for a server is not for people, unless it is shared.
    let keyed = team.person(&tools, "/mcp/p/keyed", "ada");
    assert_ne!(keyed["echo"], "Echo: hello", "{keyed}");

    // The tokens went no further.
    let said = team.gateway().said();
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

#[test]
fn each_person_signs_in_in_their_own_browser_and_no_link_serves_another() {
    let Some(tools) = Tools::find(&[NODE, PROVIDER]) else {
        return;
    };
    sign_in_each(&Team::start(&tools), &tools);
}

#[test]
fn two_profiles_of_chromium_are_two_people() {
    let Some(tools) = Tools::find(&[NODE, PROVIDER]) else {
        return;
    };
    let team = Team::start(&tools);
    let ada = Guest::enter(&team, team.gateway(), &tools, "ada");
    let amy = Guest::enter(&team, team.gateway(), &tools, "amy");
    let open = |name, link: &str| chromium(&team, &tools, name, link);
    let other = "This link is for another person – Keyway";
    assert_eq!(open("amy", &ada.link()), other);
    assert_eq!(open("ada", &amy.link()), other);
    let signed_in = "You are signed in – Keyway";
    assert_eq!(open("ada", &ada.link()), signed_in);
    assert_eq!(open("amy", &amy.link()), signed_in);
    for guest in [&ada, &amy] {
        let own = format!("{} read", guest.name);
        eventually("the call works", || guest.ask(WHOAMI).contains(&own));
    }
}

/// Each request of a browser goes to the other of two gateways.
#[test]
fn a_sign_in_goes_on_at_any_replica_and_is_stored_under_its_person() {
    let Some(tools) = Tools::find(&[NODE, PROVIDER]) else {
        return;
    };
    let server = PostgresServer::start();
    let database = server.create_database();
    let team = Team::of_replicas(&tools, &server, &database);
    sign_in_each(&team, &tools);
    let people = server.sql(
        &database,
        "SELECT person FROM keyway.grants ORDER BY person",
    );
    let issuer = team.issuer.said("issuer");
    assert_eq!(people, format!("{issuer} ada\n{issuer} amy"));
}

/// Two people sign in to the server, and each tries what the other got.
fn sign_in_each(team: &Team, tools: &Tools) {
    let ada = Guest::enter(team, team.gateway(), tools, "ada");
    let amy = Guest::enter(team, &team.gateways[team.gateways.len() - 1], tools, "amy");
    let redeemed = || {
        let journal = visit(team.protected.said("journal")).unwrap().body;
        let journal: Vec<Value> = serde_json::from_str(&journal).unwrap();
        let grants = journal
            .iter()
            .filter(|it| it["grant"] == "authorization_code");
        grants.count()
    };
    // `initialize` was answered, and so are lists, before there is a sign-in.
    let tools_listed = ada.ask(LIST);
    assert!(tools_listed.contains("sign_in"), "{tools_listed}");

    // The other's link, in the browser of a person of the same team.
    let link = ada.link();
    let page = amy.open(&link, "");
    assert_eq!(page["status"], 403, "{page}");
    assert_eq!(page["title"], "This link is for another person – Keyway");
    assert_eq!(redeemed(), 0);

    // One's own.
    let page = ada.open(&link, "");
    assert_eq!(page["status"], 200, "{page}");
    assert_eq!(page["title"], "You are signed in – Keyway");
    eventually("ada's call works", || ada.ask(WHOAMI).contains("ada read"));
    assert_eq!(redeemed(), 1);
    let page = ada.open(&link, "");
    assert_eq!(page["title"], "This link was used already – Keyway");

    // The other has nothing of it, and her answer counts in her own browser, once.
    let below = format!("{}/oauth/callback/", team.public);
    let callback = amy.open(&amy.link(), &below);
    let callback = callback["url"].as_str().unwrap();
    let page = ada.open(callback, "");
    assert_eq!(page["status"], 403, "{page}");
    let title = "This sign-in was begun in another browser – Keyway";
    assert_eq!(page["title"], title);
    assert_eq!(redeemed(), 1);
    let page = amy.open(callback, "");
    assert_eq!(page["title"], "You are signed in – Keyway", "{page}");
    let page = amy.open(callback, "");
    assert_eq!(page["title"], "This link was used already – Keyway");
    eventually("amy's call works", || amy.ask(WHOAMI).contains("amy read"));
    assert!(ada.ask(WHOAMI).contains("ada read"));
    assert_eq!(redeemed(), 2);
}

const PROVIDER: &str = "npm/node_modules/oidc-provider/package.json";
