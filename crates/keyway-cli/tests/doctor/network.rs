//! Names, certificates, proxies, limits and versions.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_testkit::Folder;

use crate::doctor::server::{Answer, Server, certificate, certificate_for, mcp, mcp_of};
use crate::doctor::{assert_fault, assert_works, doctor};

fn entry(url: &str) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#
    ))
}

#[test]
fn a_name_that_leads_nowhere_is_told_as_such() {
    // Too long for DNS, so that no name server is asked.
    let folder = entry(&format!("https://{}.example/mcp", "a".repeat(70)));
    let found = assert_fault(
        &doctor(&folder).run(),
        "name-not-found",
        5,
        "check the host in `url`",
    );
    assert_eq!(found["stage"], "name");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("`{}.example`", "a".repeat(70))),
        "{message}"
    );
    let server = Server::start(mcp);
    folder.put(".mcp.json", entry(&server.url()).read(".mcp.json"));
    assert_works(&doctor(&folder).run());
}

#[test]
fn a_port_without_a_server_is_a_network_fault() {
    // An address of its own, so that no other test takes the port in the meantime.
    let listener = TcpListener::bind("127.0.0.77:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let folder = entry(&format!("http://{address}/mcp"));
    let fix = "start the server, which runs on this machine, or correct the port in `url`; then keyway doctor s";
    let found = assert_fault(&doctor(&folder).run(), "unreachable", 5, fix);
    let message = found["message"].as_str().unwrap();
    assert!(message.contains(&address), "{message}");
    let _server = Server::start_at(&address, None, mcp);
    assert_works(&doctor(&folder).run());
}

#[test]
fn an_address_that_is_never_reached_is_told_and_another_host_works() {
    let server = Server::start(mcp);
    let folder = entry("https://169.254.169.254/mcp");
    let fix = "put another host into `url`";
    assert_fault(&doctor(&folder).run(), "forbidden-address", 1, fix);
    let text = folder.read(".mcp.json");
    let text = text.replace("https://169.254.169.254/mcp", &server.url());
    folder.put(".mcp.json", text);
    assert_works(&doctor(&folder).run());
}

#[test]
fn certificates_are_told_apart_and_a_named_root_is_believed() {
    for (until, code, fix) in [
        (2002, "certificate-expired", "date -u"),
        (2090, "certificate-untrusted", "roots = "),
    ] {
        let (root, tls) = certificate(until);
        let server = Server::start_with(Some(tls), mcp);
        let folder = entry(&format!("https://127.0.0.1:{}/mcp", server.port)).file("ca.pem", root);
        let settings = format!(
            "[network]\nroots = [\"{}\"]\n",
            folder.at("ca.pem").display()
        );
        if until < 2020 {
            folder.put("home/config/config.toml", &settings);
        }
        let found = assert_fault(&doctor(&folder).run(), code, 5, fix);
        assert_eq!(found["stage"], "tls");
        if until < 2020 {
            // Its operator has renewed it.
            let (root, tls) = certificate(2090);
            let renewed = Server::start_with(Some(tls), mcp);
            folder.put("ca.pem", root);
            let text = folder.read(".mcp.json");
            let (old, new) = (server.port.to_string(), renewed.port.to_string());
            folder.put(".mcp.json", text.replace(&old, &new));
        }
        folder.put("home/config/config.toml", &settings);
        assert_works(&doctor(&folder).run());
    }
}

#[test]
fn an_unencrypted_server_behind_https_is_not_a_certificate_fault() {
    let server = Server::start(mcp);
    let folder = entry(&format!("https://127.0.0.1:{}/mcp", server.port));
    assert_fault(
        &doctor(&folder).run(),
        "tls-failed",
        5,
        "check the port in `url`",
    );
    let text = folder.read(".mcp.json").replace("https://", "http://");
    folder.put(".mcp.json", text);
    assert_works(&doctor(&folder).run());
}

#[test]
fn a_proxy_that_refuses_is_told_as_such() {
    let proxy = Server::start(|_| Answer::empty(407, "proxy-authenticate: Basic\r\n"));
    let folder = entry("https://mcp.example/mcp");
    let address = format!("http://u:CANARY-proxy@127.0.0.1:{}", proxy.port);
    let outcome = doctor(&folder).env("HTTPS_PROXY", address).run();
    let found = assert_fault(&outcome, "proxy-refused", 5, "NO_PROXY");
    assert!(found["message"].as_str().unwrap().contains("407"));
}

/// The credential that the hint speaks of, at a proxy that knows it.
#[test]
fn a_proxy_that_gets_its_credential_leads_to_the_server() {
    let (root, tls) = certificate_for("mcp.example", 2090);
    let server = Server::start_with(Some(tls), mcp);
    // `u:CANARY-right` as RFC 7617 writes it.
    let proxy = tunnel(server.port, "Basic dTpDQU5BUlktcmlnaHQ=");
    let folder = entry("https://mcp.example/mcp").file("ca.pem", root);
    let path = folder.at("ca.pem");
    let settings = format!("[network]\nroots = [\"{}\"]\n", path.display());
    folder.put("home/config/config.toml", settings);
    let call = |credential: &str| {
        let address = format!("http://{credential}@127.0.0.1:{proxy}");
        doctor(&folder).env("HTTPS_PROXY", address).run()
    };
    let fix = "check the proxy variables and the proxy's credential";
    let found = assert_fault(&call("u:CANARY-wrong"), "proxy-refused", 5, fix);
    assert!(found["message"].as_str().unwrap().contains("`mcp.example`"));
    assert_works(&call("u:CANARY-right"));
}

/// Starts a proxy that leads all requests with this credential to one port.
fn tunnel(to: u16, basic: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut near in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if near.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            if !String::from_utf8_lossy(&head).contains(basic) {
                let refusal = "HTTP/1.1 407 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                drop(near.write_all(refusal.as_bytes()));
                continue;
            }
            near.write_all(b"HTTP/1.1 200 x\r\n\r\n").unwrap();
            let mut far = TcpStream::connect(("127.0.0.1", to)).unwrap();
            let (mut from, mut into) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || {
                drop(std::io::copy(&mut from, &mut into));
                drop(into.shutdown(Shutdown::Write));
            });
            std::thread::spawn(move || {
                drop(std::io::copy(&mut far, &mut near));
                drop(near.shutdown(Shutdown::Write));
            });
        }
    });
    port
}

#[test]
fn a_limit_is_told_with_the_time_to_wait() {
    for (headers, fix) in [
        ("retry-after: 7\r\n", "sleep 7 && keyway doctor s"),
        // A date counts by the clock of the server, whatever ours says.
        (
            "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:07 GMT\r\n",
            "sleep 30 && keyway doctor s",
        ),
        (
            "retry-after: soon\r\n",
            "wait a minute; then keyway doctor s",
        ),
    ] {
        let limits = Arc::new(AtomicBool::new(true));
        let still = Arc::clone(&limits);
        let server = Server::start(move |request| {
            if still.load(Ordering::Relaxed) {
                return Answer::empty(429, headers);
            }
            mcp(request)
        });
        let folder = entry(&server.url());
        let found = assert_fault(&doctor(&folder).run(), "rate-limited", 1, fix);
        assert_eq!(found["http"]["status"], 429);
        // It is asked for its health and for tools once, and not again and again.
        let asked = server.asked();
        assert!(asked.len() <= 3, "{asked:?}");
        limits.store(false, Ordering::Relaxed);
        assert_works(&doctor(&folder).run());
    }
}

#[test]
fn a_server_of_no_known_version_says_what_it_offers_and_which_side_needs_an_update() {
    for (version, fix) in [
        (
            "1999-01-01",
            "the server is older than all that Keyway speaks",
        ),
        ("2031-01-01", "update Keyway; then keyway doctor s"),
        ("latest", "send its operator the log that this writes"),
    ] {
        let server = Server::start(move |request| mcp_of(request, version));
        let outcome = doctor(&entry(&server.url())).run();
        let found = assert_fault(&outcome, "no-common-version", 1, fix);
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(version), "{message}");
        assert!(
            message.contains("Keyway speaks 2026-07-28 (modern)"),
            "{message}"
        );
    }
}

/// Old servers meet the modern question in many ways; some break.
#[test]
fn a_legacy_server_is_recognized_however_it_takes_the_modern_question() {
    for status in [400, 404, 406, 500, 501] {
        let server = Server::start(move |request| {
            if request.contains("server/discover") {
                return Answer::empty(status, "");
            }
            mcp(request)
        });
        let outcome = doctor(&entry(&server.url())).run();
        assert_works(&outcome);
        let object: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(
            object["servers"][0]["protocol"]["era"], "legacy",
            "{status}"
        );
    }
}

#[test]
fn a_web_page_instead_of_a_server_is_an_http_error() {
    let server = Server::start(|_| Answer::empty(404, ""));
    let folder = entry(&server.url());
    let fix = "check the path of `url`, where nothing speaks MCP on any transport";
    assert_fault(&doctor(&folder).run(), "http-error", 1, fix);
    let right = Server::start(mcp);
    let text = folder
        .read(".mcp.json")
        .replace(&server.url(), &right.url());
    folder.put(".mcp.json", text);
    assert_works(&doctor(&folder).run());
}

#[test]
fn a_server_in_trouble_says_when_to_come_back_and_works_then() {
    for (status, headers, fix) in [
        (503, "retry-after: 9\r\n", "sleep 9 && keyway doctor s"),
        (500, "", "try again in a minute: keyway doctor s"),
        (418, "", "check `url`, then keyway doctor s"),
    ] {
        let mended = Arc::new(AtomicBool::new(false));
        let is_mended = Arc::clone(&mended);
        let server = Server::start(move |request| {
            if is_mended.load(Ordering::Relaxed) {
                return mcp(request);
            }
            Answer::empty(status, headers)
        });
        let folder = entry(&server.url());
        let found = assert_fault(&doctor(&folder).run(), "http-error", 1, fix);
        assert_eq!(found["http"]["status"], status);
        mended.store(true, Ordering::Relaxed);
        assert_works(&doctor(&folder).run());
    }
}
