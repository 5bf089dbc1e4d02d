//! A client that authenticates with a key: `private_key_jwt` (RFC 7523 section 2.2).

use std::time::{SystemTime, UNIX_EPOCH};

use keyway_secret::Secret;
use serde_json::{Map, Value};

use super::{JoseError, SigningKey};
use crate::timeouts::ASSERTION_LIFETIME;

/// The value of `client_assertion_type`.
pub(crate) const CLIENT_ASSERTION_TYPE: &str =
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Returns the value of `client_assertion`, good for a minute.
///
/// The audience is the issuer, or the token endpoint where a server is known to want that. `jti`
/// is a new [token](keyway_secret::random::token) each time.
///
/// # Errors
///
/// Returns that the signature could not be made.
pub(crate) fn client_assertion(
    key: &SigningKey,
    client_id: &str,
    audience: &str,
    now: SystemTime,
    jti: &str,
) -> Result<Secret<String>, JoseError> {
    let mut header = Map::new();
    header.insert("typ".to_owned(), "JWT".into());
    let claims: [(&str, Value); 6] = [
        ("iss", client_id.into()),
        ("sub", client_id.into()),
        ("aud", audience.into()),
        ("iat", unix(now).into()),
        ("exp", unix(now + ASSERTION_LIFETIME).into()),
        ("jti", jti.into()),
    ];
    let claims = claims.map(|(name, value)| (name.to_owned(), value));
    key.sign_jwt(header, claims.into_iter().collect())
}

/// Returns whole seconds since 1970, as claims have them; 0 before that.
pub(crate) fn unix(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
