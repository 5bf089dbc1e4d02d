//! Which addresses a server's word may lead to. No packet goes anywhere but to loopback.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use super::*;
use crate::http_client::{Lookup, ProxySettings};

/// Names with their addresses, and the names that were looked up.
#[derive(Debug, Default)]
struct Names {
    known: Mutex<HashMap<&'static str, &'static str>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn new(known: &[(&'static str, &'static str)]) -> Arc<Self> {
        Arc::new(Self {
            known: Mutex::new(known.iter().copied().collect()),
            ..Self::default()
        })
    }

    fn client(self: &Arc<Self>, proxies: ProxySettings) -> HttpClient {
        let settings = HttpSettings {
            lookup: Some(Arc::clone(self) as Arc<dyn Lookup>),
            proxies,
            ..HttpSettings::default()
        };
        HttpClient::new(settings).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Lookup for Names {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let known = self.known.lock().unwrap().get(name).copied();
        let addresses = known.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let parse = |list: &str| list.split(' ').map(|text| text.parse().unwrap()).collect();
        Box::pin(std::future::ready(addresses.map(parse)))
    }
}

async fn failure_of(client: &OAuthHttp, text: &str) -> HttpFailure {
    client
        .send(HttpRequest::get(url(text)))
        .await
        .expect_err(text)
}

#[tokio::test]
async fn a2_public_server_cannot_refer_to_loopback_in_any_spelling() {
    let victim = Server::start(|_| Reply::json(200, "{}")).await;
    let names = Names::new(&[("mcp.example", "1.1.1.1")]);
    let server = url("https://mcp.example/mcp");
    let client = OAuthHttp::new(&names.client(ProxySettings::default()), &server);
    for host in [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "a.localhost",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "127.1",
        "①②⑦.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "10.66.0.1",
        "metadata.google.internal",
        "metadata.internal.example",
    ] {
        for scheme in ["http", "https"] {
            let failure = failure_of(&client, &format!("{scheme}://{host}:{}/", victim.port)).await;
            assert!(
                matches!(failure, HttpFailure::Forbidden { .. }),
                "{scheme}://{host}: {failure}"
            );
            assert!(!failure.is_transient());
        }
    }
    assert_eq!(victim.connections(), 0);
    assert_eq!(
        names.asked(),
        ["mcp.example"],
        "refused before they are looked up"
    );
}

#[tokio::test]
async fn a2_every_address_of_a_name_is_checked_before_anything_connects() {
    let acceptor = Authority::new().acceptor(false);
    let victim = Server::start_with(Some(acceptor), |_| Reply::json(200, "{}")).await;
    let names = Names::new(&[
        ("public.example", "1.1.1.1"),
        ("private.example", "10.0.0.1"),
        ("loop.example", "127.0.0.1"),
        ("as-private.example", "10.66.0.1 192.168.0.1"),
        ("as-loop.example", "127.0.0.1 ::1"),
        ("as-mapped.example", "::ffff:127.0.0.1"),
        ("as-nat64.example", "64:ff9b::7f00:1"),
        ("as-link.example", "169.254.169.254"),
        ("as-nowhere.example", "0.0.0.0 ::"),
        ("as-cgnat.example", "100.64.0.1"),
    ]);
    let plain = names.client(ProxySettings::default());
    let port = victim.port;
    for (server, targets) in [
        (
            "public",
            &[
                "private", "loop", "mapped", "nat64", "link", "nowhere", "cgnat",
            ][..],
        ),
        ("private", &["loop", "mapped", "nat64", "link", "nowhere"]),
        ("loop", &["link", "nowhere"]),
    ] {
        let client = OAuthHttp::new(&plain, &url(&format!("https://{server}.example/")));
        for target in targets {
            let failure =
                failure_of(&client, &format!("https://as-{target}.example:{port}/")).await;
            assert!(
                matches!(failure, HttpFailure::Forbidden { .. }),
                "{server} {target}: {failure}"
            );
        }
    }
    assert_eq!(victim.connections(), 0);
    // The same name from a server that may: a connection is made, to the untrusted server.
    let client = OAuthHttp::new(&plain, &url("https://loop.example/"));
    let failure = failure_of(&client, &format!("https://as-loop.example:{port}/")).await;
    assert!(
        matches!(failure, HttpFailure::Unreachable { sent: false, .. }),
        "{failure}"
    );
    assert_eq!(victim.connections(), 1);
}

/// What is told to a person: a setting helps in one case, and in the other nothing does.
#[tokio::test]
async fn a2_refused_address_says_whether_a_setting_would_allow_it() {
    // Every connection is closed at once.
    let door = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = door.local_addr().unwrap().port();
    let (came, mut seen) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((_, from)) = door.accept().await {
            let _gone = came.send(from);
        }
    });
    let names = Names::new(&[
        ("mcp.example", "1.1.1.1"),
        ("as-loop.example", "127.0.0.1"),
        ("as-link.example", "169.254.10.20"),
    ]);
    let server = url("https://mcp.example/mcp");
    let plain = names.client(ProxySettings::default());
    let strict = OAuthHttp::new(&plain, &server);
    let allowed = OAuthHttp::dangerous_private(&plain, &server).unwrap();
    for (host, expected) in [
        ("127.0.0.1", Barred::LessPublic),
        ("as-loop.example", Barred::LessPublic),
        ("169.254.10.20", Barred::Never),
        ("[fe80::1]", Barred::Never),
        ("as-link.example", Barred::Never),
        ("metadata.google.internal", Barred::Never),
    ] {
        let text = format!("https://{host}:{port}/");
        let failure = failure_of(&strict, &text).await;
        let HttpFailure::Forbidden { why, .. } = failure else {
            panic!("{text}: {failure}");
        };
        assert_eq!(why, expected, "{text}");
        // What the hint says of the setting is true: then it is connected to, or still not.
        assert!(seen.try_recv().is_err(), "{text}");
        let failure = failure_of(&allowed, &text).await;
        let is_barred = matches!(failure, HttpFailure::Forbidden { .. });
        assert_eq!(is_barred, expected == Barred::Never, "{text}: {failure}");
        assert_eq!(seen.try_recv().is_err(), is_barred, "{text}");
    }
}

#[tokio::test]
async fn a2_plain_http_is_sent_to_loopback_only() {
    let names = Names::new(&[("loop.example", "127.0.0.1")]);
    let server = Server::start(|_| Reply::json(200, "{}")).await;
    let client = OAuthHttp::new(&names.client(ProxySettings::default()), &at(&server, "/"));
    for text in ["http://loop.example", "ftp://127.0.0.1", "http://10.0.0.1"] {
        let failure = failure_of(&client, text).await;
        let is_so = |why| why == Barred::Unencrypted;
        assert!(
            matches!(failure, HttpFailure::Forbidden { why, .. } if is_so(why)),
            "{text}"
        );
    }
    for host in ["127.0.0.1", "localhost", "localhost.", "0x7f000001"] {
        let address = url(&format!("http://{host}:{}/", server.port));
        assert!(
            client.send(HttpRequest::get(address)).await.is_ok(),
            "{host}"
        );
    }
    assert_eq!(names.asked(), [""; 0]);
}

#[tokio::test]
async fn a3_name_that_turns_private_after_the_first_lookup_is_refused() {
    let victim = Server::start(|_| Reply::json(200, "{}")).await;
    let names = Names::new(&[("mcp.example", "127.0.0.1 1.1.1.1")]);
    let server = url("https://mcp.example/");
    let client = OAuthHttp::new(&names.client(ProxySettings::default()), &server);
    let own = format!("https://mcp.example:{}/", victim.port);
    // The most public address counts, and it is remembered.
    let failure = failure_of(&client, "https://localhost/").await;
    assert!(matches!(failure, HttpFailure::Forbidden { .. }));
    names
        .known
        .lock()
        .unwrap()
        .insert("mcp.example", "127.0.0.1");
    let failure = failure_of(&client, &own).await;
    assert!(
        matches!(failure, HttpFailure::Forbidden { .. }),
        "{failure}"
    );
    assert_eq!(victim.connections(), 0);
}

#[tokio::test]
async fn unresolvable_server_is_retried_on_the_next_request() {
    let names = Names::new(&[]);
    let server = url("https://mcp.example/");
    let client = OAuthHttp::new(&names.client(ProxySettings::default()), &server);
    let failure = failure_of(&client, "https://as.example/").await;
    assert!(
        matches!(&failure, HttpFailure::Unreachable { host, sent: false, .. } if host == "mcp.example"),
        "{failure}"
    );
    names.known.lock().unwrap().insert("mcp.example", "1.1.1.1");
    let failure = failure_of(&client, "https://localhost/").await;
    assert!(
        matches!(failure, HttpFailure::Forbidden { .. }),
        "{failure}"
    );
}

#[tokio::test]
async fn behind_a_proxy_hosts_are_checked_without_a_lookup() {
    let proxy = Server::start(|_| Reply::status(502, "")).await;
    let names = Names::new(&[("near.example", "10.0.0.1")]);
    let settings = ProxySettings {
        https: Some(Secret::new(format!("http://127.0.0.1:{}", proxy.port))),
        none: Some("near.example".to_owned()),
        ..ProxySettings::default()
    };
    let plain = names.client(settings);
    let client = OAuthHttp::new(&plain, &url("https://mcp.example/"));
    for text in [
        "https://10.0.0.1/",
        "https://localhost/",
        "https://metadata.x/",
    ] {
        let failure = failure_of(&client, text).await;
        assert!(matches!(failure, HttpFailure::Forbidden { .. }), "{text}");
    }
    assert_eq!(proxy.connections(), 0);
    drop(failure_of(&client, "https://as.example/").await);
    assert_eq!(proxy.journal()[0].method, "CONNECT");
    assert_eq!(proxy.journal()[0].path, "as.example:443");
    assert_eq!(names.asked(), [""; 0]);
    // A server that is reached directly is as public as it is.
    let near = OAuthHttp::new(&plain, &url("https://near.example/"));
    drop(failure_of(&near, "https://10.0.0.1/").await);
    assert_eq!(proxy.journal()[1].path, "10.0.0.1:443");
    assert_eq!(names.asked(), ["near.example"]);
}
