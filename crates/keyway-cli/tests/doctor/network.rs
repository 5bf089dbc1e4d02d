//! Names, certificates, proxies, limits and versions.

use std::net::TcpListener;

use keyway_testkit::Folder;

use crate::server::{Answer, Server, certificate, mcp, mcp_of};
use crate::{assert_fault, assert_works, doctor};

fn entry(url: &str) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#
    ))
}

#[test]
fn a_name_that_leads_nowhere_is_told_as_such() {
    // Too long for the name service, so that nobody is asked.
    let folder = entry(&format!("https://{}.example/mcp", "a".repeat(70)));
    let found = assert_fault(
        &doctor(&folder).run(),
        "name-not-found",
        5,
        "check the host in `url`",
    );
    assert_eq!(found["stage"], "name");
}

#[test]
fn nobody_at_the_port_is_the_network() {
    // An address of its own, so that no other test takes the port in the meantime.
    let listener = TcpListener::bind("127.0.0.77:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let folder = entry(&format!("http://{address}/mcp"));
    assert_fault(
        &doctor(&folder).run(),
        "unreachable",
        5,
        "check the address",
    );
    let _server = Server::start_at(&address, None, mcp);
    assert_works(&doctor(&folder).run());
}

#[test]
fn an_address_that_is_never_reached_is_told_and_another_host_works() {
    let server = Server::start(mcp);
    let folder = entry("https://169.254.169.254/mcp");
    let fix = "check the host in `url`";
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
        if until > 2020 {
            folder.put("home/config/config.toml", &settings);
            assert_works(&doctor(&folder).run());
        }
    }
}

#[test]
fn a_server_in_the_clear_behind_https_is_no_certificate_trouble() {
    let server = Server::start(mcp);
    let folder = entry(&format!("https://127.0.0.1:{}/mcp", server.port));
    assert_fault(
        &doctor(&folder).run(),
        "tls-failed",
        5,
        "check the port in `url`",
    );
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

#[test]
fn a_limit_is_told_with_the_time_to_wait() {
    let server = Server::start(|_| Answer::empty(429, "retry-after: 7\r\n"));
    let outcome = doctor(&entry(&server.url())).run();
    let found = assert_fault(
        &outcome,
        "rate-limited",
        1,
        "sleep 7 && keyway doctor --server s",
    );
    assert_eq!(found["http"]["status"], 429);
}

#[test]
fn a_server_of_no_known_version_says_what_it_offers() {
    let server = Server::start(|request| mcp_of(request, "1999-01-01"));
    let outcome = doctor(&entry(&server.url())).run();
    let found = assert_fault(&outcome, "no-common-version", 1, "");
    assert!(found["message"].as_str().unwrap().contains("1999-01-01"));
}

#[test]
fn a_page_that_is_no_server_is_an_http_error() {
    let server = Server::start(|_| Answer::empty(404, ""));
    assert_fault(
        &doctor(&entry(&server.url())).run(),
        "http-error",
        1,
        "check the path",
    );
}
