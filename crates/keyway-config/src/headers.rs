//! What is known about header names: their grammar, whose they are, and which carry credentials.
//!
//! Values are not looked at here. What a helper must follow as well stands in
//! [`keyway_secret::header`].

pub use keyway_secret::header::{MAX_VALUE_BYTES, is_transport_owned};

/// Says whether `name` may be a header name: a token of RFC 9110, section 5.6.2.
#[must_use]
pub fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Says whether a header of this name carries a credential, so that the entry needs no OAuth.
///
/// These are `Authorization`, `Cookie` and names with a part such as `Key` or `Token`; a tenant, a
/// workspace or a user id does not, nor does a header that the transport owns: it is never sent.
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
