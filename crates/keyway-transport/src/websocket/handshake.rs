//! The request that turns an HTTP connection into a WebSocket (RFC 6455 §4.1).

use bytes::Bytes;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::authorized_client::{AuthorizedClient, OutboundRequest};
use crate::error::TransportError;
use crate::http_client::Upgraded;

/// Asks for a WebSocket with the subprotocol `mcp` and checks the answer.
///
/// The server may leave the subprotocol out, as many do, but not choose another.
pub(super) async fn open(server: &AuthorizedClient) -> Result<Upgraded, TransportError> {
    let key = generate_key();
    let nonce = HeaderValue::from_str(&key).map_err(|_| TransportError::Settings {
        what: "cannot generate a WebSocket key",
    })?;
    let call = OutboundRequest {
        method: Method::GET,
        url: server.url(),
        headers: &[
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, WEBSOCKET),
            (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
            (SEC_WEBSOCKET_KEY, nonce),
            (SEC_WEBSOCKET_PROTOCOL, MCP),
        ],
        body: Bytes::new(),
        is_idempotent: true,
        is_opening: true,
    };
    let response = server.call(&call).await?;
    if response.status() != 101 {
        return Err(response.status_error());
    }
    check(response.headers(), &derive_accept_key(key.as_bytes()))
        .map_err(|what| TransportError::Protocol { what })?;
    response.upgrade().await
}

/// Checks what the server agreed to; the error is the rule it broke.
fn check(headers: &HeaderMap, accept: &str) -> Result<(), &'static str> {
    if !has_token(headers, &UPGRADE, "websocket") || !has_token(headers, &CONNECTION, "upgrade") {
        return Err("the response does not upgrade to WebSocket");
    }
    if only(headers, &SEC_WEBSOCKET_ACCEPT).is_none_or(|value| value != accept) {
        return Err("wrong `Sec-WebSocket-Accept`");
    }
    if headers.contains_key(SEC_WEBSOCKET_EXTENSIONS) {
        return Err("an extension that was not requested");
    }
    let has_protocol = headers.contains_key(SEC_WEBSOCKET_PROTOCOL);
    if has_protocol && only(headers, &SEC_WEBSOCKET_PROTOCOL) != Some(&MCP) {
        return Err("a subprotocol other than `mcp`");
    }
    Ok(())
}

/// Returns the value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter();
    let mut tokens = values.filter_map(|value| value.to_str().ok());
    tokens.any(|value| {
        let mut parts = value.split(',');
        parts.any(|part| part.trim().eq_ignore_ascii_case(token))
    })
}

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
const MCP: HeaderValue = HeaderValue::from_static("mcp");

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(lines: &[(&'static str, &'static str)]) -> Result<(), &'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        check(&headers, "KEY")
    }

    #[test]
    fn upgrade_is_accepted_with_the_subprotocol_or_without_one() {
        let base = [
            ("upgrade", "WebSocket"),
            ("connection", "keep-alive, Upgrade"),
            ("sec-websocket-accept", "KEY"),
        ];
        assert_eq!(checked(&base), Ok(()));
        let [upgrade, connection, accept] = base;
        let with = |line| checked(&[upgrade, connection, accept, line]);
        assert_eq!(with(("sec-websocket-protocol", "mcp")), Ok(()));
        for line in [
            ("sec-websocket-protocol", "graphql-ws"),
            ("sec-websocket-protocol", "mcp, other"),
            ("sec-websocket-protocol", ""),
            ("sec-websocket-extensions", "permessage-deflate"),
            ("sec-websocket-accept", "KEY"),
        ] {
            assert!(with(line).is_err(), "{line:?}");
        }
        for missing in 0..base.len() {
            let mut lines = base.to_vec();
            lines.remove(missing);
            assert!(checked(&lines).is_err(), "without {:?}", base[missing]);
        }
    }
}
