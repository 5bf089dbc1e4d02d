//! Which rule was broken on the way to a token, and by which side.
//!
//! Texts that a peer sent appear only after control characters were taken out of them and they were
//! cut; tokens, codes and whole answers never do.

mod meaning;
mod refusal;
mod request_target;
mod sign_in_cause;

use keyway_secret::random::NoRandomness;
pub use keyway_store::RejectionCause;
use thiserror::Error;

use crate::document::DocumentError;
use crate::endpoint::EndpointError;
use crate::jose::JoseError;
use crate::ports::{HttpFailure, InteractionError};
use crate::refusal::HttpRefusal;

pub use self::refusal::Refusal;
pub(crate) use self::refusal::shown;
pub use self::request_target::RequestTarget;
pub use self::sign_in_cause::SignInCause;
use self::sign_in_cause::{sign_in_text, why_rejected};

/// Why there is no token.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// A person has to sign in, and no prompt is shown here.
    #[error("{}", sign_in_text(*cause, scopes, refusal.as_deref()))]
    SignInRequired {
        /// Why the earlier sign-in does not count any more.
        cause: SignInCause,
        /// What has to be asked for; empty if the server decides.
        scopes: Vec<String>,
        /// What the server said when it refused, if it did.
        refusal: Option<Box<HttpRefusal>>,
    },
    /// A person is being asked right now.
    #[error("sign in on this page: {address}")]
    SignInUnderWay {
        /// The consent page.
        address: String,
    },
    /// A code waits to be typed by the person, which only the client can show to them.
    #[error("open {page} on any device and enter the code {code}")]
    CodeOfClient {
        /// The page on which to type it.
        page: String,
        /// The code.
        code: String,
    },
    /// Another process asks the person already, and has no answer yet.
    #[error("a sign-in is under way in another window")]
    AskedElsewhere,
    /// The person said no to another process that asked the same.
    #[error("the sign-in was declined in another window")]
    DeclinedElsewhere,
    /// The server offers no way to sign in.
    #[error("the server asks for a credential and offers no way to sign in")]
    NotOffered,
    /// No document says where to sign in.
    #[error("`{issuer}` publishes no authorization server metadata")]
    NoMetadata {
        /// Which issuer.
        issuer: String,
    },
    /// A request got no answer.
    #[error("{what}: {failure}")]
    Http {
        /// What was asked for.
        what: RequestTarget,
        /// Why there is no answer.
        failure: HttpFailure,
    },
    /// A request got a status that is not an answer.
    #[error("{what} answered {status}")]
    Status {
        /// What was asked for.
        what: RequestTarget,
        /// The status.
        status: u16,
        /// The seconds after which to ask again, if the server said so.
        retry_after: Option<u64>,
    },
    /// A document cannot be used.
    #[error("{what} cannot be used: {error}")]
    Document {
        /// Which.
        what: RequestTarget,
        /// What is wrong with it.
        error: DocumentError,
    },
    /// The metadata of the resource is that of another one (RFC 9728 section 3.3).
    #[error("the metadata of the server is for another resource, `{found}`")]
    ResourceMismatch {
        /// What it speaks of.
        found: String,
    },
    /// Tokens that were handed over come from another issuer than the server names.
    #[error("the tokens are from `{issuer}`, but the server names `{expected}`")]
    IssuedByOther {
        /// Who issued them.
        issuer: String,
        /// Whom the server names.
        expected: String,
    },
    /// Tokens that were handed over are for another resource.
    #[error("the tokens are for `{resource}`, but the server is `{expected}`")]
    IssuedForOther {
        /// What they are for.
        resource: String,
        /// What the server calls itself.
        expected: String,
    },
    /// The metadata of an authorization server is that of another one (RFC 8414 section 3.3).
    #[error("the metadata of `{expected}` names another issuer, `{found}`")]
    IssuerMismatch {
        /// The issuer that we asked.
        expected: String,
        /// The issuer that answered.
        found: String,
    },
    /// The answer came from another issuer than the one that was asked (RFC 9207 section 2.4).
    #[error("the answer does not come from `{expected}`, which was asked")]
    MixUp {
        /// The issuer that we asked.
        expected: String,
    },
    /// The page is another host's, and the person did not say that they want to go there.
    #[error("`{issuer}` sends you to a page at `{page}`, on another host")]
    ForeignPage {
        /// The host of the issuer.
        issuer: String,
        /// The host of the page.
        page: String,
    },
    /// The authorization server does not say that it knows PKCE with S256 (RFC 7636 section 4.2).
    #[error("`{issuer}` does not advertise PKCE with S256")]
    PkceUnsupported {
        /// Which.
        issuer: String,
    },
    /// An address that a peer named may not be used.
    #[error("{what} names a URL that may not be used: {why}")]
    Endpoint {
        /// Which document.
        what: RequestTarget,
        /// Why not.
        why: EndpointError,
    },
    /// There is no endpoint for what has to be done.
    #[error("`{issuer}` offers no {endpoint}")]
    NoEndpoint {
        /// Which issuer.
        issuer: String,
        /// Which endpoint.
        endpoint: &'static str,
    },
    /// There is no client, and none can be registered.
    #[error(
        "`{issuer}` does not support dynamic client registration; a client for Keyway has to be registered there, with the redirect address {redirect}"
    )]
    NoRegistration {
        /// Which.
        issuer: String,
        /// The redirect address to register, as far as it is fixed.
        redirect: String,
    },
    /// The registration was refused (RFC 7591 section 3.2.2).
    #[error("`{issuer}` refused to register this client: {refusal}")]
    RegistrationRefused {
        /// Which.
        issuer: String,
        /// Why.
        refusal: Refusal,
    },
    /// A client that was configured has been used with another issuer.
    #[error("the client is registered with `{issuer}`, but the server now relies on `{found}`")]
    ClientOfOther {
        /// The issuer that it was used with.
        issuer: String,
        /// The one that it would be sent to.
        found: String,
    },
    /// The token endpoint is elsewhere than its issuer, and the entry has a secret for the issuer.
    #[error(
        "`{issuer}` has its token endpoint at `{found}`, to which the client secret was not sent"
    )]
    SecretElsewhere {
        /// The authorization server.
        issuer: String,
        /// The origin of its token endpoint.
        found: String,
    },
    /// The entry names the token endpoint, and the client is the person's.
    #[error(
        "the entry names the token endpoint `{found}`, which did not get your client for `{issuer}`"
    )]
    EndpointOfEntry {
        /// The authorization server.
        issuer: String,
        /// The token endpoint.
        found: String,
    },
    /// A way of authenticating the client that we cannot or may not use.
    #[error("`{issuer}` requires a client authentication method that is not available")]
    ClientAuthentication {
        /// Which.
        issuer: String,
    },
    /// No answer from the person.
    #[error(transparent)]
    Interaction(#[from] InteractionError),
    /// The person, or the server for them, refused (RFC 6749 section 4.1.2.1).
    #[error("`{issuer}` refused: {refusal}")]
    AuthorizationRefused {
        /// Which.
        issuer: String,
        /// Why.
        refusal: Refusal,
    },
    /// The token endpoint refused (RFC 6749 section 5.2).
    #[error("`{issuer}` did not issue a token: {refusal}")]
    TokenRefused {
        /// Which.
        issuer: String,
        /// Why.
        refusal: Refusal,
    },
    /// The organisation did not grant the access: its identity provider gave no assertion, or the
    /// issuer did not accept it. Never followed by a person's own consent.
    #[error("`{issuer}` does not grant this access to your organisation's sign-in: {refusal}")]
    IdentityRefused {
        /// Which of the two.
        issuer: String,
        /// Why.
        refusal: Refusal,
    },
    /// The refresh token does not count any more.
    #[error("`{issuer}` no longer accepts the sign-in{}", why_rejected(*cause))]
    GrantRejected {
        /// Which.
        issuer: String,
        /// What it probably comes from.
        cause: RejectionCause,
    },
    /// The person signed in with another account than the session began with.
    #[error("this session began with another account")]
    OtherAccount,
    /// A token that was just issued is refused.
    #[error("the server refuses a token that was just issued for it")]
    Loop,
    /// The server asks for more scopes each time.
    #[error("the server still asks for scopes after {tries} sign-ins")]
    ScopeLimit {
        /// How many.
        tries: u32,
        /// What it asks for.
        scopes: Vec<String>,
    },
    /// An assertion that the grant needs is not there.
    #[error("{what} is missing")]
    NoAssertion {
        /// Which.
        what: &'static str,
    },
    /// Another process renews the sign-in, and takes longer than callers wait.
    #[error("{} has been renewing this sign-in for more than {}", holder(*process), renewing_for(*is_overdue))]
    RenewalBusy {
        /// Its process id, if that is known.
        process: Option<u32>,
        /// Whether it takes longer than any renewal should.
        is_overdue: bool,
    },
    /// The renewal continues, and takes longer than callers wait.
    #[error("the token endpoint: `{host}` has not answered for {seconds} seconds")]
    RenewalSlow {
        /// The host of the token endpoint.
        host: String,
        /// How long this caller has waited.
        seconds: u64,
    },
    /// The renewal has to wait until others at the same issuer are done.
    #[error("the renewal waits for its turn for {seconds} seconds: too many are due at `{issuer}`")]
    RenewalQueued {
        /// The issuer.
        issuer: String,
        /// How long this caller has waited.
        seconds: u64,
    },
    /// The authorization server asked to be left alone for a while.
    #[error("the token endpoint asked to wait {seconds} more seconds")]
    RenewalPostponed {
        /// How much longer.
        seconds: u64,
    },
    /// The refresh token was sent, and its answer did not arrive or cannot be read.
    #[error("the sign-in may be lost: the refresh token was sent, but {what}")]
    RefreshUnanswered {
        /// What happened instead, as a clause.
        what: String,
    },
    /// The vault failed.
    #[error("{message}")]
    Vault {
        /// In the vault's own words.
        message: String,
        /// What to do about it, if the vault knows.
        hint: Option<String>,
    },
    /// The vault can be read and not changed, so that nothing is renewed: what would be issued could
    /// not be stored.
    #[error("{message}")]
    VaultUnwritable {
        /// In the vault's own words.
        message: String,
        /// What to do about it, if the vault knows.
        hint: Option<String>,
    },
    /// The store is another process, and cannot be reached. Tokens in memory are used until they
    /// expire, and nothing is renewed.
    #[error("{message}")]
    StoreUnreachable {
        /// In the store's own words.
        message: String,
        /// What to do about it, if the store knows.
        hint: Option<String>,
    },
    /// This machine gave no random numbers, or a key cannot be used.
    #[error("{what}")]
    Crypto {
        /// What failed.
        what: &'static str,
    },
}

fn holder(process: Option<u32>) -> String {
    match process {
        Some(process) => format!("another process ({process})"),
        None => "another process".to_owned(),
    }
}

const fn renewing_for(is_overdue: bool) -> &'static str {
    if is_overdue {
        "2 minutes"
    } else {
        "10 seconds"
    }
}

impl From<JoseError> for OAuthError {
    fn from(error: JoseError) -> Self {
        let what = match error {
            JoseError::Signing => "a signature could not be made",
            JoseError::Random(_) => "cannot get random bytes from the operating system",
            _ => "a key cannot be used",
        };
        Self::Crypto { what }
    }
}

impl From<NoRandomness> for OAuthError {
    fn from(_: NoRandomness) -> Self {
        let what = "cannot get random bytes from the operating system";
        Self::Crypto { what }
    }
}

impl OAuthError {
    /// Makes the error of a server that needs a sign-in, without a refusal to quote.
    pub(crate) const fn sign_in_required(cause: SignInCause) -> Self {
        Self::SignInRequired {
            cause,
            scopes: Vec::new(),
            refusal: None,
        }
    }

    /// Makes the error of a token endpoint that said no.
    pub(crate) fn refused(issuer: &str, refusal: Refusal) -> Self {
        Self::TokenRefused {
            issuer: shown(issuer),
            refusal,
        }
    }

    /// Returns what the server or the authorization server said when it refused, for the `http` of
    /// a diagnostic.
    #[must_use]
    pub fn http_refusal(&self) -> Option<HttpRefusal> {
        match self {
            Self::SignInRequired {
                refusal: Some(refusal),
                ..
            } => Some((**refusal).clone()),
            Self::TokenRefused { refusal, .. }
            | Self::IdentityRefused { refusal, .. }
            | Self::RegistrationRefused { refusal, .. }
            | Self::AuthorizationRefused { refusal, .. } => Some(HttpRefusal {
                status: refusal.status,
                error: Some(refusal.code.clone()),
                error_description: refusal.description.clone(),
                scope: None,
            }),
            Self::ScopeLimit { scopes, .. } => Some(HttpRefusal::of_status(403).with_error(
                Some("insufficient_scope".to_owned()),
                None,
                Some(scopes.join(" ")),
            )),
            Self::Status { status, .. } => Some(HttpRefusal::of_status(*status)),
            _ => None,
        }
    }
}

/// The endpoint of RFC 8628, in [`OAuthError::NoEndpoint`].
pub(crate) const DEVICE_ENDPOINT: &str = "device authorization endpoint";
