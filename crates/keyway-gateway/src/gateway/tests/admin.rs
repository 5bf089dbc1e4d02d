//! The admin port beyond this machine: health and, with a token, metrics, under a certificate.

use keyway::settings::{Around, GatewaySettings, Settings};
use keyway_auth::oauth::RefreshTraffic;
use keyway_testkit::{Folder, free_port};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;
use crate::admin_port;
use crate::public_listener::PublicListenError;

fn settings(lines: &str) -> GatewaySettings {
    let text = format!("[gateway]\npublic_url = \"https://gateway.example\"\n{lines}");
    let parsed = Settings::parse("config.toml", text.as_bytes(), Around::default());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.settings.gateway
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one port, asked for one path after the other"
)]
async fn from_other_machines_it_answers_health_and_with_a_token_metrics() {
    let made = rcgen::generate_simple_self_signed(["gateway.example".to_owned()]).unwrap();
    let folder = Folder::new()
        .file("tls.pem", made.cert.pem())
        .file("tls.key", made.signing_key.serialize_pem());
    let port = free_port();
    let lines = format!(
        "admin = \"0.0.0.0:{port}\"\ntls_certificate = {:?}\ntls_key = {:?}\n\
         trusted_proxies = [\"192.0.2.1\"]",
        folder.at("tls.pem"),
        folder.at("tls.key")
    );
    let running = Running::start_with(&[], |gateway| {
        gateway
            .with_admin_port(true)
            .measuring(Arc::new(RefreshTraffic::default()))
    });
    let admin = admin_port::listen(None, &settings(&lines)).unwrap();
    let admin = admin.expect("the settings name one");
    assert_ne!(
        admin.port(),
        port,
        "the dashboard has a port of this machine"
    );
    let local = admin.port();
    let _serving = admin.serve_gateway(&running.gateway);
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let tls = TlsConnector::from(Arc::new(config));
    let get = async |path: &str, headers: &str| {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from("gateway.example").unwrap();
        let mut stream = tls.connect(name, stream).await.unwrap();
        // As a probe or a monitor names it: by the address of the machine.
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: 10.1.2.3:{port}\r\n{headers}connection: close\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        drop(timeout(PATIENCE, read).await.expect("an end"));
        answer
    };
    assert!(get("/healthz", "").await.starts_with("HTTP/1.1 200"));
    assert!(get("/readyz", "").await.ends_with("ready\n"));
    let all = "authorization: Bearer all\r\n";
    let narrow = "authorization: Bearer only-a\r\n";
    for (path, headers, status) in [
        ("/metrics", "", "403"),
        ("/metrics", narrow, "403"),
        ("/metrics", all, "200"),
        ("/", all, "404"),
        ("/dashboard/style.css", all, "404"),
        ("/mcp/a/one", all, "404"),
        ("/v1/servers", all, "404"),
    ] {
        let answer = get(path, headers).await;
        let begin = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&begin), "{path}: {answer}");
    }
    let page = format!("{all}origin: https://10.1.2.3:{port}\r\n");
    for path in ["/healthz", "/metrics"] {
        assert!(get(path, &page).await.starts_with("HTTP/1.1 403"), "{path}");
    }
    assert!(
        get("/metrics", all)
            .await
            .contains("keyway_token_cache_hits_total 0")
    );
    // On this machine it is named as this machine.
    let ask = async |host: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", local)).await.unwrap();
        let text = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    assert!(
        ask(&format!("localhost:{local}"))
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(ask("evil.example").await.starts_with("HTTP/1.1 403"));
}

#[tokio::test]
async fn beyond_this_machine_it_needs_a_certificate() {
    let address = Some("0.0.0.0:0".parse().unwrap());
    for lines in ["", "trusted_proxies = [\"10.0.0.5\"]"] {
        let refused = admin_port::listen(address, &settings(lines)).unwrap_err();
        assert!(
            matches!(refused, PublicListenError::NotProtected { .. }),
            "{lines}"
        );
    }
    assert!(admin_port::listen(None, &settings("")).unwrap().is_none());
}
