//! Listening for other machines: encrypted, or behind a proxy that is named.

use keyway::settings::{Around, Settings};
use keyway_testkit::{Folder, free_port};
use rustls_pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::people::{Idp, people};
use super::*;
use crate::public_listener::{PublicListenError, listen};

/// Reads `[gateway]` of settings with more lines, and listens by it.
fn listen_by(lines: &str) -> Result<(Listener, u16), PublicListenError> {
    let text = format!("[gateway]\npublic_url = \"https://gateway.example\"\n{lines}");
    let parsed = Settings::parse("config.toml", text.as_bytes(), Around::default());
    let port = free_port();
    let public = parsed.settings.gateway.public.unwrap();
    let listener = listen(([127, 0, 0, 1], port).into(), &public)?;
    Ok((listener, port))
}

/// Serves a gateway for people there.
fn serve_by(lines: &str, idp: &Arc<Idp>) -> u16 {
    let (listener, port) = listen_by(lines).unwrap();
    let reader: TokenReader = Arc::new(|| Ok(Vec::new()));
    let heard = Arc::default();
    let servers = vec![served("a", "one", [0; 32], &heard, &[])];
    let gateway = Gateway::new(servers, reader, ClientInfo::new("keyway", "0"));
    let gateway = Arc::new(gateway.with_people(people(idp)));
    drop(tokio::spawn(async move {
        serve(vec![listener], gateway, std::future::pending()).await;
    }));
    port
}

/// Sends one request, and returns the whole answer; empty if the connection is closed.
async fn get(mut stream: impl AsyncRead + AsyncWrite + Unpin, host: &str, token: &str) -> String {
    let text = format!(
        "POST /mcp/a/one HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{HELLO}",
        HELLO.len()
    );
    let mut answer = Vec::new();
    if stream.write_all(text.as_bytes()).await.is_ok() {
        let read = stream.read_to_end(&mut answer);
        drop(timeout(PATIENCE, read).await.expect("an end"));
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_client_of_another_machine_is_encrypted_and_names_the_public_address() {
    let folder = Folder::new();
    let name = "gateway.example";
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let folder = folder
        .file("tls.pem", made.cert.pem())
        .file("tls.key", made.signing_key.serialize_pem());
    let lines = format!(
        "tls_certificate = {:?}\ntls_key = {:?}",
        folder.at("tls.pem"),
        folder.at("tls.key")
    );
    let idp = Arc::new(Idp::new());
    let port = serve_by(&lines, &idp);
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let tls = TlsConnector::from(Arc::new(config));
    let connect = async || {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from(name).unwrap();
        tls.connect(name, stream).await.unwrap()
    };
    let ada = idp.token("ada", json!({}));
    let answer = get(connect().await, name, &ada).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Nothing of this machine alone is reached from others, whatever they call it.
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}")] {
        let answer = get(connect().await, &host, &ada).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    let plain = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let answer = get(plain, name, &ada).await;
    assert!(!answer.contains("HTTP"), "{answer}");
}

#[tokio::test]
async fn only_proxies_that_are_named_may_connect() {
    let idp = Arc::new(Idp::new());
    let ada = idp.token("ada", json!({}));
    for (proxies, is_let_in) in [
        (r#"["127.0.0.1"]"#, true),
        (r#"["10.0.0.5", "127.0.0.2"]"#, false),
    ] {
        let port = serve_by(&format!("trusted_proxies = {proxies}"), &idp);
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let answer = get(stream, "gateway.example", &ada).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), is_let_in, "{answer}");
        assert_eq!(answer.is_empty(), !is_let_in, "{answer}");
    }
}

#[tokio::test]
async fn nothing_is_listened_on_without_protection() {
    let refused = listen_by("").unwrap_err();
    assert!(matches!(refused, PublicListenError::NotProtected { .. }));
    let unreadable = listen_by("tls_certificate = \"/none.pem\"\ntls_key = \"/none.key\"");
    assert!(matches!(
        unreadable.unwrap_err(),
        PublicListenError::Unreadable { .. }
    ));
}
