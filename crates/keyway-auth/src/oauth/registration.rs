//! Getting a client: configured → metadata document → registered earlier → registered now.

use std::time::SystemTime;

use keyway_secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::client::{Client, Origin, with_secret};
use super::metadata::{Pkce, ServerMetadata};
use super::redirect_address::to_register;
use super::settings::{
    AuthMethod, ClientIdentity, ClientProof, ClientSettings, GrantKind, Settings,
};
use super::wire::{Answer, Wire};
use super::{auth_method_serde, secret_serde};
use crate::error::{OAuthError, RequestTarget, shown};
use crate::jose::assertion::unix;

/// A client that was registered, as it is kept: per issuer, never used with another.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) client_id: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "secret_serde"
    )]
    client_secret: Option<Secret<String>>,
    #[serde(with = "auth_method_serde")]
    method: AuthMethod,
    /// Where its answers are received, port included.
    pub(super) redirect_uri: Option<String>,
    /// When the secret ends, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<u64>,
    /// To how many of its requests in a row no answer has come back: its issuer may have forgotten
    /// it, and says so to the browser alone.
    #[serde(default)]
    pub(super) unanswered: u32,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration")
            .field("client_id", &self.client_id)
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}

impl Registration {
    /// Reads what was kept.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns what to keep.
    pub(super) fn encode(&self) -> Secret<Vec<u8>> {
        Secret::new(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Says whether its secret has ended (RFC 7591 section 3.2.1).
    pub(super) fn has_ended(&self, now: SystemTime) -> bool {
        self.ends.is_some_and(|ends| ends <= unix(now))
    }

    /// Says whether it is that of the client with this identifier.
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.client_id == id
    }

    /// Returns the client.
    pub(super) fn client(&self, origin: Origin) -> Client {
        let proof = match &self.client_secret {
            Some(secret) => ClientProof::Secret(secret.clone()),
            None => ClientProof::Public,
        };
        Client {
            id: self.client_id.clone(),
            proof,
            method: self.method,
            origin,
        }
    }

    /// Returns the name under which it is kept.
    pub(super) fn name(issuer: &str) -> String {
        format!("registration {issuer}")
    }
}

/// Returns the client that needs no registration, if there is one.
pub(super) fn given(
    settings: &Settings,
    server: &ServerMetadata,
) -> Result<Option<Client>, OAuthError> {
    if let Some(client) = configured(settings, server) {
        return Client::configured(client, server).map(Some);
    }
    let document = settings.client_metadata_url.as_deref();
    let document = document.filter(|_| server.takes_metadata_documents);
    Ok(document.map(Client::document))
}

/// Returns the client of the person's settings, or else of the entry.
pub(super) fn configured<'a>(
    settings: &'a Settings,
    server: &ServerMetadata,
) -> Option<&'a ClientSettings> {
    let mut issuers = settings.issuers.iter();
    let for_issuer = issuers.find(|(issuer, _)| *issuer == server.issuer);
    let for_issuer = for_issuer.map(|(_, client)| client);
    for_issuer.or(settings.client.as_ref())
}

/// Registers this client (RFC 7591).
pub(super) async fn register(
    wire: &Wire,
    settings: &Settings,
    server: &ServerMetadata,
    grant: &GrantKind,
    redirect_uri: Option<&str>,
) -> Result<Registration, OAuthError> {
    let issuer = || shown(&server.issuer);
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(OAuthError::NoRegistration {
            issuer: issuer(),
            redirect: to_register(&settings.redirect),
        });
    };
    let mut request = json!({
        "client_name": settings.identity.name,
        "application_type": application_type(redirect_uri),
        "grant_types": grant_types(grant),
        "token_endpoint_auth_method": wanted_method(server).as_str(),
    });
    if let Some(fields) = request.as_object_mut() {
        let ClientIdentity { uri, logo_uri, .. } = &settings.identity;
        for (name, address) in [("client_uri", uri), ("logo_uri", logo_uri)] {
            if let Some(address) = address {
                fields.insert(name.to_owned(), json!(address));
            }
        }
        // Without this field the server assumes `code`, which needs a redirect (RFC 7591 section
        // 2).
        let types: &[&str] = if redirect_uri.is_some() {
            &["code"]
        } else {
            &[]
        };
        fields.insert("response_types".to_owned(), json!(types));
        if let Some(uri) = redirect_uri {
            fields.insert("redirect_uris".to_owned(), json!([uri]));
        }
    }
    let what = RequestTarget::Registration;
    let response = wire.json(what, endpoint, &request).await?;
    if server.pkce == Pkce::NoDocument && response.status == 404 {
        return Err(OAuthError::NotOffered);
    }
    let document = match wire.answer(what, &response)? {
        Answer::Document(document) => document,
        Answer::Refused(refusal) => {
            let issuer = issuer();
            return Err(OAuthError::RegistrationRefused { issuer, refusal });
        }
    };
    let bad = |error| OAuthError::Document { what, error };
    let client_id = document.text("client_id").map_err(bad)?;
    let Some(client_id) = client_id.filter(|id| !id.is_empty()) else {
        return Err(OAuthError::Document {
            what,
            error: crate::document::DocumentError::Missing { field: "client_id" },
        });
    };
    let secret = document.secret("client_secret").map_err(bad)?;
    // Some servers give a public client an empty one.
    let secret = secret.filter(|secret| !secret.expose().is_empty());
    let method = document.text("token_endpoint_auth_method").map_err(bad)?;
    let method = match (method, &secret) {
        (Some(method), _) => AuthMethod::parse(method)
            .ok_or_else(|| OAuthError::ClientAuthentication { issuer: issuer() })?,
        (None, Some(_)) => with_secret(server),
        (None, None) => AuthMethod::None,
    };
    // Told before a person is asked, since the token endpoint would refuse what they agree to.
    let is_possible = match method {
        AuthMethod::None => true,
        AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => secret.is_some(),
        AuthMethod::PrivateKeyJwt => false,
    };
    if !is_possible {
        return Err(OAuthError::ClientAuthentication { issuer: issuer() });
    }
    let ends = document.seconds("client_secret_expires_at").map_err(bad)?;
    Ok(Registration {
        client_id: client_id.to_owned(),
        client_secret: secret,
        method,
        redirect_uri: redirect_uri.map(str::to_owned),
        ends: ends.map(|ends| ends.as_secs()).filter(|ends| *ends > 0),
        unanswered: 0,
    })
}

/// Says what kind of client it is: one that is called back on this machine, or at an address of the
/// web (OpenID Connect Dynamic Client Registration section 2).
fn application_type(redirect_uri: Option<&str>) -> &'static str {
    match redirect_uri {
        Some(uri) if uri.starts_with("https:") => "web",
        _ => "native",
    }
}

/// Asks for no secret where that is possible: a program that is handed out can keep none.
fn wanted_method(server: &ServerMetadata) -> AuthMethod {
    let says_nothing = server.auth_methods.is_none();
    if says_nothing || server.takes(AuthMethod::None) {
        AuthMethod::None
    } else {
        with_secret(server)
    }
}

const fn grant_types(grant: &GrantKind) -> &'static [&'static str] {
    match grant {
        GrantKind::Device => &[
            "urn:ietf:params:oauth:grant-type:device_code",
            "refresh_token",
        ],
        GrantKind::ClientCredentials => &["client_credentials"],
        GrantKind::AuthorizationCode => &["authorization_code", "refresh_token"],
        GrantKind::IdJag(_) | GrantKind::Workload(_) => {
            &["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        }
    }
}

/// Says whether an address can be a client's name, which leads to its document: `https`, with a path,
/// without user or fragment (Client ID Metadata Document, section 3).
#[must_use]
pub fn is_client_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        url.scheme() == "https"
            && url.path() != "/"
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    })
}

/// Returns the document to host at `client_id`, by which authorization servers know this client.
#[must_use]
pub fn client_metadata(client_id: &str) -> serde_json::Value {
    let identity = ClientIdentity::default();
    let mut document = json!({
        "client_id": client_id,
        "client_name": identity.name,
        "application_type": "native",
        "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    if let (Some(fields), Some(uri)) = (document.as_object_mut(), identity.uri) {
        fields.insert("client_uri".to_owned(), json!(uri));
    }
    document
}
