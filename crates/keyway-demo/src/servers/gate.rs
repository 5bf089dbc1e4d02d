//! The gates: each looks for its own kind of credential, and at nothing else.

use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;
use keyway_secret::Secret;

use super::authority::Authority;
use super::http::Request;
use crate::signature;

/// What a server asks for.
#[derive(Debug)]
pub(super) enum Gate {
    /// An access token that its authorization server issued.
    OAuth(Arc<Authority>),
    /// A token that never changes.
    Bearer(Secret<String>),
    /// A key, and the tenant that it belongs to.
    Tenant {
        /// The key.
        key: Secret<String>,
        /// The tenant.
        tenant: Secret<String>,
    },
    /// A signature of the time.
    Signature {
        /// The id of the signing key.
        key: Secret<String>,
        /// With what.
        secret: Secret<String>,
        /// What time it is.
        now: fn() -> SystemTime,
    },
}

/// Why a request is turned away.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) why: &'static str,
    pub(super) challenge: Option<String>,
}

impl Gate {
    /// Returns why a request is refused; `None` accepts it.
    pub(super) fn refuses(&self, request: &Request) -> Option<Refusal> {
        match self {
            Self::OAuth(authority) => {
                let token = bearer(request);
                let is_known = token.as_ref().is_some_and(|token| authority.accepts(token));
                (!is_known).then(|| Refusal {
                    challenge: Some(authority.challenge(token.is_some())),
                    ..denied("sign in first, or renew the token")
                })
            }
            Self::Bearer(expected) => {
                let is_known = bearer(request).is_some_and(|token| token.is_same_as(expected));
                (!is_known).then(|| Refusal {
                    challenge: Some("Bearer".to_owned()),
                    ..denied("the token is missing or wrong")
                })
            }
            Self::Tenant { key, tenant } => {
                if !has(request, "x-api-key", key) {
                    return Some(denied("the key is missing or wrong"));
                }
                (!has(request, "x-tenant-id", tenant)).then_some(Refusal {
                    status: StatusCode::FORBIDDEN,
                    code: "wrong_tenant",
                    why: "the key is not for this tenant",
                    challenge: None,
                })
            }
            Self::Signature { key, secret, now } => {
                let timestamp = request.header("x-timestamp").unwrap_or_default();
                let signature = request.header("x-signature").unwrap_or_default();
                let is_signed = has(request, "x-api-key", key)
                    && signature::is_valid(secret, timestamp, signature, now());
                (!is_signed).then(|| denied("the signature is missing, wrong or too old"))
            }
        }
    }
}

const fn denied(why: &'static str) -> Refusal {
    Refusal {
        status: StatusCode::UNAUTHORIZED,
        code: "invalid_token",
        why,
        challenge: None,
    }
}

fn bearer(request: &Request) -> Option<Secret<String>> {
    let value = request.header("authorization")?;
    let token = value.strip_prefix("Bearer ")?;
    Some(Secret::new(token.to_owned()))
}

fn has(request: &Request, name: &str, expected: &Secret<String>) -> bool {
    let value = request.header(name).map(str::to_owned).map(Secret::new);
    value.is_some_and(|value| value.is_same_as(expected))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use keyway_config::environment::Variables;
    use serde_json::{Map, Value};

    use super::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    fn status(gate: &Gate, headers: &[(&str, &str)]) -> Option<u16> {
        let refusal = gate.refuses(&Request::with_headers(headers));
        refusal.map(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn the_right_key_of_another_tenant_is_forbidden() {
        let gate = Gate::Tenant {
            key: secret("key"),
            tenant: secret("acme"),
        };
        let key = ("x-api-key", "key");
        assert_eq!(status(&gate, &[key, ("x-tenant-id", "acme")]), None);
        assert_eq!(status(&gate, &[key, ("x-tenant-id", "other")]), Some(403));
        assert_eq!(status(&gate, &[key]), Some(403));
        let twice = [key, ("x-tenant-id", "acme"), ("x-tenant-id", "other")];
        assert_eq!(status(&gate, &twice), Some(403));
        assert_eq!(status(&gate, &[("x-tenant-id", "acme")]), Some(401));
    }

    #[test]
    fn what_the_helper_prints_is_let_in_for_a_minute() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let variables = [
            ("DEMO_SIGNING_KEY", "key"),
            ("DEMO_SIGNING_SECRET", "secret"),
        ];
        let printed = signature::signed_headers(&Variables::from_pairs(variables), now).unwrap();
        let printed: Map<String, Value> = serde_json::from_str(printed.expose()).unwrap();
        let headers: Vec<(&str, &str)> = printed
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let gate = |key: &str, with: &str, now| Gate::Signature {
            key: secret(key),
            secret: secret(with),
            now,
        };
        let then: fn() -> SystemTime = || UNIX_EPOCH + Duration::from_secs(1_800_000_060);
        let late: fn() -> SystemTime = || UNIX_EPOCH + Duration::from_secs(1_800_000_061);
        assert_eq!(status(&gate("key", "secret", then), &headers), None);
        assert_eq!(status(&gate("key", "secret", late), &headers), Some(401));
        assert_eq!(status(&gate("key", "other", then), &headers), Some(401));
        assert_eq!(status(&gate("other", "secret", then), &headers), Some(401));
    }
}
