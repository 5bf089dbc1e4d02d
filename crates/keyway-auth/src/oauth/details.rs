//! What is kept with the tokens of a sign-in, sealed like them: enough to renew and to end it
//! without asking the person.

use std::time::Duration;

use keyway_secret::{BootTime, Secret};
use serde::{Deserialize, Serialize};
use url::Url;

use super::client::{Client, Origin};
use super::settings::{AuthMethod, ClientProof, KeptToken, Settings};
use super::token::{Issued, TokenKind};
use super::{auth_method_serde, secret_serde};

/// A sign-in besides its tokens.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Details {
    pub(super) issuer: String,
    pub(super) token_endpoint: Url,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) client_id: String,
    #[serde(with = "auth_method_serde")]
    pub(super) method: AuthMethod,
    /// The secret of a client that registered itself; those of others stay where they are.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "secret_serde"
    )]
    client_secret: Option<Secret<String>>,
    /// Byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) kind: TokenKind,
    /// The key that the tokens are bound to.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "secret_serde"
    )]
    dpop: Option<Secret<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<String>,
    /// When a person last signed in, in seconds since 1970.
    pub(super) signed_in_at: u64,
    /// The same since the machine was started: the boot, and seconds. Setting the clock does not
    /// move it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signed_in_boot: Option<(String, u64)>,
    /// The scopes that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) requested: Option<Vec<String>>,
    /// How long the access token lived when it was issued, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lifetime: Option<u64>,
    /// Whether a renewal ever brought another refresh token; unknown before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rotates: Option<bool>,
    /// Whether the token is the ID token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_identity: bool,
}

impl std::fmt::Debug for Details {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Details")
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// What goes into [`Details`] before tokens are asked for.
#[derive(Debug)]
pub(super) struct SigningIn<'a> {
    pub(super) issuer: &'a str,
    pub(super) token_endpoint: &'a Url,
    pub(super) revocation_endpoint: Option<&'a Url>,
    pub(super) client: &'a Client,
    pub(super) resource: Option<&'a str>,
    /// The scopes that are asked for.
    pub(super) scopes: Vec<String>,
    pub(super) dpop: Option<Secret<String>>,
    pub(super) at: u64,
    pub(super) boot: Option<BootTime>,
    pub(super) keep: KeptToken,
}

impl Details {
    /// Describes a sign-in whose tokens are not there yet.
    pub(super) fn before(from: SigningIn<'_>) -> Self {
        let client_secret = match (&from.client.proof, from.client.origin) {
            (ClientProof::Secret(secret), Origin::Registered | Origin::Stored) => {
                Some(secret.clone())
            }
            _ => None,
        };
        Self {
            issuer: from.issuer.to_owned(),
            token_endpoint: from.token_endpoint.clone(),
            revocation_endpoint: from.revocation_endpoint.cloned(),
            client_id: from.client.id.clone(),
            method: from.client.method,
            client_secret,
            resource: from.resource.map(str::to_owned),
            scopes: from.scopes.clone(),
            kind: TokenKind::Bearer,
            dpop: from.dpop,
            account: None,
            signed_in_at: from.at,
            signed_in_boot: from.boot.map(|at| (at.boot().to_owned(), at.seconds())),
            requested: Some(from.scopes),
            lifetime: None,
            rotates: None,
            is_identity: from.keep == KeptToken::Identity,
        }
    }

    /// Adds what the answer says. A key that the tokens are not bound to is forgotten.
    pub(super) fn issued(mut self, issued: &Issued) -> Self {
        if let Some(granted) = &issued.scopes {
            self.scopes = granted.as_slice().to_vec();
        }
        if issued.kind != TokenKind::Dpop {
            self.dpop = None;
        }
        self.kind = issued.kind;
        self.account.clone_from(&issued.account);
        self.lifetime = issued.lifetime.map(|lifetime| lifetime.as_secs());
        self
    }

    /// Returns how long ago a person signed in, by a clock that is not set; `None` where that was
    /// before the machine was started, or is not known.
    pub(super) fn age(&self, now: Option<&BootTime>) -> Option<Duration> {
        let (boot, seconds) = self.signed_in_boot.as_ref()?;
        now?.since(&BootTime::new(boot, *seconds))
    }

    /// Returns which token of an answer is kept.
    pub(super) const fn keep(&self) -> KeptToken {
        if self.is_identity {
            KeptToken::Identity
        } else {
            KeptToken::Access
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(super) fn encode(&self) -> Secret<Vec<u8>> {
        Secret::new(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Returns the granted scopes that were not asked for; none if that is not known.
    pub(super) fn unrequested_scopes(&self) -> Vec<String> {
        let Some(requested) = &self.requested else {
            return Vec::new();
        };
        let scopes = self.scopes.iter();
        let new = scopes.filter(|scope| !requested.contains(scope));
        new.cloned().collect()
    }

    /// Returns the key that the tokens are bound to, in the form in which it is kept.
    pub(super) fn dpop(&self) -> Option<Secret<String>> {
        self.dpop.clone()
    }

    /// Returns the client; a secret that was configured is looked up in the configuration.
    pub(super) fn client(&self, settings: &Settings) -> Client {
        let configured = settings
            .issuers
            .iter()
            .filter(|(issuer, _)| *issuer == self.issuer)
            .map(|(_, client)| client)
            .chain(&settings.client)
            .find(|client| client.id == self.client_id);
        let (proof, origin) = match (&self.client_secret, configured) {
            (Some(secret), _) => (ClientProof::Secret(secret.clone()), Origin::Stored),
            (None, Some(client)) => (client.proof.clone(), Origin::Configured),
            (None, None) => (ClientProof::Public, Origin::Stored),
        };
        Client {
            id: self.client_id.clone(),
            proof,
            method: self.method,
            origin,
        }
    }
}
