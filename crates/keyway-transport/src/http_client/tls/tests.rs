//! Root and client certificates, against a server with certificates made on the spot.

use std::error::Error;

use keyway_auth::Fixed;
use keyway_code::Code;

use super::*;
use crate::connection::Connection;
use crate::http_client::{HttpClient, HttpSettings};
use crate::testing::*;

fn client(root_certificates: RootCertificates, identity: Option<ClientIdentity>) -> HttpClient {
    let settings = HttpSettings {
        root_certificates,
        identity,
        ..HttpSettings::default()
    };
    HttpClient::new(settings).unwrap()
}

fn connect(client: &HttpClient, host: &str, server: &Server) -> Connection {
    let url = Secret::new(format!("https://{host}:{}/mcp", server.port));
    let authorizer = Arc::new(Fixed::new(canary_header()));
    crate::connect_http(&url, authorizer, client).unwrap()
}

async fn call(connection: &mut Connection) -> Result<String, TransportError> {
    send(connection, modern(1, "tools/call", "")).await;
    match next(connection).await {
        crate::Event::Frame(frame) => Ok(String::from_utf8(frame.bytes().to_vec()).unwrap()),
        crate::Event::Failed { error, .. } => Err(error),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn server_certificate_needs_a_trusted_ca_and_the_right_name() {
    let authority = Authority::new();
    let server = Server::start_with(Some(authority.acceptor(false)), |seen| seen.ok()).await;
    let trusting = client(authority.root_certificates(), None);
    assert!(
        call(&mut connect(&trusting, "localhost", &server))
            .await
            .is_ok()
    );
    let other = Authority::new();
    let stranger = client(other.root_certificates(), None);
    for (client, host, code) in [
        (&trusting, "127.0.0.1", Code::CertificateName),
        (&stranger, "localhost", Code::CertificateUntrusted),
    ] {
        let error = call(&mut connect(client, host, &server)).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        let mut texts = Vec::new();
        let mut source = error.source();
        while let Some(error) = source {
            texts.push(error.to_string());
            source = error.source();
        }
        assert!(
            texts.iter().any(|text| text.contains("certificate")),
            "{texts:?}"
        );
    }
    assert_eq!(server.connections(), 3, "a certificate does not get better");
    assert_eq!(
        server.journal().len(),
        1,
        "nothing is sent to a server that is not believed"
    );
}

#[tokio::test]
async fn client_certificate_is_shown_and_can_be_replaced() {
    let authority = Authority::new();
    let server = Server::start_with(Some(authority.acceptor(true)), |seen| seen.ok().close()).await;
    let plain = client(authority.root_certificates(), None);
    assert!(
        call(&mut connect(&plain, "localhost", &server))
            .await
            .is_err()
    );
    assert!(plain.replace_identity(&authority.issue("first")).is_err());
    let identified = client(
        authority.root_certificates(),
        Some(authority.issue("first")),
    );
    assert!(
        call(&mut connect(&identified, "localhost", &server))
            .await
            .is_ok()
    );
    // A certificate of another authority is refused from the next connection on.
    identified
        .replace_identity(&Authority::new().issue("other"))
        .unwrap();
    let mut connection = connect(&identified, "localhost", &server);
    assert!(call(&mut connection).await.is_err());
    identified
        .replace_identity(&authority.issue("second"))
        .unwrap();
    assert!(call(&mut connection).await.is_ok());
}

#[tokio::test]
async fn an_alert_about_the_client_certificate_is_told_from_other_failures_of_tls() {
    let authority = Authority::new();
    let server = Server::start_with(Some(authority.acceptor(true)), |seen| seen.ok().close()).await;
    for (what, identity) in [
        ("none", None),
        ("expired", Some(authority.issue_expired("old"))),
        (
            "of an unknown authority",
            Some(Authority::named("unknown").issue("other")),
        ),
        (
            "of an authority that only has the name",
            Some(Authority::new().issue("other")),
        ),
    ] {
        let client = client(authority.root_certificates(), identity);
        let refused = call(&mut connect(&client, "localhost", &server)).await;
        let error = refused.unwrap_err();
        assert_eq!(error.code(), Code::TlsFailed, "{what}: {error:?}");
        let cause = error.network_cause();
        let expected = Some(crate::network_cause::NetworkCause::ClientCertificate);
        assert_eq!(cause, expected, "{what}: {error:?}");
    }
}

#[tokio::test]
async fn unusable_certificates_are_reported_and_the_old_ones_stay() {
    let authority = Authority::new();
    let good = authority.issue("a");
    let other = authority.issue("b");
    let client = client(authority.root_certificates(), Some(good.clone()));
    for (chain, key) in [
        (b"".to_vec(), good.key.clone()),
        (b"CANARY".to_vec(), good.key.clone()),
        (good.chain.clone(), Secret::new(b"CANARY".to_vec())),
        (good.chain.clone(), other.key.clone()),
    ] {
        let error = client
            .replace_identity(&ClientIdentity { chain, key })
            .unwrap_err();
        assert_eq!(error.code(), Code::ConfigError);
        assert!(!format!("{error:?}").contains("CANARY"));
    }
    for content in ["", "CANARY"] {
        let file = authority.folder.path().join("bad.pem");
        std::io::Write::write_all(
            &mut std::fs::File::create(&file).unwrap(),
            content.as_bytes(),
        )
        .unwrap();
        for file in [file, authority.folder.path().join("missing.pem")] {
            let root_certificates = RootCertificates {
                system: false,
                files: vec![file],
            };
            let tls = Tls::new(&root_certificates, None).unwrap();
            for _ in 0..2 {
                let error = tls.configs().await.unwrap_err();
                assert_eq!(error.code(), Code::ConfigError);
                assert!(error.to_string().contains("root certificate"), "{error}");
            }
        }
    }
}

/// A list that is set for a whole machine must not stop connections that need no list.
#[tokio::test]
async fn roots_that_cannot_be_read_do_not_stop_plain_connections() {
    let server = Server::start(|seen| seen.ok()).await;
    let root_certificates = RootCertificates {
        system: false,
        files: vec!["/nonexistent/roots.pem".into()],
    };
    let client = client(root_certificates, None);
    let url = Secret::new(format!("http://127.0.0.1:{}/mcp", server.port));
    let authorizer = Arc::new(Fixed::new(canary_header()));
    let mut plain = crate::connect_http(&url, authorizer, &client).unwrap();
    assert!(call(&mut plain).await.is_ok());
    let error = call(&mut connect(&client, "localhost", &server)).await;
    assert_eq!(error.unwrap_err().code(), Code::ConfigError);
}
