//! Clients that are known to the authorization server beforehand.

use serde::{Deserialize, Serialize};

/// A client with a secret, known to the authorization server before the first sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Confidential {
    /// Its secret.
    pub secret: String,
    /// The only way in which it may show it.
    pub method: SecretMethod,
}

impl Confidential {
    /// A client that shows its secret in one way.
    #[must_use]
    pub fn new(secret: &str, method: SecretMethod) -> Self {
        let secret = secret.to_owned();
        Self { secret, method }
    }
}

/// How a client shows its secret (RFC 6749 section 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SecretMethod {
    /// In the `Authorization` header.
    ClientSecretBasic,
    /// In the body.
    ClientSecretPost,
}

impl SecretMethod {
    /// Returns the registered name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }
}
