//! The control API on the private socket, as a host in another language uses it.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test whose gateway is broken must stop; hosts are programs of their own"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use keyway_config::names::path_segment;
use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Folder, Gateway, Keyway, PATIENCE, Terminal, eventually, visit};
use serde_json::{Value, json};

/// A gateway, and its private socket.
struct Served {
    desk: Desk,
    gateway: Gateway,
}

/// One answer of the control API.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: Value,
    text: String,
}

impl Served {
    /// Serves the rig, approved for this run.
    fn start() -> Self {
        let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
        let gateway = Gateway::start(desk.without_browser(&[]), &["--trust"]);
        Self { desk, gateway }
    }

    /// Returns the id of the server.
    fn id(&self) -> String {
        let plugin = self.desk.folder.path().file_name().unwrap();
        format!("{}:s", plugin.to_string_lossy())
    }

    fn connect(&self) -> UnixStream {
        connect(&self.desk.folder.at("home/keyway"))
    }

    fn ask(&self, method: &str, path: &str, (headers, body): (&str, &str)) -> Answer {
        ask(self.connect(), method, path, (headers, body))
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, ("", ""))
    }

    /// Does something to the server.
    fn act(&self, word: &str) -> Answer {
        let path = format!("/v1/servers/{}/{word}", path_segment(self.id()));
        self.ask("POST", &path, ("", ""))
    }
}

fn connect(home: &Path) -> UnixStream {
    let stream = UnixStream::connect(home.join("runtime/gateway.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(stream: &mut UnixStream, method: &str, path: &str, (headers, body): (&str, &str)) {
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}connection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
}

fn ask(mut stream: UnixStream, method: &str, path: &str, more: (&str, &str)) -> Answer {
    send(&mut stream, method, path, more);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let body = serde_json::from_str(body).unwrap_or(Value::Null);
    Answer { status, body, text }
}

/// Checks an answer against the OpenAPI document that the same gateway serves.
fn fits(document: &Value, schema: &str, answer: &Value) {
    let whole = json!({
        "$ref": format!("#/components/schemas/{schema}"),
        "components": document["components"],
    });
    let validator = jsonschema::validator_for(&whole).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{schema}: {problems:?}\n{answer:#}");
}

#[test]
fn a_host_begins_a_sign_in_and_a_person_completes_it_and_no_answer_holds_a_token() {
    let served = Served::start();
    let document = served.get("/v1/openapi.json").body;
    let mut seen = String::new();
    let mut note = |answer: Answer, schema: &str| {
        assert_eq!(answer.status, 200, "{}", answer.text);
        fits(&document, schema, &answer.body);
        seen.push_str(&answer.text);
        answer.body
    };
    let all = note(served.get("/v1/servers"), "ServerList");
    assert_eq!(all["servers"][0]["id"], served.id());
    let mut events = served.connect();
    send(&mut events, "GET", "/v1/events", ("", ""));
    let mut events = BufReader::new(events);
    let mut told = String::new();
    while !told.contains("\n:\n") {
        assert_ne!(events.read_line(&mut told).unwrap(), 0, "{told}");
    }

    let begun = note(served.act("sign-in"), "Server");
    assert_eq!(begun["state"], "needs-auth", "{begun:#}");
    let page = begun["consent"]["page"].as_str().unwrap().to_owned();
    // Beginning gives nothing: without the person there is no token.
    assert_eq!(served.desk.rig.secrets().len(), 0);
    drop(visit(&page).unwrap());
    while !told.contains("event: auth.completed") {
        assert_ne!(events.read_line(&mut told).unwrap(), 0, "{told}");
    }
    assert!(!told.contains("event: auth.failed"), "{told}");

    let mut checked = note(served.act("check"), "Server");
    eventually("the server was examined", || {
        let path = format!("/v1/servers/{}", path_segment(served.id()));
        checked = served.get(&path).body;
        checked["busy"] == false && checked["state"] == "connected"
    });
    note(served.act("check"), "Server");
    assert!(
        !checked["tools"].as_array().unwrap().is_empty(),
        "{checked:#}"
    );
    let status = served.desk.keyway(&["status", "--format", "json"]).run();
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    for member in [
        "id",
        "transport",
        "method",
        "account",
        "scopes",
        "variables",
    ] {
        assert_eq!(checked[member], status["servers"][0][member], "{member}");
    }

    let secrets = served.desk.rig.secrets();
    assert!(!secrets.is_empty());
    let out = note(served.act("sign-out"), "Server");
    assert!(out["note"].as_str().unwrap().contains("revoked"), "{out:#}");
    let printed = format!("{seen}{told}{}", served.gateway.said());
    assert_eq!(
        served.desk.leaks(&printed, &[]),
        std::collections::BTreeMap::new()
    );
}

#[test]
fn the_control_api_is_on_the_socket_only_and_for_the_same_user_only() {
    let served = Served::start();
    let token = Gateway::token(served.desk.without_browser(&[]), &["--name", "n"]);
    let shown = format!("authorization: Bearer {token}\r\n");
    for path in ["/v1/servers", "/v1/events", "/v1/openapi.json", "/v1/x"] {
        for headers in ["", &shown] {
            let answer = served.gateway.request("GET", path, headers, "");
            assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
            assert!(!answer.contains(&served.id()), "{answer}");
        }
    }
    let from_page = served.ask(
        "GET",
        "/v1/servers",
        ("origin: https://evil.example\r\n", ""),
    );
    assert_eq!(from_page.status, 403);
    if rustix::process::geteuid().is_root() {
        // The folder keeps others out; were it open, the kernel's word about the peer would.
        let home = served.desk.folder.at("home/keyway");
        for folder in [
            served.desk.folder.path(),
            &served.desk.folder.at("home"),
            &home,
            &home.join("runtime"),
        ] {
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder, open).unwrap();
        }
        let socket = home.join("runtime/gateway.sock");
        std::fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
        let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
            s.sendall(b'GET /v1/servers HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n')\n\
            print(len(s.recv(100)))";
        let output = Command::new("python3")
            .args(["-c", script])
            .arg(&socket)
            .uid(65_534)
            .current_dir("/")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            printed.trim() == "0" || errors.contains("Error"),
            "{printed} {errors}"
        );
    }
}

#[test]
fn approving_needs_the_digest_that_was_shown_and_a_host_allowed_on_a_terminal() {
    let entry = r#"{"local": {"command": "/bin/sh", "args": ["-c", "exit 3"]}}"#;
    let folder = Folder::new().file("p/.mcp.json", entry);
    let home = folder.at("home");
    let call =
        || Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("KEYWAY_HOME", &home);
    let _gateway = Gateway::start(call(), &["p"]);
    let get = || ask(connect(&home), "GET", "/v1/servers/p:local", ("", "")).body;
    let approve = |token: &str, digest: &str| {
        let headers = format!("authorization: Bearer {token}\r\n");
        let body = json!({ "digest": digest }).to_string();
        ask(
            connect(&home),
            "POST",
            "/v1/servers/p:local/approve",
            (&headers, &body),
        )
    };
    let shown = get();
    assert_eq!(shown["code"], "pending-trust", "{shown:#}");
    let digest = shown["approval"]["digest"].as_str().unwrap().to_owned();
    assert!(
        shown["approval"]["facts"].to_string().contains("/bin/sh"),
        "{shown:#}"
    );

    // Neither nothing, nor a guess, nor what lets clients in.
    let client = Gateway::token(call(), &["--name", "n"]);
    for token in ["", "kwhost_guess", &client] {
        let refused = approve(token, &digest);
        assert_eq!(refused.status, 401, "{}", refused.text);
        assert!(
            refused.body["hint"]
                .as_str()
                .unwrap()
                .contains("keyway embed allow")
        );
    }
    // A program cannot allow itself.
    let alone = call().args(["embed", "allow", "editor"]).run();
    assert_eq!(alone.code, 2, "{}", alone.everything());
    let mut terminal = Terminal::start(&call(), "\"$KEYWAY\" embed allow editor");
    terminal.answer("Allow this? [y/N]", "y\n");
    let screen = terminal.end();
    let token = screen
        .split_whitespace()
        .find(|word| word.starts_with("kwhost_"))
        .expect(&screen);

    let other = approve(token, &digest.replace(|c: char| c.is_ascii_digit(), "f"));
    assert_eq!(other.status, 409, "{}", other.text);
    assert_eq!(get()["code"], "pending-trust");
    let approved = approve(token, &digest);
    assert_eq!(approved.status, 200, "{}", approved.text);
    assert_eq!(get()["approval"], Value::Null);
    // What a person revoked counts no more.
    folder.put("p/.mcp.json", entry.replace("exit 3", "exit 4"));
    let mut changed = String::new();
    eventually("the entry is read again", || {
        changed = get()["approval"]["digest"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        !changed.is_empty() && changed != digest
    });
    let listed = call().args(["embed", "list"]).run();
    assert!(listed.stdout.contains("editor"), "{}", listed.everything());
    assert_eq!(call().args(["embed", "revoke", "editor"]).run().code, 0);
    assert_eq!(approve(token, &changed).status, 401);
}

/// A rule keeps clients from a tool, so that it takes as much to change one as to approve an entry.
#[test]
fn a_rule_for_a_tool_is_set_by_a_host_that_was_allowed_and_by_no_other() {
    let entry = r#"{"local": {"command": "/bin/sh", "args": ["-c", "exit 3"]}}"#;
    let folder = Folder::new().file("p/.mcp.json", entry);
    let home = folder.at("home");
    let call =
        || Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("KEYWAY_HOME", &home);
    let _gateway = Gateway::start(call(), &["p"]);
    let rules = || {
        let path = "/v1/servers/p:local/policies";
        ask(connect(&home), "GET", path, ("", "")).body["policies"].clone()
    };
    let set = |token: &str, body: Value| {
        let headers = format!("authorization: Bearer {token}\r\n");
        let path = "/v1/servers/p:local/set-policy";
        ask(connect(&home), "POST", path, (&headers, &body.to_string())).status
    };
    let deny = json!({"tool": "delete_*", "client": "ci", "rule": "deny"});
    let client = Gateway::token(call(), &["--name", "n"]);
    for token in ["", "kwhost_guess", &client] {
        assert_eq!(set(token, deny.clone()), 401);
    }
    assert_eq!(rules(), json!([]));
    let mut terminal = Terminal::start(&call(), "\"$KEYWAY\" embed allow editor");
    terminal.answer("Allow this? [y/N]", "y\n");
    let screen = terminal.end();
    let mut words = screen.split_whitespace();
    let token = words
        .find(|word| word.starts_with("kwhost_"))
        .expect(&screen);
    for wrong in [
        json!({"rule": "deny"}),
        json!({"tool": "x", "rule": "perhaps"}),
        json!({"tool": "x", "rule": "deny", "more": 1}),
    ] {
        assert_eq!(set(token, wrong.clone()), 400, "{wrong}");
    }
    assert_eq!(rules(), json!([]));
    assert_eq!(set(token, deny), 200);
    let expected = json!({"tool": "delete_*", "client": "ci", "rule": "deny",
        "is_in_config": false});
    assert_eq!(rules(), json!([expected]));
    // The command finds it, and takes it away again.
    let listed = call().args(["policy", "list"]).run();
    assert!(
        listed.stdout.contains("delete_*"),
        "{}",
        listed.everything()
    );
    assert_eq!(
        set(
            token,
            json!({"tool": "delete_*", "client": "ci", "rule": null})
        ),
        200
    );
    assert_eq!(rules(), json!([]));
}

/// Runs an example host to its end, with a person at the browser.
fn run_example(program: &str, script: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/embed")
        .join(script);
    let lines = std::fs::read_to_string(&file).unwrap().lines().count();
    assert!(lines <= 60, "{script} has {lines} lines");
    let served = Served::start();
    let _person = served.desk.person();
    let output = Command::new(program)
        .arg(&file)
        .args([&served.id(), "echo", r#"{"message": "hello from a host"}"#])
        .env(
            "KEYWAY_SOCKET",
            served.desk.folder.at("home/keyway/runtime/gateway.sock"),
        )
        .env("BROWSER", served.desk.folder.at("home/browser"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (printed, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.contains("tools: "), "{printed}{errors}");
    assert!(
        printed.contains("answer: Echo: hello from a host"),
        "{printed}{errors}"
    );
    let leaks = served.desk.leaks(&format!("{printed}{errors}"), &[]);
    assert_eq!(leaks, std::collections::BTreeMap::new());
}

#[test]
fn the_example_host_in_node_signs_in_lists_and_calls() {
    let Some(tools) = keyway_testkit::Tools::find(&["npm/node_modules/.bin/node"]) else {
        return;
    };
    run_example(&tools.at("npm/node_modules/.bin/node"), "host.mjs");
}

#[test]
fn the_example_host_in_python_signs_in_lists_and_calls() {
    run_example("python3", "host.py");
}
