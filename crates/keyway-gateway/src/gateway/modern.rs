//! Clients since 2026-07-28: every request stands alone, and headers repeat what it says.

mod headers;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use http::StatusCode;
use keyway_transport::{Envelope, Reply};

use super::Gateway;
use super::client_message::{ClientMessage, asked, prefers_events};
use super::connection_pool::PooledConnection;
use super::event_streams::EventStreams;
use super::exchange::{Exchange, OnDisconnect, ToolHeaderUpdate};
use super::reply;
use super::upstream_connection::UpstreamConnection;
use keyway_mcp::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND};
use keyway_mcp::version::ClientEra;

impl Gateway {
    /// Serves a message of a modern client.
    pub(super) async fn modern(&self, message: &ClientMessage, envelope: &Envelope<'_>) -> Reply {
        let id = envelope.id();
        let refuse = |status, code, what: &str| reply::refusal(status, id.as_ref(), code, what);
        let Some(asked) = asked(envelope, &message.headers) else {
            // Of notifications the era knows only the cancellation, which over HTTP is to go away.
            return match &envelope.method {
                Some(_) => Reply::new(StatusCode::ACCEPTED),
                None => {
                    let what = "no request is waiting for this answer";
                    refuse(StatusCode::BAD_REQUEST, INVALID_REQUEST, what)
                }
            };
        };
        let pool = self.sessions.pool(&message.principal, &message.route);
        let capabilities = match headers::check(&message.headers, envelope, &pool.tools) {
            Ok(capabilities) => hash_of(capabilities),
            Err(error) => return reply::error(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        let method = envelope.method.as_deref().unwrap_or_default();
        if REMOVED.contains(&method) {
            let what = "the method is not part of this version";
            return refuse(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, what);
        }
        let frame = message.frame.clone();
        let mut opening = None;
        let mut entered = pool.register(capabilities, &asked);
        if entered.is_none() {
            // Another may have opened one while this request waited.
            opening = Some(pool.opening.lock().await);
            entered = pool.register(capabilities, &asked);
        }
        let tool_headers = (method == "tools/list").then(|| ToolHeaderUpdate {
            tools: Arc::clone(&pool.tools),
            from_start: envelope
                .params
                .is_none_or(|it| !it.get().contains("cursor")),
        });
        let wait = |connection, deliveries| {
            Exchange::new(
                connection,
                asked.id.clone(),
                OnDisconnect::Cancel,
                deliveries,
            )
            .takes_events(asked.takes_events)
            .prefers_events(prefers_events(&message.headers))
            .tool_headers(tool_headers)
            .observed_by(message.recorder.clone())
        };
        let exchange = if let Some((connection, deliveries)) = entered {
            drop(opening);
            let exchange = wait(connection, deliveries);
            exchange.send(frame).await;
            exchange
        } else {
            if pool.is_full() {
                let what = "too many clients at once";
                return refuse(StatusCode::SERVICE_UNAVAILABLE, INVALID_REQUEST, what);
            }
            let router = &self.router;
            let bound = router.connect(&message.principal, &message.route, None);
            let (bound, streams) = (bound.await, Arc::<EventStreams>::default());
            let opened =
                UpstreamConnection::open(bound, frame, ClientEra::Modern, &asked, streams).await;
            let Ok(opened) = opened else {
                return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
            };
            let connection = Arc::clone(&opened.connection);
            pool.insert(PooledConnection {
                connection,
                capabilities,
            });
            drop(opening);
            wait(opened.connection, opened.deliveries)
        };
        exchange.reply().await
    }
}

fn hash_of(capabilities: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    capabilities.hash(&mut hasher);
    hasher.finish()
}

/// What the era has done away with; a server that still knows it would take it for the beginning
/// of an older conversation.
const REMOVED: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];
