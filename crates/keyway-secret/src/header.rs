//! What a header may be in which a secret travels, be it written in an entry or printed by a helper.

/// Says whether the transport writes this header itself, so that neither an entry nor a helper can.
#[must_use]
pub fn is_transport_owned(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    TRANSPORT_OWNED.contains(&lower.as_str())
        || TRANSPORT_OWNED_PREFIXES
            .iter()
            .any(|prefix| lower.starts_with(prefix))
}

/// How many bytes the value of a header may have.
pub const MAX_VALUE_BYTES: usize = 8 * 1024;

const TRANSPORT_OWNED: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const TRANSPORT_OWNED_PREFIXES: &[&str] = &["mcp-", "proxy-", "sec-websocket-"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_transport_are_known_in_any_case() {
        for name in [
            "Host",
            "CONTENT-LENGTH",
            "Content-Type",
            "accept",
            "Connection",
            "Upgrade",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "Last-Event-ID",
            "Sec-WebSocket-Key",
            "Proxy-Authorization",
            "Keep-Alive",
        ] {
            assert!(is_transport_owned(name), "{name}");
        }
        for name in [
            "Accept-Language",
            "Authorization",
            "X-Host",
            "User-Agent",
            "Origin",
        ] {
            assert!(!is_transport_owned(name), "{name}");
        }
    }
}
