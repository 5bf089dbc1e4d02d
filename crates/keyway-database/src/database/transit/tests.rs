//! Transit, as a stand-in of its two routes answers: the real ones are in no package registry.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;

use keyway::settings::WrappingKeySettings;
use keyway::vault::Folders;
use serde_json::Value;

use super::*;
use crate::database::DatabaseContext;

/// Answers the two routes for the key `keyway`, as their documentation has it.
fn stand_in(answer: fn(&str, &str, &str) -> Option<(u16, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1/transit", listener.local_addr().unwrap());
    thread::spawn(move || {
        // Kept, so that a connection without an answer stays open.
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let (path, token, body) = request(&stream);
            if let Some((status, body)) = answer(&path, &token, &body) {
                let length = body.len();
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n");
                (&stream).write_all((head + &body).as_bytes()).unwrap();
            }
            kept.push(stream);
        }
    });
    address
}

fn request(stream: &TcpStream) -> (String, String, String) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    assert!(line.starts_with("POST "), "{line}");
    let (mut token, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "x-vault-token" => token = value.to_owned(),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (path, token, String::from_utf8(body).unwrap())
}

/// "Encrypts": what it returns holds the plaintext and what it is for, and is compared.
fn transit(path: &str, token: &str, body: &str) -> Option<(u16, String)> {
    let field = |name: &str| {
        let body: Value = serde_json::from_str(body).unwrap();
        body[name].as_str().unwrap().to_owned()
    };
    if token != "s.token" {
        return Some((403, r#"{"errors":["permission denied"]}"#.to_owned()));
    }
    let data = match path {
        "/v1/transit/encrypt/keyway" => {
            let (plain, of) = (field("plaintext"), field("associated_data"));
            json!({ "ciphertext": format!("vault:v1:{plain}.{of}"), "key_version": 1 })
        }
        "/v1/transit/decrypt/keyway" => {
            let (sealed, of) = (field("ciphertext"), field("associated_data"));
            let opened = sealed.strip_prefix("vault:v1:");
            let opened = opened.and_then(|it| it.strip_suffix(&format!(".{of}")));
            let Some(plain) = opened else {
                let error = r#"{"errors":["cipher: message authentication failed"]}"#;
                return Some((400, error.to_owned()));
            };
            json!({ "plaintext": plain })
        }
        _ => return Some((404, r#"{"errors":[]}"#.to_owned())),
    };
    Some((200, json!({ "data": data, "lease_id": "" }).to_string()))
}

fn key(url: &str, name: &str, token: &str) -> TransitKey {
    let folder = tempfile::tempdir().unwrap().keep();
    let file = folder.join("token");
    let mut options = std::fs::OpenOptions::new();
    let mut made = options.write(true).create_new(true).mode(0o600).open(&file);
    let made = made.as_mut().unwrap();
    made.write_all(format!("{token}\n").as_bytes()).unwrap();
    let mut given = WrappingKeySettings::default();
    given.secret_file = Some(file);
    let context = DatabaseContext::new(Folders::below(folder));
    let secrets = Secrets::new(given, context, "transit_url");
    TransitKey::new(url, name.to_owned(), secrets, None).unwrap()
}

fn data_key() -> Secret<[u8; 32]> {
    Secret::new([7; 32])
}

fn away(error: WrapError) -> String {
    match error {
        WrapError::Away(source) => match source.source() {
            Some(cause) => format!("{source}: {cause}"),
            None => source.to_string(),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn wrapped_key_opens_for_its_purpose_alone() {
    let url = stand_in(transit);
    let transit = key(&url, "keyway", "s.token");
    let wrapped = transit.wrap(&data_key(), b"ada").unwrap();
    assert!(wrapped.starts_with(b"vault:v1:"));
    assert_eq!(transit.unwrap(&wrapped, b"ada").unwrap().expose(), &[7; 32]);
    for (wrapped, context) in [
        (&wrapped[..], &b"bob"[..]),
        (b"vault:v1:x", b"ada"),
        (b"\xff", b"ada"),
    ] {
        let refused = transit.unwrap(wrapped, context).unwrap_err();
        assert!(matches!(refused, WrapError::Rejected), "{refused}");
    }
    // The same key by another address of the same service; another key by another name.
    assert_eq!(
        transit.id(),
        key(&stand_in(super::tests::transit), "keyway", "").id()
    );
    assert_ne!(transit.id(), key(&url, "other", "").id());
}

#[test]
fn transit_that_does_not_help_is_away_and_says_why() {
    let says = |url: &str, name: &str, token: &str| {
        away(key(url, name, token).wrap(&data_key(), b"ada").unwrap_err())
    };
    let url = stand_in(transit);
    assert_eq!(
        says(&url, "keyway", "s.other"),
        "Transit answered with status 403"
    );
    assert_eq!(
        says(&url, "absent", "s.token"),
        "Transit answered with status 404"
    );
    let sealed = stand_in(|_, _, _| Some((503, r#"{"errors":["Vault is sealed"]}"#.to_owned())));
    assert_eq!(
        says(&sealed, "keyway", "s.token"),
        "Transit answered with status 503"
    );
    let garbage = stand_in(|_, _, _| Some((200, "<html>".to_owned())));
    let not_specified = "Transit did not answer as it is specified";
    assert_eq!(says(&garbage, "keyway", "s.token"), not_specified);
    let empty = stand_in(|_, _, _| Some((200, r#"{"data":{}}"#.to_owned())));
    assert_eq!(says(&empty, "keyway", "s.token"), not_specified);
    let endless = stand_in(|_, _, _| Some((200, "x".repeat(2 << 20))));
    assert!(says(&endless, "keyway", "s.token").contains("more than 1 MiB"));
    let silent = stand_in(|_, _, _| None);
    assert_eq!(
        says(&silent, "keyway", "s.token"),
        "Transit did not answer within 5 seconds"
    );
    let nowhere = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nowhere = format!("http://{nowhere}/v1/transit");
    assert!(says(&nowhere, "keyway", "s.token").starts_with("Transit cannot be asked"));
}

#[test]
fn address_without_tls_beyond_this_machine_is_refused() {
    for url in [
        "http://vault.example/v1/transit",
        "https://user@vault.example/v1",
        "transit",
    ] {
        let context = DatabaseContext::new(Folders::below("/nowhere"));
        let secrets = Secrets::new(WrappingKeySettings::default(), context, "transit_url");
        let refused = TransitKey::new(url, "keyway".to_owned(), secrets, None).unwrap_err();
        assert!(matches!(refused, TransitFault::Address), "{url}");
    }
}
