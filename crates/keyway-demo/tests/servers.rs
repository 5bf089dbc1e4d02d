//! Each server accepts the right credential, and nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test whose server is broken must stop; the clock is the real one"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyway::connect::Isolation;
use keyway_demo::{Demo, Event, Settings, UserAgent};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn demo() -> Demo {
    Demo::prepare(Settings {
        // What these tests visit starts no child.
        binary: "/nonexistent".into(),
        environment: Vec::new(),
        isolation: Isolation::default(),
        presenter: Arc::new(UserAgent::default()),
        token_life: Duration::from_secs(60),
        events: keyway::events::Events::default(),
        now: SystemTime::now,
        clock: Arc::default(),
    })
    .unwrap()
}

/// Returns host and port of each remote server, by its name.
fn addresses(demo: &Demo) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(demo.plugin().join(".mcp.json")).unwrap();
    let entries: Value = serde_json::from_str(&text).unwrap();
    let entries = entries
        .get("mcpServers")
        .unwrap()
        .as_object()
        .unwrap()
        .clone();
    let remote = entries.into_iter().filter_map(|(name, entry)| {
        let url = url::Url::parse(entry.get("url")?.as_str()?).unwrap();
        Some((name, format!("127.0.0.1:{}", url.port().unwrap())))
    });
    remote.collect()
}

/// Sends one request and returns the whole answer.
async fn ask(address: &str, line: &str, headers: &[String], body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|header| header.starts_with("host:")) {
        request.push_str(&format!("host: {address}\r\n"));
    }
    for header in headers {
        request.push_str(&format!("{header}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test]
async fn the_right_credential_is_let_in_everywhere() {
    let demo = demo();
    let open = demo.open().unwrap();
    for name in ["docs", "search", "tenant", "live", "events"] {
        let row = open.tour.visit(name).await.unwrap();
        assert!(row.is_good(), "{name}: {:?}", row.problem);
        assert_eq!(row.tools, 2, "{name}");
        assert_eq!(open.journal.count(name, Event::Called), 1, "{name}");
        assert!(open.journal.count(name, Event::Accepted) > 0, "{name}");
    }
    assert_eq!(open.journal.count("docs", Event::Registered), 1);
    assert_eq!(open.journal.count("docs", Event::SignedIn), 1);
}

#[tokio::test]
async fn a_visit_that_fails_says_why_and_is_not_good() {
    let demo = demo();
    let open = demo.open().unwrap();
    for (name, state) in [
        ("local", "failed/config-error"),
        ("signed", "failed/helper-failed"),
    ] {
        let row = open.tour.visit(name).await.unwrap();
        assert!(!row.is_good(), "{name}");
        assert_eq!(row.state.to_string(), state, "{name}: {:?}", row.problem);
        assert!(!row.problem.unwrap().message.is_empty());
        assert_eq!(open.journal.count(name, Event::Called), 0);
    }
    assert!(open.tour.visit("nobody").await.is_none());
}

#[tokio::test]
async fn a_wrong_credential_is_refused_by_every_server() {
    let demo = demo();
    let open = demo.open().unwrap();
    let now = "2026-01-01T00:00:00+00:00";
    let wrong: &[&[&str]] = &[
        &[],
        &["authorization: Bearer wrong"],
        &["authorization: Bearer "],
        &["authorization: wrong"],
        &["x-api-key: wrong", "x-tenant-id: acme"],
        &["x-tenant-id: acme"],
        &[
            "x-api-key: wrong",
            &format!("x-timestamp: {now}"),
            "x-signature: 00",
        ],
    ];
    for (name, address) in addresses(&demo) {
        let line = match name.as_str() {
            "live" => "GET /mcp",
            "events" => "GET /sse",
            _ => "POST /mcp",
        };
        for headers in wrong {
            let headers: Vec<String> = headers.iter().map(|&header| header.to_owned()).collect();
            let answer = ask(&address, line, &headers, LIST).await;
            assert_eq!(status(&answer), "401", "{name} {headers:?}: {answer}");
            assert!(!answer.contains("inputSchema"), "{answer}");
        }
        assert_eq!(
            open.journal.count(&name, Event::Refused),
            wrong.len(),
            "{name}"
        );
        assert_eq!(open.journal.count(&name, Event::Accepted), 0, "{name}");
    }
}

#[tokio::test]
async fn a_foreign_name_or_page_gets_nothing() {
    let demo = demo();
    let _open = demo.open().unwrap();
    for (name, address) in addresses(&demo) {
        for header in [
            "host: attacker.example".to_owned(),
            "origin: https://attacker.example".to_owned(),
            "origin: null".to_owned(),
        ] {
            let answer = ask(&address, "GET /authorize", &[header], "").await;
            assert_eq!(status(&answer), "403", "{name}: {answer}");
        }
    }
}

#[tokio::test]
async fn the_authorization_server_redirects_only_to_this_machine() {
    let demo = demo();
    let _open = demo.open().unwrap();
    let address = addresses(&demo).remove("docs").unwrap();
    for uri in [
        "https://attacker.example/callback",
        "http://attacker.example/callback",
        "http://localhost.attacker.example/callback",
        "javascript:alert(1)",
    ] {
        let body = format!(r#"{{"redirect_uris":["{uri}"]}}"#);
        let answer = ask(&address, "POST /register", &[], &body).await;
        assert_eq!(status(&answer), "400", "{uri}: {answer}");
    }
    let unknown = "GET /authorize?client_id=x&redirect_uri=http://attacker.example/";
    let answer = ask(&address, unknown, &[], "").await;
    assert_eq!(status(&answer), "400", "{answer}");
    assert!(!answer.to_lowercase().contains("location:"), "{answer}");
}

#[tokio::test]
async fn consent_without_pkce_is_not_asked_for() {
    let demo = demo();
    let _open = demo.open().unwrap();
    let address = addresses(&demo).remove("docs").unwrap();
    let uri = "http://localhost:1/callback";
    let body = format!(r#"{{"redirect_uris":["{uri}"]}}"#);
    let answer = ask(&address, "POST /register", &[], &body).await;
    let (_, registered) = answer.split_once("\r\n\r\n").unwrap();
    let registered: Value = serde_json::from_str(registered).unwrap();
    let client = registered["client_id"].as_str().unwrap();
    let asking = |challenge: &str, method: &str| {
        format!(
            "GET /authorize?response_type=code&client_id={client}&redirect_uri={uri}\
             &state=s&resource=http://{address}/mcp&code_challenge={challenge}\
             &code_challenge_method={method}"
        )
    };
    let challenge = "A".repeat(43);
    let answer = ask(&address, &asking(&challenge, "S256"), &[], "").await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(answer.contains("<button"), "{answer}");
    for (challenge, method) in [
        (challenge.as_str(), "plain"),
        ("", "S256"),
        ("short", "S256"),
    ] {
        let answer = ask(&address, &asking(challenge, method), &[], "").await;
        assert_eq!(status(&answer), "400", "{challenge} {method}: {answer}");
    }
}

#[tokio::test]
async fn the_folder_holds_no_credential_and_goes_with_the_demo() {
    let demo = demo();
    let open = demo.open().unwrap();
    assert!(open.tour.visit("docs").await.unwrap().is_good());
    let folder = demo.folder().to_owned();
    let mut waiting = vec![folder.clone()];
    let mut files = 0;
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let secret = b"demosecret_";
            let is_in = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!is_in, "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 4, "{files}");
    drop(open);
    demo.close().unwrap();
    assert!(!folder.exists());
}
