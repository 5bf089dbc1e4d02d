//! A WebSocket, taken over from HTTP once the gate accepted the request.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{SinkExt as _, StreamExt as _};
use http::StatusCode;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use keyway_transport::{Reply, UpgradedStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::http::{Request, empty, with};

/// Agrees to a handshake, and answers every message after it with `reply`.
pub(super) fn open(
    request: Request,
    reply: impl Fn(&str) -> Option<String> + Send + 'static,
) -> Reply {
    let is_handshake = request
        .header("upgrade")
        .is_some_and(|to| to.eq_ignore_ascii_case("websocket"))
        && request.header("sec-websocket-version") == Some("13");
    let Some(key) = request.header("sec-websocket-key").filter(|_| is_handshake) else {
        return with(
            empty(StatusCode::UPGRADE_REQUIRED),
            SEC_WEBSOCKET_VERSION,
            "13",
        );
    };
    let accept = derive_accept_key(key.as_bytes());
    let speaks_mcp = request.header("sec-websocket-protocol") == Some("mcp");
    let Some(upgrade) = request.upgrade else {
        return empty(StatusCode::UPGRADE_REQUIRED);
    };
    drop(tokio::spawn(async move {
        if let Ok(connection) = upgrade.stream().await {
            converse(TokioStream(connection), reply).await;
        }
    }));
    let answer = empty(StatusCode::SWITCHING_PROTOCOLS);
    let answer = with(answer, CONNECTION, "Upgrade");
    let answer = with(answer, UPGRADE, "websocket");
    let answer = with(answer, SEC_WEBSOCKET_ACCEPT, &accept);
    if speaks_mcp {
        with(answer, SEC_WEBSOCKET_PROTOCOL, "mcp")
    } else {
        answer
    }
}

/// The connection, as the WebSocket library reads and writes it.
struct TokioStream(UpgradedStream);

impl AsyncRead for TokioStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(self.0.poll_read(context, buffer.initialize_unfilled()))?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TokioStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_shutdown(context)
    }
}

async fn converse(
    connection: impl AsyncRead + AsyncWrite + Unpin,
    reply: impl Fn(&str) -> Option<String>,
) {
    let bounds = WebSocketConfig::default()
        .max_message_size(Some(MOST_BYTES))
        .max_frame_size(Some(MOST_BYTES));
    let mut socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(bounds)).await;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else {
            continue;
        };
        if let Some(reply) = reply(&text)
            && socket.send(Message::text(reply)).await.is_err()
        {
            return;
        }
    }
}

const MOST_BYTES: usize = 64 * 1024;
