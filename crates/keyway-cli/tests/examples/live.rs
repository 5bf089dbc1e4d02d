//! Every example, unchanged, against a server that demands its credential.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use keyway_testkit::rig::{Iss, Rig, Settings};
use keyway_testkit::{Answer, Keyway, Request, Tools, Upstream, eventually, free_port, mcp, visit};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite;

use super::world::World;
use super::{good, has_openssl, program, run};

#[test]
fn every_example_is_run_here() {
    let names = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let examples: Vec<String> = good().iter().map(names).collect();
    let text = include_str!("live.rs");
    for example in examples {
        let started = format!("World::start(\"{example}\", ");
        assert!(text.contains(&started), "{example} has no test here");
    }
}

/// A server of one tool that answers 401 to requests that lack a header.
fn guarded(needed: &'static [(&'static str, &'static str)]) -> Upstream {
    Upstream::start(move |request| {
        let has = |(name, value): &(&str, &str)| request.header(name) == Some(*value);
        match needed.iter().all(has) {
            true => mcp(request, |method, _| answered(method)),
            false => Answer::empty(401),
        }
    })
}

fn answered(method: &str) -> Option<Value> {
    let text = json!({ "content": [{ "type": "text", "text": "served" }] });
    match method {
        "tools/list" => Some(json!({ "tools": [{
            "name": "ask", "inputSchema": { "type": "object" },
        }]})),
        "tools/call" => Some(text),
        _ => None,
    }
}

fn location(port: u16) -> String {
    format!("location / {{ proxy_pass http://127.0.0.1:{port}; }}")
}

/// Calls the tool, and expects the answer of the server.
fn serves(call: Keyway) {
    let outcome = call.run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("served"),
        "{}",
        outcome.everything()
    );
}

/// Calls the tool, and expects that the server refuses it.
fn is_refused(call: Keyway) {
    let outcome = call.run();
    assert_ne!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        !outcome.stdout.contains("served"),
        "{}",
        outcome.everything()
    );
}

const CALL: &[&str] = &["call", "--trust"];

fn words<'a>(server: &'a str, tool: &'a str) -> Vec<&'a str> {
    [CALL, &[server, tool]].concat()
}

#[test]
fn bearer_sends_its_token() {
    let upstream = guarded(&[("authorization", "Bearer not-a-real-token")]);
    let Some(world) = World::start("bearer", "tracker.example", &location(upstream.port())) else {
        return;
    };
    let call = || world.keyway(&words("tracker", "ask"));
    serves(call().env("TRACKER_TOKEN", "not-a-real-token"));
    is_refused(call().env("TRACKER_TOKEN", "another"));
}

#[test]
fn tenant_is_a_part_of_the_host_and_the_workspace_a_header() {
    let upstream = guarded(&[
        ("x-name", "acme.crm.example"),
        ("authorization", "Bearer not-a-real-token"),
        ("x-workspace-id", "seven"),
    ]);
    let Some(world) = World::start("tenant", "acme.crm.example", &location(upstream.port())) else {
        return;
    };
    let call = || {
        let call = world.keyway(&words("crm", "ask"));
        call.env("CRM_TOKEN", "not-a-real-token")
            .env("CRM_WORKSPACE", "seven")
    };
    serves(call().env("CRM_TENANT", "acme"));
    let before = upstream.seen().len();
    is_refused(call().env("CRM_TENANT", "evil.example/#"));
    assert_eq!(upstream.seen().len(), before, "nothing was sent");
}

#[test]
fn hmac_signs_every_request_again() {
    if !has_openssl() {
        return;
    }
    let upstream = Upstream::start(|request| match signed(request, "not-a-real-secret") {
        true => mcp(request, |method, _| answered(method)),
        false => Answer::empty(401),
    });
    let Some(world) = World::start("dynamic-hmac", "orders.example", &location(upstream.port()))
    else {
        return;
    };
    let call = || {
        let call = world.keyway(&words("orders", "ask"));
        call.env("ORDERS_API_KEY", "not-a-real-key")
    };
    serves(call().env("ORDERS_SIGNING_SECRET", "not-a-real-secret"));
    is_refused(call().env("ORDERS_SIGNING_SECRET", "another"));
}

/// Whether the signature of the time is that of the secret; openssl judges.
fn signed(request: &Request, secret: &str) -> bool {
    let header = |name: &str| request.header(name).unwrap_or_default();
    let mut openssl = program(Path::new("openssl"), &[]);
    openssl.args(["dgst", "-sha256", "-hmac", secret, "-r"]);
    let expected = String::from_utf8(run(&mut openssl, header("x-timestamp").as_bytes())).unwrap();
    let expected = expected.split(' ').next().unwrap();
    header("x-signature") == expected && header("x-api-key") == "not-a-real-key"
}

#[test]
fn jwt_is_made_once_and_used_again() {
    if !has_openssl() {
        return;
    }
    let upstream = Upstream::start(|request| {
        let header = request.header("authorization").unwrap_or_default();
        // Three parts; whether the signature is right is looked at below.
        match header
            .strip_prefix("Bearer ")
            .map(|token| token.split('.').count())
        {
            Some(3) => mcp(request, |method, _| answered(method)),
            _ => Answer::empty(401),
        }
    });
    let Some(world) = World::start("dynamic-jwt", "reports.example", &location(upstream.port()))
    else {
        return;
    };
    let openssl = |words: &str| {
        let mut openssl = program(Path::new("openssl"), &[]);
        openssl
            .args(words.split(' '))
            .current_dir(world.folder.path());
        openssl
    };
    run(&mut openssl("genrsa -out account.pem 2048"), b"");
    run(
        &mut openssl("rsa -in account.pem -pubout -out public.pem"),
        b"",
    );
    let call = world.keyway(&words("reports", "ask"));
    let call = call
        .env("REPORTS_ACCOUNT", "robot")
        .env("REPORTS_KEY_FILE", world.folder.at("account.pem"));
    serves(call);
    let seen = upstream.seen();
    let header = |request: &Request| request.header("authorization").map(str::to_owned);
    let mut tokens: Vec<String> = seen.iter().filter_map(header).collect();
    tokens.dedup();
    let [token] = tokens.as_slice() else {
        panic!("one token for all requests: {}", tokens.len());
    };
    let (signed, signature) = token
        .trim_start_matches("Bearer ")
        .rsplit_once('.')
        .unwrap();
    let padding = "=".repeat((4 - signature.len() % 4) % 4);
    let encoded = format!("{}{padding}", signature.replace('-', "+").replace('_', "/"));
    world.folder.put(
        "signature",
        run(&mut openssl("base64 -d -A"), encoded.as_bytes()),
    );
    let verify = "dgst -sha256 -verify public.pem -signature signature";
    assert_eq!(
        run(&mut openssl(verify), signed.as_bytes()),
        b"Verified OK\n"
    );
}

/// nginx demands the certificate, and its answers are JSON without a line end.
#[test]
fn mtls_shows_its_certificate_to_a_real_nginx() {
    let upstream = guarded(&[("x-client", "CN=ledger client")]);
    let inside = format!(
        "ssl_client_certificate FOLDER/ca.pem;\nssl_verify_client on;\n\
         location / {{ proxy_pass http://127.0.0.1:{};\n\
         proxy_set_header X-Client $ssl_client_s_dn; }}",
        upstream.port()
    );
    let Some(world) = World::start("mtls", "ledger.example", &inside) else {
        return;
    };
    let folder = &world.folder;
    world
        .authority
        .issue(folder, "client", "ledger client", &[]);
    let stranger = keyway_testkit::Authority::new("stranger");
    stranger.issue(folder, "stranger", "ledger client", &[]);
    let call = |name: &str| {
        world
            .keyway(&words("ledger", "ask"))
            .env("CLIENT_CERT", folder.at(&format!("{name}.pem")))
            .env("CLIENT_KEY", folder.at(&format!("{name}.key")))
    };
    serves(call("client"));
    let before = upstream.seen().len();
    is_refused(call("stranger"));
    assert_eq!(upstream.seen().len(), before, "nginx let nothing through");
}

#[test]
fn stdio_env_hands_its_variables_to_the_program() {
    let Some(tools) = Tools::find(&[RUST_PEER]) else {
        return;
    };
    // Nothing of this example goes over the network.
    let Some(world) = World::start("stdio-env", "none.example", "") else {
        return;
    };
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2\" = '--read-only --cache' ] || exit 3\n\
         [ \"$DATABASE_URL $DB_USER $DB_PASSWORD\" = 'db://h/n me not-a-real-password' ] || exit 4\n\
         exec {} server stdio\n",
        tools.at(RUST_PEER)
    );
    world.program("bin/database-mcp", &script);
    let call = |password: &str| {
        let call = world
            .keyway(&words("database", "echo"))
            .args(["message=served"]);
        call.env("DATABASE_URL", "db://h/n")
            .env("DB_USER", "me")
            .env("DB_PASSWORD", password)
    };
    serves(call("not-a-real-password"));
    is_refused(call("another"));
}

/// HTTP with SSE by the official Python SDK, and a WebSocket; nginx demands the keys of both.
#[test]
fn api_key_goes_with_the_stream_and_with_the_socket() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    let port = free_port();
    let script = format!("{}/tests/peers/server.py", env!("CARGO_MANIFEST_DIR"));
    let mut python = program(Path::new(&tools.at(PYTHON)), &[]);
    let mut python = python
        .args([&script, "sse", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the Python server listens", || {
        std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    });
    let sockets = sockets();
    let inside = format!(
        "if ($http_x_api_key != 'not-a-real-key') {{ return 401; }}\n\
         location / {{ if ($http_x_api_secret != 'not-a-real-secret') {{ return 401; }}\n\
         proxy_pass http://127.0.0.1:{port}; }}\n\
         location /alerts {{ proxy_pass http://127.0.0.1:{sockets}; }}"
    );
    if let Some(world) = World::start("api-key", "weather.example", &inside) {
        let call = |server: &str, tool: &str, key: &str| {
            let call = world.keyway(&words(server, tool)).args(["message=served"]);
            call.env("WEATHER_API_KEY", key)
                .env("WEATHER_API_SECRET", "not-a-real-secret")
        };
        serves(call("weather", "echo", "not-a-real-key"));
        is_refused(call("weather", "echo", "another"));
        serves(call("alerts", "ask", "not-a-real-key"));
        is_refused(call("alerts", "ask", "another"));
    }
    python.kill().unwrap();
    python.wait().unwrap();
}

/// Starts a server on WebSockets that lives as long as the process.
fn sockets() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            drop(std::thread::spawn(move || converse(client)));
        }
    }));
    port
}

#[expect(
    clippy::result_large_err,
    reason = "the type of the answer is that of the library"
)]
fn converse(client: std::net::TcpStream) {
    use tungstenite::handshake::server::{ErrorResponse, Request, Response};
    let protocol = |_: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        let name = http::HeaderValue::from_static("mcp");
        response
            .headers_mut()
            .insert("sec-websocket-protocol", name);
        Ok(response)
    };
    let Ok(mut socket) = tungstenite::accept_hdr(client, protocol) else {
        return;
    };
    while let Ok(message) = socket.read() {
        let Ok(text) = message.to_text() else { return };
        if let Some(answer) = answer_to(text)
            && socket.send(tungstenite::Message::text(answer)).is_err()
        {
            return;
        }
    }
}

/// Answers a message on a socket as one over HTTP.
fn answer_to(message: &str) -> Option<String> {
    let request = Request {
        method: "POST".to_owned(),
        path: String::new(),
        query: String::new(),
        headers: Vec::new(),
        body: message.to_owned(),
    };
    let answer = mcp(&request, |method, _| answered(method));
    (answer.status == 200).then_some(answer.body)
}

/// A server and its authorization server, both under the name of the example.
#[test]
fn oauth_signs_in_with_nothing_but_the_address() {
    let name = "https://wiki.example";
    let mut settings = Settings::default();
    settings.issuer = Some(name.to_owned());
    settings.iss = Iss::Absent;
    settings.resource = Some(format!("{name}/mcp"));
    settings.resource_metadata = Some(format!("{name}/.well-known/oauth-protected-resource/mcp"));
    let rig = Rig::start(settings);
    let own = rig.mcp().trim_end_matches("/mcp").to_owned();
    let inside = format!(
        "location / {{ proxy_pass {own};\nproxy_set_header Accept-Encoding '';\n\
         sub_filter_types *;\nsub_filter_once off;\nsub_filter '{own}' '{name}'; }}"
    );
    let Some(world) = World::start("oauth", "wiki.example", &inside) else {
        return;
    };
    let call = world
        .keyway(&words("wiki", "echo"))
        .args(["message=served"]);
    let browser = "#!/bin/sh\nprintf '%s\\n' \"$1\" >> \"${0%/*}/windows\"\n";
    world.program("bin/browser", browser);
    world.folder.put("bin/windows", "");
    let windows = world.folder.at("bin/windows");
    let person = std::thread::spawn(move || {
        let mut window = String::new();
        eventually("the browser is opened", || {
            window = std::fs::read_to_string(&windows).unwrap();
            window.ends_with('\n')
        });
        assert!(window.starts_with(name), "{window}");
        visit(&window.trim_end().replacen(name, &own, 1)).unwrap()
    });
    serves(call.env("BROWSER", world.folder.at("bin/browser")));
    assert_eq!(person.join().unwrap().status, 200);
    let statuses: Vec<u16> = rig.seen("/mcp").iter().map(|seen| seen.status).collect();
    assert_eq!(statuses.first(), Some(&401), "{statuses:?}");
    // Later the sign-in is there, and no browser is needed.
    let again = world
        .keyway(&words("wiki", "echo"))
        .args(["message=served"]);
    serves(again.env("BROWSER", "/bin/false"));
}

const PYTHON: &str = "python/bin/python";
const RUST_PEER: &str = "rust-sdk/debug/rust-peer";
