//! What the person and the approved entry say about signing in to one server.

use std::fmt;
use std::sync::Arc;

use keyway_secret::Secret;
use url::Url;

use crate::BoxFuture;
use crate::error::OAuthError;
use crate::jose::SigningKey;
use crate::ports::Redirect;

/// How to sign in to one server. The default is what the specification asks for.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// How this client introduces itself where it registers.
    pub identity: ClientIdentity,
    /// A client that was registered beforehand; it belongs to the first issuer that it is used with,
    /// until the person signs out or [`Self::issuer`] names another.
    pub client: Option<ClientSettings>,
    /// Clients that were registered beforehand, by issuer.
    pub issuers: Vec<(String, ClientSettings)>,
    /// Where the document that describes this client is hosted, which then is its identifier.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for, in place of what the server says.
    pub scopes: Option<Vec<String>>,
    /// Where the answer of a consent page is received.
    pub redirect: Redirect,
    /// Where the endpoints are, in place of what the server says.
    pub endpoints: Endpoints,
    /// What to send as `resource`.
    pub resource: ResourceRule,
    /// Whether an authorization server has to say that it knows PKCE.
    pub pkce: PkceRule,
    /// Issuers whose metadata may carry another name, with that name.
    pub issuer_exceptions: Vec<(String, String)>,
    /// The issuer to use, where the server names several or none.
    pub issuer: Option<String>,
    /// More parameters for the consent page.
    pub authorize_params: Vec<(String, String)>,
    /// By which grant tokens are obtained.
    pub grant: GrantKind,
    /// Whether tokens are bound to a key.
    pub dpop: DpopRule,
    /// Whether a refresh names the scopes.
    pub refresh_scope: RefreshScope,
    /// Which token of an answer is kept.
    pub keep: KeptToken,
    /// Whether the MCP client shows a code (RFC 8628) to its person where no page can be opened:
    /// its call is answered with the code, and the sign-in continues meanwhile.
    pub client_shows_codes: bool,
}

/// How a client introduces itself to authorization servers, which show it to people at consent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The name of the program.
    pub name: String,
    /// The address of a page about it.
    pub uri: Option<String>,
    /// The address of its logo.
    pub logo_uri: Option<String>,
}

impl ClientIdentity {
    /// A program of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            uri: None,
            logo_uri: None,
        }
    }

    /// The same with the address of a page about it.
    #[must_use]
    pub fn with_uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// The same with the address of its logo.
    #[must_use]
    pub fn with_logo(mut self, uri: impl Into<String>) -> Self {
        self.logo_uri = Some(uri.into());
        self
    }
}

impl Default for ClientIdentity {
    /// The program `keyway`, with the address of its project if that has one: `repository` in the
    /// workspace's `Cargo.toml`. An authorization server may show it at consent.
    fn default() -> Self {
        let named = Self::new("Keyway");
        match env!("CARGO_PKG_REPOSITORY") {
            "" => named,
            address => named.with_uri(address),
        }
    }
}

/// A client that was registered beforehand.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Its identifier.
    pub id: String,
    /// How it authenticates.
    pub proof: ClientProof,
    /// By which method, if not the one that fits what the server supports.
    pub method: Option<AuthMethod>,
    /// Whose client it is.
    pub owner: ClientOwner,
}

/// Whose client it is, which decides where it may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientOwner {
    /// The entry's: it goes where the entry says.
    #[default]
    Entry,
    /// The person's: it goes where its issuer says, and not to an endpoint that an entry names,
    /// unless the person names it as well.
    Person {
        /// The token endpoint, as the person names it.
        token_endpoint: Option<Box<Url>>,
    },
}

impl ClientSettings {
    /// Makes a client that authenticates by the method that fits what the server supports.
    #[must_use]
    pub const fn new(id: String, proof: ClientProof) -> Self {
        Self {
            id,
            proof,
            method: None,
            owner: ClientOwner::Entry,
        }
    }
}

/// How a client authenticates.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ClientProof {
    /// Not at all.
    Public,
    /// With a secret.
    Secret(Secret<String>),
    /// With a secret that is asked for when it is needed.
    SecretFrom(Assertion),
    /// With a signature.
    Key(Arc<SigningKey>),
}

/// How a client authenticates to the token endpoint (RFC 7591 section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthMethod {
    /// By its identifier alone.
    None,
    /// Identifier and secret in the `Authorization` header.
    ClientSecretBasic,
    /// Identifier and secret in the body.
    ClientSecretPost,
    /// A signed assertion (RFC 7523).
    PrivateKeyJwt,
}

impl AuthMethod {
    /// Returns the registered name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// Reads a registered name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::None,
            Self::ClientSecretBasic,
            Self::ClientSecretPost,
            Self::PrivateKeyJwt,
        ];
        all.into_iter().find(|method| method.as_str() == name)
    }
}

/// Where the endpoints are.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Endpoints {
    /// Where the server and its authorization server say.
    #[default]
    Discovered,
    /// In this metadata document of the authorization server, which is of the same origin.
    Metadata(Url),
    /// Here.
    Fixed {
        /// The consent page.
        authorization: Url,
        /// The token endpoint.
        token: Url,
    },
    /// Where this issuer says; there is no protected resource.
    Issuer(String),
}

/// Which token of an answer is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeptToken {
    /// The access token, which is sent to the server.
    #[default]
    Access,
    /// The ID token (OpenID Connect Core section 2), which is exchanged for assertions.
    Identity,
}

/// What to send as `resource` (RFC 8707).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceRule {
    /// What the protected resource calls itself, or its address.
    #[default]
    Declared,
    /// Nothing: for providers that refuse it.
    Omit,
    /// Exactly this.
    Exactly(String),
}

/// Whether an authorization server has to say that it knows PKCE. S256 is sent in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PkceRule {
    /// Refuses to sign in at a server that does not.
    #[default]
    Advertised,
    /// It is known to, though it does not say so.
    AssumeS256,
}

/// Whether a refresh names the scopes that were granted (RFC 6749 section 6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefreshScope {
    /// No: the server renews what it granted.
    #[default]
    Omitted,
    /// Yes, for providers that otherwise issue a token for something else.
    Granted,
}

/// Whether tokens are bound to a key (RFC 9449).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopRule {
    /// Where the server asks for it.
    #[default]
    Auto,
    /// Wherever the authorization server can.
    Always,
    /// Never.
    Never,
}

/// By which grant tokens are obtained.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum GrantKind {
    /// A person agrees on a consent page.
    #[default]
    AuthorizationCode,
    /// A person types a code on another device (RFC 8628).
    Device,
    /// The client acts for itself (RFC 6749 section 4.4).
    ClientCredentials,
    /// An identity provider vouches for the person (RFC 8693, then RFC 7523).
    IdJag(Box<IdJag>),
    /// The platform vouches for the workload (RFC 7523).
    Workload(Assertion),
}

impl GrantKind {
    /// Says whether a person has to be asked.
    #[must_use]
    pub const fn needs_person(&self) -> bool {
        matches!(self, Self::AuthorizationCode | Self::Device)
    }
}

/// How an identity provider is asked for an assertion.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IdJag {
    /// The identity provider.
    pub issuer: Option<String>,
    /// Its token endpoint; otherwise its metadata say.
    pub token_endpoint: Option<Url>,
    /// The client as the identity provider knows it.
    pub client: ClientSettings,
    /// The ID token of the person: of another program, or of a sign-in of our own
    /// ([`OAuth::identity`](super::OAuth::identity)).
    pub id_token: Assertion,
}

impl IdJag {
    /// Asks the identity provider as `client`; its address is not known yet.
    #[must_use]
    pub const fn new(client: ClientSettings, id_token: Assertion) -> Self {
        Self {
            issuer: None,
            token_endpoint: None,
            client,
            id_token,
        }
    }
}

/// Where an assertion comes from; called each time, since an assertion is short-lived.
#[derive(Clone)]
pub struct Assertion(Arc<dyn Fn() -> Outcome + Send + Sync>);

/// An assertion on its way; `None` if there is none.
pub type AssertionFuture = BoxFuture<'static, Option<Secret<String>>>;

type Outcome = BoxFuture<'static, Result<Option<Secret<String>>, OAuthError>>;

impl Assertion {
    /// Asks `source` each time.
    ///
    /// Cancel safety: a future that `source` returns is awaited inside a sign-in or a renewal,
    /// which run in tasks of their own; it is dropped only with the runtime.
    pub fn new(source: impl Fn() -> AssertionFuture + Send + Sync + 'static) -> Self {
        Self::fallible(move || {
            let assertion = source();
            Box::pin(async move { Ok(assertion.await) })
        })
    }

    /// Asks `source` each time, which says why there is none.
    pub(super) fn fallible(source: impl Fn() -> Outcome + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Always the same.
    #[must_use]
    pub fn fixed(value: Secret<String>) -> Self {
        Self::new(move || Box::pin(std::future::ready(Some(value.clone()))))
    }

    /// Returns the assertion; `what` names it if there is none.
    pub(super) async fn get(&self, what: &'static str) -> Result<Secret<String>, OAuthError> {
        (self.0)().await?.ok_or(OAuthError::NoAssertion { what })
    }
}

impl fmt::Debug for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Assertion")
    }
}
