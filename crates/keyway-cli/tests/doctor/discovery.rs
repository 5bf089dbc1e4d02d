//! Servers whose sign-in cannot begin, or not end: each rule broken for real, reported without
//! asking a person where that is possible, and gone when it is repaired.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::{Value, json};

use crate::doctor::server::{Answer, Server, mcp};
use crate::doctor::{KEYWAY, assert_fault, doctor};

fn document(status: u16, value: &Value) -> Answer {
    Answer {
        status,
        headers: String::new(),
        body: value.to_string(),
    }
}

/// A server that is its own authorization server; `fault` is wrong with it until it is repaired.
fn world(fault: &'static str) -> (Server, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let server = Server::start(move |request| {
        let fault = if is_mended.load(Ordering::Relaxed) {
            ""
        } else {
            fault
        };
        let host = request.lines().find_map(|line| line.strip_prefix("host: "));
        let origin = format!("http://{}", host.unwrap());
        let path = request.split(' ').nth(1).unwrap();
        if path.starts_with("/.well-known/oauth-protected-resource") {
            return resource(fault, &origin);
        }
        if path.starts_with("/.well-known/oauth-authorization-server") {
            return metadata(fault, &origin);
        }
        match path {
            "/register" if fault == "registration-refused" => {
                document(400, &json!({ "error": "invalid_redirect_uri" }))
            }
            "/register" if fault == "oauth-not-offered" => Answer::empty(404, ""),
            "/register" if fault == "client-authentication" => document(
                201,
                &json!({ "client_id": "c", "token_endpoint_auth_method": "tls_client_auth" }),
            ),
            "/register" => document(201, &json!({ "client_id": "c" })),
            "/mcp" if request.contains("authorization: Bearer CANARY-good") => mcp(request),
            "/mcp" => Answer::empty(401, "www-authenticate: Bearer\r\n"),
            _ => Answer::empty(404, ""),
        }
    });
    (server, mended)
}

fn resource(fault: &str, origin: &str) -> Answer {
    let named = format!("{origin}/mcp");
    let (resource, issuer) = match fault {
        "oauth-not-offered" => return Answer::empty(404, ""),
        "redirect-refused" => return Answer::empty(302, "location: http://127.0.0.1:9/x\r\n"),
        "resource-mismatch" => ("https://other.example/mcp".to_owned(), origin.to_owned()),
        "no-metadata" => (named, format!("{origin}/nowhere")),
        "forbidden-address" => (named, "https://169.254.169.254".to_owned()),
        "network-error" => (named, "http://127.0.0.1:9".to_owned()),
        _ => (named, origin.to_owned()),
    };
    let value = json!({ "resource": resource, "authorization_servers": [issuer] });
    document(200, &value)
}

fn metadata(fault: &str, origin: &str) -> Answer {
    let mut value = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "code_challenge_methods_supported": ["S256"],
        "response_types_supported": ["code"],
    });
    let fields = value.as_object_mut().unwrap();
    match fault {
        "bad-metadata" => return document(200, &json!([])),
        "no-metadata" | "oauth-not-offered" => return Answer::empty(404, ""),
        "pkce-unsupported" => drop(fields.remove("code_challenge_methods_supported")),
        "no-endpoint" => drop(fields.remove("authorization_endpoint")),
        "dcr-unsupported" => drop(fields.remove("registration_endpoint")),
        _ => {}
    }
    document(200, &value)
}

fn entry(server: &Server) -> Folder {
    let url = server.url();
    Folder::with_entries(&format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#))
}

#[test]
fn a_sign_in_that_could_not_begin_is_told_by_the_rule_that_is_broken() {
    for (code, stage, exit, fix) in [
        (
            "bad-metadata",
            "discovery",
            1,
            "its operator has to correct that document; until then, put a token into `headers`",
        ),
        ("no-metadata", "discovery", 1, "put `authServerMetadataUrl`"),
        (
            "no-endpoint",
            "discovery",
            1,
            "its operator has to complete the metadata",
        ),
        (
            "redirect-refused",
            "discovery",
            1,
            "its operator has to publish the document where it is looked for",
        ),
        (
            "resource-mismatch",
            "discovery",
            1,
            "check `url`: if the address in the message is the right one",
        ),
        (
            "pkce-unsupported",
            "discovery",
            1,
            r#"pkce = "assume-s256""#,
        ),
        ("dcr-unsupported", "registration", 1, "oauth.clientId"),
        (
            "forbidden-address",
            "token",
            1,
            "its operator has to move the authorization server to an ordinary address",
        ),
        ("network-error", "token", 5, "nothing was lost"),
    ] {
        let (server, mended) = world(code);
        let folder = entry(&server);
        let found = assert_fault(&doctor(&folder).run(), code, exit, fix);
        assert_eq!(found["stage"], stage, "{code}");
        mended.store(true, Ordering::Relaxed);
        assert_fault(
            &doctor(&folder).run(),
            "sign-in-required",
            3,
            "keyway login s",
        );
        let asked = server.asked();
        let is_registration = |request: &&String| request.starts_with("POST /register");
        assert_eq!(asked.iter().filter(is_registration).count(), 0, "{code}");
    }
}

/// The two fixes that are the person's own: a client that was registered by hand, and their word
/// that PKCE is known.
#[test]
fn what_the_hint_says_lets_the_sign_in_begin() {
    let (server, _) = world("dcr-unsupported");
    let url = server.url();
    // The address to register is in the message, exact if the entry fixes the port.
    for (oauth, redirect) in [
        ("", "http://localhost/callback (any port"),
        (
            r#", "oauth": {"callbackPort": 8123}"#,
            "http://localhost:8123/callback",
        ),
    ] {
        let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}"{oauth}}}}}"#);
        let outcome = doctor(&Folder::with_entries(&entry)).run();
        let found = assert_fault(&outcome, "dcr-unsupported", 1, "oauth.clientId");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(redirect), "{message}");
    }
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "oauth": {{"clientId": "mine"}}}}}}"#
    ));
    assert_fault(
        &doctor(&folder).run(),
        "sign-in-required",
        3,
        "keyway login s",
    );
    let (server, _) = world("pkce-unsupported");
    let folder = entry(&server);
    let plugin = folder.path().file_name().unwrap().to_str().unwrap();
    let settings =
        format!("[servers.\"{plugin}:s\".oauth]\nsource = \"../..\"\npkce = \"assume-s256\"\n");
    folder.put("home/config/config.toml", settings);
    assert_fault(
        &doctor(&folder).run(),
        "sign-in-required",
        3,
        "keyway login s",
    );
}

fn login(folder: &Folder) -> (Outcome, String) {
    let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let words = ["login", "s", "--no-browser", "--events", "events.jsonl"];
    let outcome = call.args(words).run();
    let events = folder.read("events.jsonl");
    let last = events.lines().last().unwrap();
    let event: Value = serde_json::from_str(last).unwrap();
    (outcome, event["code"].as_str().unwrap_or("-").to_owned())
}

#[test]
fn a_sign_in_that_is_refused_on_the_way_is_told_by_its_code() {
    for (code, fix) in [
        ("registration-refused", "oauth.clientId"),
        ("oauth-not-offered", "put a token for it into `headers`"),
        ("client-authentication", "clientSecret"),
    ] {
        let (server, _) = world(code);
        let folder = entry(&server);
        let (outcome, told) = login(&folder);
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert_eq!(told, code);
        assert!(outcome.stderr.contains(fix), "{}", outcome.stderr);
    }
    // The first and the third fix, followed: a client of the person's own.
    for (fault, client) in [
        ("registration-refused", r#""clientId": "mine""#),
        (
            "client-authentication",
            r#""clientId": "mine", "clientSecret": "${CLIENT_SECRET}""#,
        ),
    ] {
        let (server, _) = world(fault);
        let folder = Folder::with_entries(&format!(
            r#"{{"s": {{"type": "http", "url": "{}", "oauth": {{{client}}}}}}}"#,
            server.url()
        ));
        let outcome = doctor(&folder).env("CLIENT_SECRET", "CANARY-own").run();
        assert_fault(&outcome, "sign-in-required", 3, "keyway login s");
    }
    // The second fix, followed.
    let (server, _) = world("oauth-not-offered");
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{}", "headers": {{"Authorization": "Bearer ${{T}}"}}}}}}"#,
        server.url()
    ));
    crate::doctor::assert_works(&doctor(&folder).env("T", "CANARY-good").run());
}
