//! The error that a refusal becomes when it stands.

use http::HeaderValue;
use keyway_auth::{AuthChallenge, parse_challenges, token_challenge};

use crate::error::TransportError;

/// Returns the refusal, with the reason that the challenge gives.
pub(crate) fn refusal(status: u16, values: &[HeaderValue]) -> TransportError {
    let challenges = parse_challenges(values);
    let told = token_challenge(&challenges);
    TransportError::Refused {
        status,
        error: told.and_then(AuthChallenge::error),
        error_description: told.and_then(AuthChallenge::error_description),
        scope: told.and_then(AuthChallenge::scope),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_carries_error_and_scope_of_the_token_challenge() {
        let values = [
            HeaderValue::from_static(r#"Basic realm="x", error="not ours""#),
            HeaderValue::from_static(
                r#"Bearer error="insufficient_scope", error_description="no keeper", scope="a b""#,
            ),
        ];
        let TransportError::Refused {
            status,
            error,
            error_description,
            scope,
        } = refusal(403, &values)
        else {
            panic!("another error");
        };
        assert_eq!(status, 403);
        assert_eq!(error.as_deref(), Some("insufficient_scope"));
        assert_eq!(error_description.as_deref(), Some("no keeper"));
        assert_eq!(scope.as_deref(), Some("a b"));
    }
}
