//! The rig itself: it gives tokens, rotates them, and misbehaves on command.

mod clients;
mod device;

use std::net::TcpStream;

use super::*;
use crate::visit;

fn post(url: &str, body: &str, headers: &str) -> (u16, String) {
    use std::io::{Read as _, Write as _};
    let url = url::Url::parse(url).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap())).unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {}\r\n\r\n",
        url.path(),
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}

/// Signs in as a client does that registers itself; returns the token endpoint's answer.
fn sign_in(rig: &Rig) -> serde_json::Value {
    let redirect = "http://127.0.0.1:0/callback";
    let asked = serde_json::json!({ "redirect_uris": [redirect] }).to_string();
    let (_, registered) = post(&format!("{}/register", rig.origin()), &asked, "");
    let registered: serde_json::Value = serde_json::from_str(&registered).unwrap();
    let client = registered["client_id"].as_str().unwrap();
    let (status, tokens) = exchange(rig, (client, redirect), &Shown::default());
    assert_eq!(status, 200, "{tokens}");
    tokens
}

/// What a client shows of its secret.
#[derive(Default)]
struct Shown {
    headers: String,
    fields: Vec<(&'static str, String)>,
}

/// Agrees on the consent page and exchanges the code; the answer also names the client.
fn exchange(
    rig: &Rig,
    (client, redirect): (&str, &str),
    shown: &Shown,
) -> (u16, serde_json::Value) {
    let mut page = url::Url::parse(&format!("{}/authorize", rig.origin())).unwrap();
    page.query_pairs_mut()
        .append_pair("client_id", client)
        .append_pair("redirect_uri", redirect)
        .append_pair("response_type", "code")
        .append_pair(
            "code_challenge",
            "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
        )
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &rig.mcp())
        .append_pair("state", "s");
    // No listener is where the page leads to: the code is the last that was issued.
    drop(visit(page.as_str()));
    let code = rig.secrets().pop().unwrap_or_default();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", ""),
        ("redirect_uri", redirect),
    ];
    ask(rig, client, &fields, shown)
}

fn refresh(rig: &Rig, client: &str, token: &str) -> (u16, serde_json::Value) {
    let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
    ask(rig, client, &fields, &Shown::default())
}

/// Asks the token endpoint.
fn ask(
    rig: &Rig,
    client: &str,
    fields: &[(&str, &str)],
    shown: &Shown,
) -> (u16, serde_json::Value) {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields)
        .extend_pairs(&shown.fields)
        .append_pair("client_id", client)
        .append_pair("resource", &rig.mcp());
    let to = format!("{}/token", rig.origin());
    let (status, body) = post(&to, &form.finish(), &shown.headers);
    let mut body: serde_json::Value = serde_json::from_str(&body).unwrap();
    body["client_id"] = client.into();
    (status, body)
}

fn use_token(rig: &Rig, token: &str) -> u16 {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let headers = format!("authorization: Bearer {token}\r\n");
    post(&rig.mcp(), body, &headers).0
}

#[test]
fn a_refresh_token_that_comes_twice_ends_its_family() {
    let rig = Rig::start(Settings::default());
    let first = sign_in(&rig);
    let client = first["client_id"].as_str().unwrap();
    let old = first["refresh_token"].as_str().unwrap();
    let (_, second) = refresh(&rig, client, old);
    let access = second["access_token"].as_str().unwrap();
    assert_eq!(use_token(&rig, access), 200);
    assert!(rig.families()[0].is_chain());
    assert_eq!(refresh(&rig, client, old).0, 400);
    assert_eq!(use_token(&rig, access), 401);
    let newest = second["refresh_token"].as_str().unwrap();
    assert_eq!(refresh(&rig, client, newest).0, 400);
    assert_eq!(rig.families()[0].ended, Some(End::Reuse));
    assert!(!rig.families()[0].is_chain());
}

#[test]
fn a_reset_refuses_what_was_issued_and_nothing_later() {
    let rig = Rig::start(Settings::default());
    let first = sign_in(&rig);
    rig.reset();
    assert_eq!(
        use_token(&rig, first["access_token"].as_str().unwrap()),
        401
    );
    let client = first["client_id"].as_str().unwrap();
    let (_, second) = refresh(&rig, client, first["refresh_token"].as_str().unwrap());
    assert_eq!(
        use_token(&rig, second["access_token"].as_str().unwrap()),
        200
    );
}

#[test]
fn levers_are_pulled_over_http_and_a_wrong_name_is_told() {
    let rig = Rig::start(Settings::default());
    let control = format!("{}/_control", rig.origin());
    let (status, all) = post(&control, r#"{"token_status": 503, "token_delay": 10}"#, "");
    assert_eq!(status, 200);
    assert!(all.contains(r#""expires_in":3600"#), "{all}");
    assert_eq!(post(&format!("{}/token", rig.origin()), "", "").0, 503);
    assert_eq!(post(&control, r#"{"tokenstatus": 503}"#, "").0, 400);
    assert_eq!(rig.journal().len(), 1);
}

#[test]
fn a_client_that_follows_a_redirect_to_the_second_port_is_seen() {
    let rig = Rig::start(Settings::default());
    rig.set(|settings| settings.redirects.insert("/authorize".to_owned(), 302));
    assert!(rig.strays().is_empty());
    let page = visit(&format!("{}/authorize", rig.origin())).unwrap();
    assert_eq!(page.status, 200);
    let strays = rig.strays();
    assert_eq!(strays.len(), 1);
    assert_eq!(strays[0].request.path, "/authorize");
}
