//! The gateway as a protected resource of its own (RFC 9728): whose tokens count, and what clients
//! without one are told.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use keyway::settings::{ClaimSetting, GatewaySettings, PublicAddress};
use keyway_auth::ports::Callback;
use keyway_people::{
    AccessTokenVerifier, Algorithm, BegunBrowserSignIn, BrowserProof, BrowserSignInError,
    ClaimRule, Issuer, TokenError, TokenRules, VerifiedPerson,
};
use keyway_secret::{Clock, Secret, SystemClock};
use keyway_transport::{HttpClient, OAuthHttp, Reply};
use serde_json::json;

pub use keyway_people::{IssuerError, Person};

use crate::timeouts::PERSON_GRACE;

/// Who may use the gateway with an access token, and at which address.
pub struct People {
    origin: String,
    verifier: AccessTokenVerifier,
    /// The answer to the question where to sign in.
    document: Bytes,
    clock: Arc<dyn Clock>,
    /// When the last token of each person ends, by the digest of the person. Held for one look or
    /// one change.
    seen: Mutex<HashMap<[u8; 32], SystemTime>>,
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("People");
        shown.field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl People {
    /// Makes them of the settings; `None` if there are none. Keys of issuers are fetched by `http`,
    /// from nothing that is less public than the issuer.
    ///
    /// # Errors
    ///
    /// Returns which rule the name of an issuer breaks.
    pub fn of(settings: &GatewaySettings, http: &HttpClient) -> Result<Option<Self>, IssuerError> {
        let (Some(public), Some(people)) = (&settings.public, &settings.people) else {
            return Ok(None);
        };
        let resource = public.resource();
        let audience = people.audience.as_ref().unwrap_or(&resource);
        let mut rules = TokenRules::new(audience.as_str());
        let named = people.algorithms.iter().map(|it| it.as_str());
        let named: Vec<_> = named.filter_map(Algorithm::from_name).collect();
        if !named.is_empty() {
            rules.algorithms = named;
        }
        rules.scopes.clone_from(&people.scopes);
        rules.members = people.members.as_ref().map(claim_rule);
        rules.admins = people.admins.as_ref().map(claim_rule);
        let mut issuers = Vec::new();
        for name in &people.issuers {
            let http = OAuthHttp::new(http, &Issuer::address(name)?);
            let issuer = Issuer::new(name, Arc::new(http))?;
            let issuer = match people.jwks.get(name) {
                Some(uri) => issuer.with_jwks(uri)?,
                None => issuer,
            };
            issuers.push(match people.browser_clients.get(name) {
                Some(client) => issuer.with_browser_client(client),
                None => issuer,
            });
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let verifier = AccessTokenVerifier::new(rules, issuers, Arc::clone(&clock));
        Ok(Some(Self::new(public, verifier, clock)))
    }

    /// Accepts what `verifier` does, at a public address.
    #[must_use]
    pub fn new(
        public: &PublicAddress,
        verifier: AccessTokenVerifier,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let issuers: Vec<_> = verifier.issuers().collect();
        let mut document = json!({
            "resource": public.resource(),
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": "Keyway",
        });
        let scopes = &verifier.rules().scopes;
        if !scopes.is_empty()
            && let Some(members) = document.as_object_mut()
        {
            members.insert("scopes_supported".to_owned(), json!(scopes));
        }
        Self {
            origin: public.origin.clone(),
            document: document.to_string().into(),
            verifier,
            clock,
            seen: Mutex::default(),
        }
    }

    /// Returns the origin at which clients of other machines reach the gateway.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Says whether a bearer token could be a person's at all; no gateway token has a dot in it.
    pub(crate) fn is_candidate(token: &str) -> bool {
        AccessTokenVerifier::is_candidate(token)
    }

    /// Says whose a token is.
    ///
    /// Cancel safety: cancel safe; a fetch of keys that it began goes on for others.
    pub(crate) async fn verify(&self, token: &str) -> Result<VerifiedPerson, TokenError> {
        let token = Secret::new(token.to_owned());
        let found = self.verifier.verify(&token).await?;
        let mut seen = self.seen();
        let ends = seen
            .entry(found.person.digest())
            .or_insert(found.expires_at);
        *ends = found.expires_at.max(*ends);
        Ok(found)
    }

    /// Says whether browsers can show whose they are at an issuer.
    pub(crate) fn knows_browsers_of(&self, issuer: &str) -> bool {
        self.verifier.knows_browsers_of(issuer)
    }

    /// Returns the issuers at which browsers can show whose they are.
    pub(crate) fn browser_issuers(&self) -> Vec<&str> {
        let issuers = self.verifier.issuers();
        issuers.filter(|it| self.knows_browsers_of(it)).collect()
    }

    /// Makes a page on which a person shows who they are, and which leads back to `redirect_uri`.
    ///
    /// Cancel safety: cancel safe; nothing is stored.
    pub(crate) async fn begin_browser_sign_in(
        &self,
        issuer: &str,
        redirect_uri: &str,
    ) -> Result<BegunBrowserSignIn, BrowserSignInError> {
        let begun = self.verifier.begin_browser_sign_in(issuer, redirect_uri);
        begun.await
    }

    /// Says who signed in on such a page.
    ///
    /// Cancel safety: the code may be spent; nothing is stored.
    pub(crate) async fn finish_browser_sign_in(
        &self,
        proof: &BrowserProof,
        answer: &Callback,
    ) -> Result<Person, BrowserSignInError> {
        self.verifier.finish_browser_sign_in(proof, answer).await
    }

    /// Says whether a person who was here may still have sessions: the last token has not ended, or
    /// only so lately that its client may be about to bring the next.
    pub(crate) fn may_stay(&self, digest: [u8; 32]) -> bool {
        self.seen().contains_key(&digest)
    }

    /// Forgets people whose last token ended some time ago.
    pub(crate) fn forget_gone(&self) {
        let now = self.clock.wall();
        self.seen().retain(|_, ends| now < *ends + PERSON_GRACE);
    }

    /// Returns the document about the gateway, if a path asks for it (RFC 9728 section 3.1). It is
    /// the same for all servers: whether one exists is not said here.
    pub(crate) fn metadata(&self, path: &str) -> Option<Reply> {
        let rest = path.strip_prefix(METADATA)?;
        let is_ours = matches!(rest, "" | "/" | "/mcp") || rest.starts_with("/mcp/");
        is_ours.then(|| {
            Reply::new(StatusCode::OK)
                .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .header(CACHE_CONTROL, HeaderValue::from_static("max-age=300"))
                .body(self.document.clone())
        })
    }

    /// Refuses a request: without a token, with a bad one, or of a person who may not.
    pub(crate) fn refuse(&self, error: Option<&TokenError>) -> Reply {
        let (status, word) = match error {
            None => (StatusCode::UNAUTHORIZED, None),
            Some(error) if error.is_transient() => {
                return text(StatusCode::SERVICE_UNAVAILABLE, error)
                    .header(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
            }
            Some(TokenError::MissingScope) => (StatusCode::FORBIDDEN, Some("insufficient_scope")),
            Some(error) if error.is_forbidden() => return text(StatusCode::FORBIDDEN, error),
            Some(_) => (StatusCode::UNAUTHORIZED, Some("invalid_token")),
        };
        let mut challenge = format!("Bearer resource_metadata=\"{}{METADATA}/mcp\"", self.origin);
        let scopes = self.verifier.rules().scopes.join(" ");
        if !scopes.is_empty() {
            challenge.push_str(&format!(", scope=\"{}\"", quotable(&scopes)));
        }
        if let (Some(word), Some(error)) = (word, error) {
            let description = quotable(&error.to_string());
            challenge.push_str(&format!(
                ", error=\"{word}\", error_description=\"{description}\""
            ));
        }
        let reply = match error {
            Some(error) => text(status, error),
            None => text(status, &"an access token is needed: sign in"),
        };
        match HeaderValue::from_str(&challenge) {
            Ok(challenge) => reply.header(WWW_AUTHENTICATE, challenge),
            Err(_) => reply,
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], SystemTime>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn claim_rule(setting: &ClaimSetting) -> ClaimRule {
    ClaimRule::new(setting.claim.clone(), setting.values.clone())
}

/// Returns what may stand between quotes (RFC 6750 section 3).
fn quotable(text: &str) -> String {
    let is_allowed = |it: &char| matches!(it, ' '..='~') && !matches!(it, '"' | '\\');
    text.chars().filter(is_allowed).collect()
}

fn text(status: StatusCode, what: &dyn fmt::Display) -> Reply {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    Reply::new(status)
        .header(CONTENT_TYPE, plain)
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .body(format!("{what}\n"))
}

/// Where clients look for the document about a protected resource.
const METADATA: &str = "/.well-known/oauth-protected-resource";
/// When a client may come back while an issuer is away.
const RETRY_SECONDS: &str = "5";
