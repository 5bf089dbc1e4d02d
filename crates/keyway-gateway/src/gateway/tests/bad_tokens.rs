//! Access tokens and keys that must not count, over HTTP: each has its own answer, and nothing of a
//! request with one gets any further.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use keyway::Host;
use keyway::settings::{Around, Settings};
use keyway_testkit::{Answer, Upstream as Destination};
use serde_json::{Value, json};

use super::people::{Idp, PUBLIC, encode, start};
use super::*;
use crate::people::People;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of tokens")]
async fn each_bad_token_has_words_of_its_own_and_reaches_no_server() {
    let idp = Arc::new(Idp::new());
    let running = start(&idp);
    let good = idp.token("ada", json!({}));
    let claims = good.split('.').nth(1).unwrap();
    let header = |more: Value| {
        let mut header = json!({"typ": "at+jwt", "alg": "EdDSA", "kid": "1"});
        for (name, value) in more.as_object().unwrap() {
            header[name] = value.clone();
        }
        header.to_string()
    };
    let text = {
        use base64::Engine as _;
        let bytes = base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(claims);
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let later: Value = serde_json::from_str(&text).unwrap();
    let later = later["iat"].as_u64().unwrap() + 3600;
    let unsigned = format!("{}.{claims}.", encode(header(json!({"alg": "none"}))));
    let shared = {
        let text = format!("{}.{claims}", encode(header(json!({"alg": "HS256"}))));
        let key = idp.public_key();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.as_bytes());
        format!("{text}.{}", encode(ring::hmac::sign(&key, text.as_bytes())))
    };
    let rows = [
        ("alg none", unsigned, "not signed"),
        ("HS256 with the public key", shared, "shared secret"),
        (
            "audience",
            idp.token("ada", json!({"aud": "https://other.example"})),
            "audience",
        ),
        (
            "issuer",
            idp.token("ada", json!({"iss": "https://evil.example"})),
            "issuer",
        ),
        ("expired", idp.token("ada", json!({"exp": 1})), "expired"),
        (
            "issued in the future",
            idp.token("ada", json!({"iat": later})),
            "future",
        ),
        (
            "valid in the future",
            idp.token("ada", json!({"nbf": later})),
            "not valid yet",
        ),
        (
            "claims twice",
            idp.sign(
                &header(json!({})),
                &text.replacen('{', r#"{"sub":"eve","#, 1),
            ),
            "sub",
        ),
        (
            "kid with a path",
            idp.sign(&header(json!({"kid": "../../1"})), &text),
            "key",
        ),
        (
            "crit",
            idp.sign(&header(json!({"crit": ["x"], "x": 1})), &text),
            "extension",
        ),
    ];
    let mut said = HashSet::new();
    for (what, token, part) in rows {
        let client = running.client().await.token(&token);
        let answer = client.post("/mcp/a/one", HELLO).await;
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        assert!(answer.body.contains(part), "{what}: {answer:?}");
        assert!(said.insert(answer.body.clone()), "{what}: {answer:?}");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
    // As long as no header may be.
    let client = running
        .client()
        .await
        .token(&format!("{}.b.c", "a".repeat(1_000_000)));
    let answer = client.post("/mcp/a/one", HELLO).await;
    assert_eq!(answer.status, 431, "{answer:?}");
    assert_eq!(running.heard(), [] as [&str; 0]);
    // Nothing was lost by it.
    let client = running.client().await.token(&good);
    assert_eq!(client.post("/mcp/a/one", HELLO).await.status, 200);
}

/// People of an issuer on this machine: keys are fetched from nothing less public than their issuer.
fn people_of(issuer: &str) -> Arc<People> {
    let text = format!(
        "[gateway]\npublic_url = \"{PUBLIC}\"\ntrusted_proxies = [\"10.0.0.1\"]\n[gateway.people]\n\
         issuers = [\"{issuer}\"]\njwks = {{ \"{issuer}\" = \"{issuer}/jwks\" }}\n"
    );
    let settings = Settings::parse("config.toml", text.as_bytes(), Around::default()).settings;
    let host = Host::builder().without_vault().build().unwrap();
    Arc::new(People::of(&settings.gateway, host.http()).unwrap().unwrap())
}

async fn refused_by(issuer: &str) -> client::Answer {
    let people = people_of(issuer);
    let running = Running::start_with(&[], |gateway| gateway.with_people(people));
    let token = Idp::new().token("ada", json!({ "iss": issuer }));
    let client = running.client().await.token(&token);
    let answer = client.post("/mcp/a/one", HELLO).await;
    assert_eq!(running.heard(), [] as [&str; 0]);
    answer
}

#[tokio::test]
async fn ten_megabytes_of_keys_are_no_keys() {
    let issuer = Destination::start(|_| {
        let padding = "x".repeat(10_000_000);
        Answer::json(200, &json!({"keys": [], "padding": padding}))
    });
    let answer = refused_by(issuer.url("").trim_end_matches('/')).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(
        issuer.seen().len(),
        1,
        "it is not asked again for the same request"
    );
}

#[tokio::test]
async fn keys_without_an_end_are_given_up_after_a_bounded_part() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let endless = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        let _read = stream.read(&mut asked).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
        while stream.write_all(chunk.as_bytes()).is_ok() {
            counted.fetch_add(0x10000, Ordering::SeqCst);
        }
    });
    let answer = refused_by(&format!("http://127.0.0.1:{port}")).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    // The connection is closed, after what is read and what lies in buffers of the system.
    endless.join().unwrap();
    assert!(written.load(Ordering::SeqCst) < 16 * 1024 * 1024);
}
