//! The two documents that say where to sign in, as typed data.

use url::Url;

use super::settings::AuthMethod;
use crate::document::{Document, DocumentError};
use crate::endpoint::Endpoint;
use crate::error::{DEVICE_ENDPOINT, OAuthError, RequestTarget, shown};

/// What a protected resource says of itself (RFC 9728).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceMetadata {
    /// Its own name, byte for byte; one that does not say it could speak of any (section 3.3).
    pub(super) resource: String,
    /// The issuers it relies on, byte for byte.
    pub(super) issuers: Vec<String>,
    /// The scopes that basic use needs.
    pub(super) scopes: Option<Vec<String>>,
    /// Whether tokens have to be bound to a key.
    pub(super) wants_dpop: bool,
}

impl ResourceMetadata {
    /// Reads the document.
    pub(super) fn read(document: &Document) -> Result<Self, OAuthError> {
        let what = RequestTarget::ResourceMetadata;
        let read = || -> Result<Self, DocumentError> {
            let field = "resource";
            let resource = document.text(field)?;
            let resource = resource.ok_or(DocumentError::Missing { field })?;
            let issuers = document.texts("authorization_servers")?.unwrap_or_default();
            Ok(Self {
                resource: resource.to_owned(),
                issuers: issuers
                    .into_iter()
                    .take(MAX_ISSUERS)
                    .map(str::to_owned)
                    .collect(),
                scopes: owned(document.texts("scopes_supported")?),
                wants_dpop: document
                    .flag("dpop_bound_access_tokens_required")?
                    .unwrap_or(false),
            })
        };
        read().map_err(|error| OAuthError::Document { what, error })
    }

    /// Checks that the document speaks of the server at `url` (RFC 9728 section 3.3).
    ///
    /// Real providers name the origin, or a path above that of the server.
    pub(super) fn check(&self, url: &Url) -> Result<(), OAuthError> {
        let is_ours = Endpoint::parse(&self.resource).is_ok_and(|named| {
            let own = url.path().trim_end_matches('/');
            let above = named.url().path().trim_end_matches('/');
            let rest = own.strip_prefix(above);
            named.is_same_origin(url)
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if is_ours {
            return Ok(());
        }
        Err(OAuthError::ResourceMismatch {
            found: shown(&self.resource),
        })
    }
}

/// What an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerMetadata {
    /// Its own name, byte for byte.
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Option<Url>,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) device_endpoint: Option<Url>,
    pub(super) auth_methods: Option<Vec<String>>,
    pub(super) pkce: Pkce,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) sends_iss: bool,
    pub(super) takes_metadata_documents: bool,
    pub(super) dpop_algorithms: Option<Vec<String>>,
}

/// What an authorization server says about PKCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pkce {
    /// That it knows S256.
    S256,
    /// Nothing of the kind.
    Unsaid,
    /// It has no document to say it in.
    NoDocument,
}

impl ServerMetadata {
    /// Reads the document.
    pub(super) fn read(document: &Document) -> Result<Self, OAuthError> {
        let what = RequestTarget::ServerMetadata;
        let url = |name| -> Result<Option<Url>, OAuthError> {
            let text = document
                .text(name)
                .map_err(|error| OAuthError::Document { what, error })?;
            text.map(|text| named(what, text)).transpose()
        };
        let texts = |name| {
            let texts = document.texts(name).map(owned);
            texts.map_err(|error| OAuthError::Document { what, error })
        };
        let flag = |name| {
            let flag = document.flag(name).map(|flag| flag.unwrap_or(false));
            flag.map_err(|error| OAuthError::Document { what, error })
        };
        let issuer = document
            .text("issuer")
            .map_err(|error| OAuthError::Document { what, error })?;
        let methods = texts("code_challenge_methods_supported")?;
        let knows_s256 = methods.is_some_and(|methods| methods.iter().any(|m| m == "S256"));
        Ok(Self {
            issuer: issuer.unwrap_or_default().to_owned(),
            authorization_endpoint: url("authorization_endpoint")?,
            token_endpoint: url("token_endpoint")?,
            registration_endpoint: url("registration_endpoint")?,
            revocation_endpoint: url("revocation_endpoint")?,
            device_endpoint: url("device_authorization_endpoint")?,
            auth_methods: texts("token_endpoint_auth_methods_supported")?,
            pkce: if knows_s256 { Pkce::S256 } else { Pkce::Unsaid },
            scopes: texts("scopes_supported")?,
            sends_iss: flag("authorization_response_iss_parameter_supported")?,
            takes_metadata_documents: flag("client_id_metadata_document_supported")?,
            dpop_algorithms: texts("dpop_signing_alg_values_supported")?,
        })
    }

    /// Makes up what a server of 2025-03-26 without a document would have said.
    pub(super) fn assumed(issuer: &str, base: &Url) -> Self {
        let at = |path| base.join(path).ok();
        Self {
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token"),
            registration_endpoint: at("/register"),
            ..Self::bare(issuer)
        }
    }

    /// A server of which only the name is known.
    pub(super) fn bare(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: None,
            token_endpoint: None,
            registration_endpoint: None,
            revocation_endpoint: None,
            device_endpoint: None,
            auth_methods: None,
            pkce: Pkce::NoDocument,
            scopes: None,
            sends_iss: false,
            takes_metadata_documents: false,
            dpop_algorithms: None,
        }
    }

    /// Says whether the token endpoint takes a method; one that says nothing takes the default
    /// (RFC 8414 section 2).
    pub(super) fn takes(&self, method: AuthMethod) -> bool {
        match &self.auth_methods {
            Some(methods) => methods.iter().any(|name| name == method.as_str()),
            None => method == AuthMethod::ClientSecretBasic,
        }
    }

    /// Returns the token endpoint.
    pub(super) fn token_endpoint(&self) -> Result<&Url, OAuthError> {
        self.token_endpoint
            .as_ref()
            .ok_or_else(|| self.lacks("token endpoint"))
    }

    /// Returns the endpoint that gives out device codes.
    pub(super) fn device_authorization(&self) -> Result<&Url, OAuthError> {
        let endpoint = self.device_endpoint.as_ref();
        endpoint.ok_or_else(|| self.lacks(DEVICE_ENDPOINT))
    }

    pub(super) fn lacks(&self, endpoint: &'static str) -> OAuthError {
        OAuthError::NoEndpoint {
            issuer: shown(&self.issuer),
            endpoint,
        }
    }
}

/// Reads an address that a document names.
pub(super) fn named(what: RequestTarget, text: &str) -> Result<Url, OAuthError> {
    Endpoint::parse(text)
        .map(Endpoint::into_url)
        .map_err(|why| OAuthError::Endpoint { what, why })
}

fn owned(texts: Option<Vec<&str>>) -> Option<Vec<String>> {
    texts.map(|texts| texts.into_iter().map(str::to_owned).collect())
}

/// More issuers than this are not even looked at.
const MAX_ISSUERS: usize = 5;
