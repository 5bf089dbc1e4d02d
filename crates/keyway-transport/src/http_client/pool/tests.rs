//! Connections that wait, and for how long.

use super::*;
use crate::http_client::HttpClient;
use crate::testing::{Reply, Server, client};
use std::time::Duration;

async fn call(client: &HttpClient, server: &Server) {
    let url = Url::parse(&format!("http://localhost:{}/", server.port)).unwrap();
    let request = Request {
        method: http::Method::GET,
        url: &url,
        headers: HeaderMap::new,
        body: bytes::Bytes::new(),
    };
    client.send(request).await.unwrap().finish().await;
}

/// Lets everything that waits have waited for longer.
fn age(client: &HttpClient, time: Duration) {
    for origin in client.pool.origins.lock().unwrap().iter() {
        for idle in &mut origin.lock().idle {
            idle.since = idle.since.checked_sub(time).unwrap();
        }
    }
}

#[tokio::test]
async fn connection_idle_for_too_long_is_not_reused() {
    let server = Server::start(|_| Reply::json(200, "{}")).await;
    let client = client();
    for (time, connections) in [(0, 1), (60, 1), (91, 2), (0, 2)] {
        age(&client, Duration::from_secs(time));
        call(&client, &server).await;
        assert_eq!(server.connections(), connections, "after {time} s");
    }
}

#[tokio::test]
async fn idle_connections_are_bounded() {
    let server = Server::start(|_| Reply::json(200, "{}").wait(1)).await;
    let client = client();
    let calls = (0..MAX_IDLE + 20).map(|_| call(&client, &server));
    futures_util::future::join_all(calls).await;
    let origins = client.pool.origins.lock().unwrap();
    assert_eq!(origins.len(), 1);
    assert!(origins[0].lock().idle.len() <= MAX_IDLE);
}
