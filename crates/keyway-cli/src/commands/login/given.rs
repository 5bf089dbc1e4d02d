//! `keyway login --from-stdin`: tokens that another program obtained, as one JSON object.

use std::io::Read as _;
use std::time::{Duration, SystemTime};

use keyway::sign_in::GivenTokens;
use keyway_secret::Secret;
use serde::Deserialize;

use crate::error::CliError;

/// The object, with the names of RFC 6749 and RFC 8707.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    resource: Option<String>,
    scope: Option<String>,
    access_token: String,
    refresh_token: Option<String>,
    /// When the access token ends, in seconds since 1970.
    expires_at: Option<u64>,
}

/// Reads the object from standard input.
pub(super) fn read() -> Result<GivenTokens, CliError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_BYTES + 1);
    let read = { read }.read_to_string(&mut text);
    let text = Secret::new(text);
    if read.is_err() || text.expose().len() as u64 > MAX_BYTES {
        return Err(CliError::Usage { what: TOO_LONG });
    }
    parse(&text)
}

fn parse(text: &Secret<String>) -> Result<GivenTokens, CliError> {
    // What is wrong is not repeated: the message could quote a token.
    let object: Object =
        serde_json::from_str(text.expose()).map_err(|_| CliError::Usage { what: NOT_TOKENS })?;
    let Object {
        issuer,
        client_id,
        client_secret,
        resource,
        scope,
        access_token,
        refresh_token,
        expires_at,
    } = object;
    let scopes = scope.unwrap_or_default();
    let scopes = scopes.split_ascii_whitespace().map(str::to_owned);
    let end = expires_at.map(|at| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(at)));
    Ok(
        GivenTokens::new(issuer, client_id, Secret::new(access_token))
            .with_client_secret(client_secret.map(Secret::new))
            .with_resource(resource)
            .with_scopes(scopes.collect())
            .with_refresh(refresh_token.map(Secret::new))
            .with_expiry(end.flatten()),
    )
}

const MAX_BYTES: u64 = 1 << 20;
const TOO_LONG: &str = "standard input is not text of at most 1 MiB";
const NOT_TOKENS: &str = "standard input is not one JSON object with `issuer`, `client_id` and `access_token`, and at most `client_secret`, `resource`, `scope`, `refresh_token` and `expires_at` (seconds since 1970)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_of_tokens_is_refused_without_being_repeated() {
        for text in [
            "",
            "[]",
            r#"{"access_token": "CANARY"}"#,
            r#"{"issuer": "i", "client_id": "c", "access_token": "CANARY", "id_token": "x"}"#,
            r#"{"issuer": "i", "client_id": "c", "access_token": "CANARY", "expires_at": "soon"}"#,
        ] {
            let error = parse(&Secret::new(text.to_owned())).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("CANARY"), "{text}");
        }
    }

    #[test]
    fn all_that_is_given_is_read() {
        let text = r#"{"issuer": "https://as", "client_id": "c", "client_secret": "s",
            "resource": "https://r", "scope": " a  b ", "access_token": "t",
            "refresh_token": "r", "expires_at": 5}"#;
        let given = parse(&Secret::new(text.to_owned())).unwrap();
        assert_eq!(given.scopes, ["a", "b"]);
        assert_eq!(given.resource.as_deref(), Some("https://r"));
        assert_eq!(given.refresh.unwrap().expose(), "r");
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
        assert_eq!(given.expires_at, Some(end));
    }
}
