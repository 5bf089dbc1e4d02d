//! Ports that others want too, and connections that say nothing.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener as StdListener};

use super::*;

fn fixed(port: u16) -> Redirect {
    let mut redirect = Redirect::default();
    redirect.port = Some(port);
    redirect
}

fn registered(uri: &str) -> Redirect {
    let mut redirect = Redirect::default();
    redirect.uri = Some(uri.parse().unwrap());
    redirect
}

/// Returns a port that is free on both addresses, outside the range that connections are given.
fn free_port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let mut ports = first..first + 2_000;
    ports
        .find(|&port| CallbackListener::bind(&fixed(port)).is_ok())
        .unwrap()
}

#[tokio::test]
async fn b5_fixed_port_that_is_taken_on_either_address_is_named_at_once() {
    for address in [
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        (Ipv6Addr::LOCALHOST, 0).into(),
    ] {
        let squatter = StdListener::bind(address).unwrap();
        let port = squatter.local_addr().unwrap().port();
        let began = Instant::now();
        let error = CallbackListener::bind(&fixed(port)).unwrap_err();
        assert_eq!(error, InteractionError::PortBusy { port });
        assert!(error.to_string().contains(&port.to_string()));
        let uri = format!("http://localhost:{port}/cb");
        let error = CallbackListener::bind(&registered(&uri)).unwrap_err();
        assert_eq!(error, InteractionError::PortBusy { port });
        assert!(began.elapsed() < DEADLINE);
    }
}

#[tokio::test]
async fn b5_port_cannot_be_shared_once_bound() {
    let listener = CallbackListener::bind(&Redirect::default()).unwrap();
    let port = listener.place.port;
    // The standard library sets SO_REUSEADDR, as a squatter would.
    for address in [
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        (Ipv4Addr::UNSPECIFIED, port).into(),
        (Ipv6Addr::LOCALHOST, port).into(),
    ] {
        assert!(StdListener::bind(address).is_err(), "{address}");
        let socket = match address {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
        }
        .unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_reuseport(true).unwrap();
        assert!(socket.bind(address).is_err(), "{address}");
    }
    drop(listener);
    assert!(StdListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
}

#[tokio::test]
async fn b5_both_addresses_answer_under_one_port() {
    let waiting = Waiting::start();
    for address in [
        SocketAddr::from((Ipv4Addr::LOCALHOST, waiting.port)),
        (Ipv6Addr::LOCALHOST, waiting.port).into(),
    ] {
        assert!(TcpStream::connect(address).await.is_ok(), "{address}");
    }
}

#[tokio::test]
async fn b5_fixed_port_is_free_again_as_soon_as_the_sign_in_is_over() {
    let port = free_port();
    for _ in 0..5 {
        let waiting = Waiting::with(&fixed(port));
        assert_eq!(waiting.uri, format!("http://localhost:{port}/callback"));
        // One that never says anything, and one that does not close.
        let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        waiting.get(&good()).await;
        assert!(waiting.answer().await.code.is_some());
    }
}

#[tokio::test]
async fn registered_address_is_used_as_it_is() {
    let port = free_port();
    for (uri, path) in [
        (format!("http://localhost:{port}/oauth/cb?x=1"), "/oauth/cb"),
        (format!("http://127.0.0.1:{port}/"), "/"),
    ] {
        let waiting = Waiting::with(&registered(&uri));
        assert_eq!(waiting.uri, uri);
        let page = waiting.get(&good().replace("/callback", path)).await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert!(waiting.answer().await.code.is_some());
    }
    let waiting = Waiting::with(&registered("http://localhost/any"));
    assert_eq!(
        waiting.uri,
        format!("http://localhost:{}/any", waiting.port)
    );
    for uri in [
        "https://localhost:1/cb",
        "http://evil.test:1/cb",
        "http://10.0.0.1/cb",
        "http://0.0.0.0:1/cb",
        "http://u@localhost:1/cb",
        "http://localhost:1/cb#f",
        "app://localhost/cb",
    ] {
        let error = CallbackListener::bind(&registered(uri)).unwrap_err();
        assert!(
            matches!(error, InteractionError::Listener { .. }),
            "{uri}: {error}"
        );
    }
}

#[tokio::test]
async fn b8_two_hundred_silent_connections_do_not_keep_the_browser_out() {
    let waiting = Waiting::start();
    let mut silent = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", waiting.port))
            .await
            .unwrap();
        if number % 2 == 0 {
            stream
                .write_all(b"GET /callback HTTP/1.1\r\nHost:")
                .await
                .unwrap();
        }
        silent.push(stream);
    }
    let began = Instant::now();
    let page = waiting.get(&good()).await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let took = began.elapsed();
    let if_each_had_its_time = REQUEST_HEAD_TIMEOUT * 200 / u32::try_from(MAX_CONNECTIONS).unwrap();
    assert!(took < if_each_had_its_time / 2, "{took:?}");
    assert!(waiting.answer().await.code.is_some());
}

#[tokio::test]
async fn b8_sixteen_connections_are_open_at_most() {
    let listener = CallbackListener::bind(&Redirect::default()).unwrap();
    let address = (Ipv4Addr::LOCALHOST, listener.place.port);
    let route = Arc::new(CallbackRoute::new(&listener.place, state()));
    let mut connections = Connections::default();
    let mut browsers = Vec::new();
    for number in 1..=17 {
        browsers.push(TcpStream::connect(address).await.unwrap());
        connections.admit(listener.sockets.accept().await, &route);
        assert_eq!(connections.open.len(), number.min(MAX_CONNECTIONS));
    }
    assert!(connections.room() > connections.open[0].arrived, "full");
    // Aborted before it was polled, the oldest is closed; the others are as they were.
    assert!(connections.next().await.is_none());
    assert_eq!(connections.open.len(), MAX_CONNECTIONS);
    let oldest = timeout(DEADLINE, browsers[0].read(&mut [0; 1])).await;
    assert!(!matches!(oldest, Err(_) | Ok(Ok(1))), "closed: {oldest:?}");
}

#[tokio::test]
async fn b8_redirect_that_has_come_is_kept_whatever_comes_after_it() {
    let listener = CallbackListener::bind(&Redirect::default()).unwrap();
    let port = listener.place.port;
    let address = (Ipv4Addr::LOCALHOST, port);
    let route = Arc::new(CallbackRoute::new(&listener.place, state()));
    let mut connections = Connections::default();
    let mut browser = TcpStream::connect(address).await.unwrap();
    connections.admit(listener.sockets.accept().await, &route);
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n", good());
    browser.write_all(request.as_bytes()).await.unwrap();
    // The browser has its page and keeps the connection open.
    assert_ne!(browser.read(&mut [0; 4096]).await.unwrap(), 0);
    let mut others = Vec::new();
    for _ in 0..MAX_CONNECTIONS * 2 {
        others.push(TcpStream::connect(address).await.unwrap());
        connections.admit(listener.sockets.accept().await, &route);
    }
    assert!(connections.brought().is_some(), "as at the deadline");
}

#[tokio::test]
async fn b8_head_is_bounded_in_size_and_time() {
    let waiting = Waiting::start();
    let host = format!("Host: localhost:{}\r\n", waiting.port);
    let headers = format!("{host}X: {}\r\n", "y".repeat(MAX_HEAD));
    let page = waiting.ask("GET", &good(), &headers).await;
    assert!(!page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(waiting.is_waiting().await);
    let began = Instant::now();
    let mut slow = TcpStream::connect(("127.0.0.1", waiting.port))
        .await
        .unwrap();
    let dripping = async {
        slow.write_all(b"GET /callback?x=").await.unwrap();
        while slow.write_all(b"y").await.is_ok() {
            // Slow on command.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(DEADLINE, dripping).await.expect("cut off");
    assert!(began.elapsed() >= REQUEST_HEAD_TIMEOUT);
    assert!(waiting.is_waiting().await);
}

#[tokio::test]
async fn b8_listener_closes_after_the_timeout() {
    let listener = CallbackListener::bind(&Redirect::default()).unwrap();
    let port = listener.place.port;
    let error = listener.wait(&state(), Duration::from_millis(1100)).await;
    assert_eq!(error.unwrap_err(), InteractionError::Timeout { seconds: 1 });
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}
