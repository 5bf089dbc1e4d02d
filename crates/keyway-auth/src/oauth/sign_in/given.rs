//! Tokens that another program obtained: compared with what the server says of itself, tried by the
//! caller, then stored.
//!
//! ```text
//!   GivenTokens ── check: issuer, resource ──▶ CheckedTokens ── tried by the caller ──▶ keep
//! ```

use std::sync::Arc;
use std::time::SystemTime;

use http::HeaderValue;
use keyway_secret::Secret;

use super::{Obtained, Prepared, SignInTrigger};
use crate::error::{OAuthError, shown};
use crate::oauth::client::{Client, Origin, with_secret};
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::ServerMetadata;
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::scope::Scopes;
use crate::oauth::settings::{AuthMethod, ClientProof};
use crate::oauth::token::{Issued, TokenKind};

/// Tokens and all that has to be known of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GivenTokens {
    /// The authorization server that issued them.
    pub issuer: String,
    /// The client that they were issued to.
    pub client_id: String,
    /// The secret of that client, unless it has none or the configuration names it.
    pub client_secret: Option<Secret<String>>,
    /// What they are for (RFC 8707).
    pub resource: Option<String>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// The access token, to be sent as a bearer token.
    pub access: Secret<String>,
    /// The refresh token.
    pub refresh: Option<Secret<String>>,
    /// When the access token ends, if known.
    pub expires_at: Option<SystemTime>,
}

impl GivenTokens {
    /// Starts with an access token and who issued it to whom.
    #[must_use]
    pub const fn new(issuer: String, client_id: String, access: Secret<String>) -> Self {
        Self {
            issuer,
            client_id,
            client_secret: None,
            resource: None,
            scopes: Vec::new(),
            access,
            refresh: None,
            expires_at: None,
        }
    }

    /// Adds the secret of the client.
    #[must_use]
    pub fn with_client_secret(mut self, secret: Option<Secret<String>>) -> Self {
        self.client_secret = secret;
        self
    }

    /// Says what the tokens are for.
    #[must_use]
    pub fn with_resource(mut self, resource: Option<String>) -> Self {
        self.resource = resource;
        self
    }

    /// Says what was granted.
    #[must_use]
    pub fn with_scopes(mut self, scopes: Vec<String>) -> Self {
        self.scopes = scopes;
        self
    }

    /// Adds the refresh token.
    #[must_use]
    pub fn with_refresh(mut self, refresh: Option<Secret<String>>) -> Self {
        self.refresh = refresh;
        self
    }

    /// Says when the access token ends.
    #[must_use]
    pub const fn with_expiry(mut self, expires_at: Option<SystemTime>) -> Self {
        self.expires_at = expires_at;
        self
    }
}

/// Tokens whose issuer and resource are those of the server. Nothing is stored yet.
#[derive(Debug, Clone)]
pub struct CheckedTokens(Arc<Checked>);

#[derive(Debug)]
struct Checked {
    prepared: Prepared,
    obtained: Obtained,
}

impl CheckedTokens {
    /// Returns the header with which a request tries the access token.
    ///
    /// # Errors
    ///
    /// Returns [`OAuthError::Crypto`] if the token cannot be sent in a header.
    pub fn authorization(&self) -> Result<HeaderValue, OAuthError> {
        let token = &self.0.obtained.issued.access;
        let text = Secret::new(format!("Bearer {}", token.expose()));
        let mut value = HeaderValue::from_str(text.expose()).map_err(|_| OAuthError::Crypto {
            what: "the access token cannot be sent",
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl OAuthEngine {
    /// Compares tokens with what the server and its authorization server say of themselves.
    pub(in crate::oauth) async fn check_given(
        &self,
        trigger: &SignInTrigger,
        given: GivenTokens,
    ) -> Result<CheckedTokens, OAuthError> {
        let reader = self.metadata.reader(CachePolicy::Bypass);
        let mut prepared = self.prepare(&reader, trigger).await?;
        let server = &prepared.found.server;
        if server.issuer != given.issuer {
            return Err(OAuthError::IssuedByOther {
                issuer: shown(&given.issuer),
                expected: shown(&server.issuer),
            });
        }
        if let (Some(resource), Some(expected)) = (&given.resource, &prepared.resource)
            && resource != expected
        {
            return Err(OAuthError::IssuedForOther {
                resource: shown(resource),
                expected: shown(expected),
            });
        }
        let client = self.client_of(&given, server).await?;
        let now = self.clock.wall();
        let lifetime = given
            .expires_at
            .map(|end| end.duration_since(now).unwrap_or_default());
        let scopes: Scopes = given.scopes.iter().map(String::as_str).collect();
        prepared.scopes = scopes.clone();
        prepared.dpop = None;
        let issued = Issued {
            access: given.access,
            kind: TokenKind::Bearer,
            lifetime,
            refresh: given.refresh,
            scopes: Some(scopes),
            account: None,
            hold: None,
        };
        let obtained = Obtained {
            client,
            issued,
            carried: None,
        };
        Ok(CheckedTokens(Arc::new(Checked { prepared, obtained })))
    }

    /// Stores what was checked, and tried meanwhile.
    pub(in crate::oauth) async fn keep_given(
        &self,
        checked: &CheckedTokens,
    ) -> Result<(), OAuthError> {
        let CheckedTokens(checked) = checked;
        let obtained = Obtained {
            client: checked.obtained.client.clone(),
            issued: checked.obtained.issued.clone(),
            carried: None,
        };
        self.keep(&checked.prepared, obtained).await.map(drop)
    }

    /// Returns the client that tokens were issued to: the configured one, or one of its own.
    async fn client_of(
        &self,
        given: &GivenTokens,
        server: &ServerMetadata,
    ) -> Result<Client, OAuthError> {
        let configured = self.given_client(server).await?;
        if let Some(client) = configured.filter(|client| client.id == given.client_id) {
            return Ok(client);
        }
        let (proof, method) = match &given.client_secret {
            Some(secret) => (ClientProof::Secret(secret.clone()), with_secret(server)),
            None => (ClientProof::Public, AuthMethod::None),
        };
        Ok(Client {
            id: given.client_id.clone(),
            proof,
            method,
            origin: Origin::Stored,
        })
    }
}
