//! Identity assertions: an ID token is exchanged for one, and one is redeemed for an access token.

use serde_json::{Value, json};

use super::Place;
use super::settings::{Assertions, Settings};
use super::tokens::Tokens;

/// RFC 8693 section 2.1.
pub(super) const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// RFC 7523 section 2.1.
pub(super) const REDEEM: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// When a rig believes it was started, in seconds since 1970.
const STARTED: u64 = 1_700_000_000;

/// The claims of an ID token.
pub(super) fn claims(account: &str, client: &str, (settings, place): (&Settings, &Place)) -> Value {
    let now = STARTED + place.now.as_secs();
    json!({
        "sub": account,
        "iss": settings.issuer.as_ref().unwrap_or(&place.origin),
        "aud": client,
        "iat": now,
        "exp": now + settings.expires_in.unwrap_or(3600),
    })
}

/// Exchanges an ID token that was issued here; says why not otherwise.
pub(super) fn exchange(
    id_token: &str,
    settings: &Settings,
    tokens: &mut Tokens,
) -> Result<Value, &'static str> {
    match settings.assertions {
        Assertions::Unknown => return Err("unsupported_grant_type"),
        Assertions::Refused => return Err("access_denied"),
        Assertions::Granted if !tokens.has_issued(id_token) => return Err("invalid_grant"),
        Assertions::Granted => {}
    }
    Ok(json!({
        "access_token": tokens.assertion(),
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "token_type": "N_A",
        "expires_in": 60,
    }))
}

/// Says why an assertion does not count; the rigs of a test trust each other.
pub(super) fn redeem(assertion: &str, settings: &Settings) -> Result<(), &'static str> {
    match settings.assertions {
        Assertions::Unknown => Err("unsupported_grant_type"),
        Assertions::Refused => Err("access_denied"),
        Assertions::Granted if assertion.starts_with("CANARY-assertion-") => Ok(()),
        Assertions::Granted => Err("invalid_grant"),
    }
}
