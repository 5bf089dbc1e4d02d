//! The client that asks for tokens, and how it authenticates at the token endpoint.

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use keyway_secret::{Secret, random};
use url::form_urlencoded;

use super::metadata::ServerMetadata;
use super::settings::{AuthMethod, ClientProof, ClientSettings};
use super::wire::Form;
use crate::error::{OAuthError, shown};
use crate::jose::assertion::{CLIENT_ASSERTION_TYPE, client_assertion};

/// A client as an authorization server knows it.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) proof: ClientProof,
    pub(super) method: AuthMethod,
    pub(super) origin: Origin,
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The configuration.
    Configured,
    /// A document that the authorization server fetches.
    Document,
    /// It has just been registered.
    Registered,
    /// It was registered at an earlier sign-in.
    Stored,
}

impl Client {
    /// Takes a client of the configuration; the method is the configured one or one that fits.
    pub(super) fn configured(
        settings: &ClientSettings,
        server: &ServerMetadata,
    ) -> Result<Self, OAuthError> {
        let method = settings
            .method
            .or_else(|| fitting(&settings.proof, server))
            .ok_or_else(|| OAuthError::ClientAuthentication {
                issuer: shown(&server.issuer),
            })?;
        Ok(Self {
            id: settings.id.clone(),
            proof: settings.proof.clone(),
            method,
            origin: Origin::Configured,
        })
    }

    /// A client without a secret, known by the address of its document.
    pub(super) fn document(url: &str) -> Self {
        Self {
            id: url.to_owned(),
            proof: ClientProof::Public,
            method: AuthMethod::None,
            origin: Origin::Document,
        }
    }

    /// Adds the client authentication to a form (RFC 6749 section 2.3, RFC 7523 section 2.2).
    pub(super) async fn sign(
        &self,
        form: Form,
        audience: &str,
        now: SystemTime,
    ) -> Result<Form, OAuthError> {
        let proof = match &self.proof {
            ClientProof::SecretFrom(source) => {
                ClientProof::Secret(source.get("the secret of the client").await?)
            }
            proof => proof.clone(),
        };
        match (self.method, &proof) {
            (AuthMethod::ClientSecretBasic, ClientProof::Secret(secret)) => {
                // Servers on the official Python SDK look for the client in the form first.
                let mut form = form.with("client_id", &self.id);
                form.headers.insert(AUTHORIZATION, basic(&self.id, secret)?);
                Ok(form)
            }
            (AuthMethod::ClientSecretPost, ClientProof::Secret(secret)) => Ok(form
                .with("client_id", &self.id)
                .with_secret("client_secret", secret)),
            (AuthMethod::PrivateKeyJwt, ClientProof::Key(key)) => {
                let jti = random::token()?;
                let assertion = client_assertion(key, &self.id, audience, now, jti.expose())?;
                Ok(form
                    .with("client_id", &self.id)
                    .with("client_assertion_type", CLIENT_ASSERTION_TYPE)
                    .with_secret("client_assertion", &assertion))
            }
            (AuthMethod::None, _) => Ok(form.with("client_id", &self.id)),
            _ => Err(OAuthError::ClientAuthentication {
                issuer: shown(audience),
            }),
        }
    }
}

/// Returns a method that the client can and the server takes.
fn fitting(proof: &ClientProof, server: &ServerMetadata) -> Option<AuthMethod> {
    match proof {
        ClientProof::Public => Some(AuthMethod::None),
        ClientProof::Key(_) => Some(AuthMethod::PrivateKeyJwt),
        ClientProof::Secret(_) | ClientProof::SecretFrom(_) => Some(with_secret(server)),
    }
}

/// Returns the method for a client with a secret: the first that the server lists, which is what its
/// author has tried; the default if it lists none.
pub(super) fn with_secret(server: &ServerMetadata) -> AuthMethod {
    let (basic, post) = (AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost);
    let mut listed = server.auth_methods.iter().flatten();
    let first = listed.find_map(|name| [basic, post].into_iter().find(|m| m.as_str() == name));
    first.unwrap_or(basic)
}

/// Both parts are encoded as in a form before they are joined (RFC 6749 section 2.3.1).
fn basic(id: &str, secret: &Secret<String>) -> Result<HeaderValue, OAuthError> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Secret::new(format!("{}:{}", encoded(id), encoded(secret.expose())));
    let text = Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())));
    let mut value = HeaderValue::from_str(text.expose()).map_err(|_| OAuthError::Crypto {
        what: "the client secret cannot be sent",
    })?;
    value.set_sensitive(true);
    Ok(value)
}
