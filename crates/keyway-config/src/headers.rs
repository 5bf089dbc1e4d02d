//! What is known about header names: their grammar, whose they are, and which carry credentials.
//!
//! Values are not looked at here.

/// Says whether `name` may be a header name: a token of RFC 9110, section 5.6.2.
#[must_use]
pub fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Says whether the transport writes this header itself, so that an entry cannot.
#[must_use]
pub fn is_transport_owned(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    TRANSPORT_OWNED.contains(&lower.as_str())
        || TRANSPORT_OWNED_PREFIXES
            .iter()
            .any(|prefix| lower.starts_with(prefix))
}

/// Says whether a header of this name carries a credential, so that the entry needs no OAuth.
///
/// These are `Authorization`, `Cookie` and names with a part such as `Key` or `Token`; a tenant, a
/// workspace or a user id is none, nor is a header that the transport owns: it is never sent.
#[must_use]
pub fn is_credential_header(name: &str) -> bool {
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_known = |part: &str| {
        CREDENTIAL_PARTS
            .iter()
            .any(|known| part.eq_ignore_ascii_case(known))
    };
    parts.any(is_known) && !is_transport_owned(name)
}

/// How many headers one entry may have.
pub const MAX_HEADERS: usize = 128;

/// How many bytes the value of a header may have.
pub const MAX_VALUE_BYTES: usize = 8 * 1024;

/// Names of headers that the transport writes itself.
pub const TRANSPORT_OWNED: &[&str] = &[
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

/// How more such names begin.
pub const TRANSPORT_OWNED_PREFIXES: &[&str] = &["mcp-", "proxy-", "sec-websocket-"];

/// Parts of names between `-` and `_`, with the usual ones that are written together.
const CREDENTIAL_PARTS: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "auth",
    "authkey",
    "authorization",
    "authtoken",
    "cookie",
    "credential",
    "credentials",
    "key",
    "password",
    "secret",
    "signature",
    "token",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_token_grammar_are_refused() {
        for name in ["Authorization", "X-API-Key", "x_y", "X.Y~1"] {
            assert!(is_token(name), "{name}");
        }
        for name in [
            "",
            "X Key",
            "X-Key:",
            "Schlüssel",
            "a\r\nb",
            "a\u{0}",
            "(x)",
        ] {
            assert!(!is_token(name), "{name:?}");
        }
    }

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

    #[test]
    fn credential_headers_are_told_from_tenant_and_user_ids() {
        for name in [
            "Authorization",
            "cookie",
            "X-API-Key",
            "X-API-Secret",
            "X-Auth-Token",
            "X-Goog-Api-Key",
            "X-Signature",
            "api_key",
            "apikey",
            "ApiKey",
            "CONTEXT7_API_KEY",
            "X-Db-Password",
        ] {
            assert!(is_credential_header(name), "{name}");
        }
        for name in [
            "X-Tenant-ID",
            "X-Workspace-ID",
            "X-User-ID",
            "X-Timestamp",
            "X-Author",
            "Keyboard",
            "X-Tokenizer",
            "User-Agent",
            "Sec-WebSocket-Key",
            "Proxy-Authorization",
        ] {
            assert!(!is_credential_header(name), "{name}");
        }
    }
}
