//! Clients since 2026-07-28: every request stands alone, and headers repeat what it says.

mod headers;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;

use http::StatusCode;
use keyway_transport::{Envelope, Reply, ToolHeaders};

use super::Gateway;
use super::client_message::{ClientMessage, asked, prefers_events};
use super::connection_pool::PooledConnection;
use super::event_streams::EventStreams;
use super::exchange::{Exchange, OnDisconnect, ToolHeaderUpdate};
use super::reply;
use super::upstream_connection::{CloseOnDrop, OpenedUpstream, RequestInfo, UpstreamConnection};
use keyway_mcp::jsonrpc::{INVALID_REQUEST, METHOD_NOT_FOUND};
use keyway_mcp::negotiation::may_be_repeated;
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
        let mut opening = None;
        let mut entered = pool.register(capabilities, &asked);
        if entered.is_none() {
            // Another may have opened one while this request waited.
            opening = Some(pool.opening.lock().await);
            entered = pool.register(capabilities, &asked);
        }
        let wait = |connection, deliveries| {
            Exchange::new(
                connection,
                asked.id.clone(),
                OnDisconnect::Cancel,
                deliveries,
            )
            .takes_events(asked.takes_events)
            .prefers_events(prefers_events(&message.headers))
            .tool_headers(tool_headers(&pool.tools, envelope))
            .observed_by(message.recorder.clone())
            .holding(message.permits.clone())
        };
        if let Some((connection, deliveries)) = entered {
            drop(opening.take());
            let exchange = wait(Arc::clone(&connection), deliveries);
            if let Err(refused) = self.admit_named(message, envelope, &connection) {
                return refused.reply(id.as_ref());
            }
            exchange.send(message.frame.clone()).await;
            if !connection.is_direct() || !may_be_repeated(method) {
                return exchange.reply().await;
            }
            if let Some(reply) = exchange.reply_unless_failed().await {
                return reply;
            }
            // The server went down since the connection was opened: another one is tried, and then
            // an answer in its place. Other requests on this one may still get theirs.
            pool.remove(&connection);
            drop(tokio::spawn(connection.close_when_idle()));
            opening = Some(pool.opening.lock().await);
        }
        if pool.is_full() {
            let what = "too many clients at once";
            return refuse(StatusCode::SERVICE_UNAVAILABLE, INVALID_REQUEST, what);
        }
        let Ok(opened) = self.open_modern(message, &asked, method).await else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        let connection = Arc::clone(&opened.connection);
        // One that leads nowhere is not kept: the next request may be one that is answered in the
        // server's place.
        let failed = if opened.has_failed {
            Some(CloseOnDrop::new(connection))
        } else {
            pool.insert(PooledConnection {
                connection,
                capabilities,
            });
            None
        };
        drop(opening);
        let reply = wait(opened.connection, opened.deliveries).reply().await;
        drop(failed);
        reply
    }

    /// Opens a connection with a client's request as the first.
    ///
    /// A server that is down or refuses its credential is served by an aggregate of one, as in a
    /// session: it shows the tools of the last look and one that says what is wrong. Only for
    /// requests that may be sent twice: a call that failed may have been carried out.
    async fn open_modern(
        &self,
        message: &ClientMessage,
        asked: &RequestInfo,
        method: &str,
    ) -> io::Result<OpenedUpstream> {
        let (principal, route) = (&message.principal, &message.route);
        let open = |bound| {
            let streams = Arc::<EventStreams>::default();
            let frame = message.frame.clone();
            UpstreamConnection::open(bound, frame, ClientEra::Modern, asked, streams)
        };
        let bound = self.router.connect(principal, route, None).await;
        let is_direct = bound.members.is_none();
        let opened = open(bound).await?;
        if !opened.has_failed || !is_direct || !may_be_repeated(method) {
            return Ok(opened);
        }
        let failed = CloseOnDrop::new(opened.connection);
        let opened = open(self.router.connect_dynamic(principal, route, None)).await?;
        drop(failed);
        Ok(opened)
    }
}

/// Returns where the headers of tools are noted, if the client asks for a list of them.
fn tool_headers(tools: &Arc<ToolHeaders>, envelope: &Envelope<'_>) -> Option<ToolHeaderUpdate> {
    (envelope.method.as_deref() == Some("tools/list")).then(|| ToolHeaderUpdate {
        tools: Arc::clone(tools),
        from_start: envelope
            .params
            .is_none_or(|it| !it.get().contains("cursor")),
    })
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
