//! Signing in: discover → register → consent → exchange → keep.
//!
//! ```text
//!   prepare ──────▶ obtain ──────────────────────────▶ keep ──────────────────▶ stored
//!   discovery,      code: register, listen, ask,       claim what is replaced,
//!   scopes,         redeem; device: show, poll;        put, else journal
//!   DPoP key        else one request                      │
//!      │               │                                  └──▶ error, the claim released
//!      └───────────────┴──▶ error ──from outdated cached documents──▶ prepare, once more
//!                             └──▶ failed, an earlier sign-in stays as it was
//! ```
//!
//! The whole runs in a task of its own (`authorizer`), so that a caller that goes away loses no
//! token that was issued. Where there is a carrier, codes are redeemed through it, so that the end
//! of this process loses none either ([`carrying`]).

mod carrying;
mod client_check;
mod code;
mod deferred;
mod device;
mod dry_run;
mod given;
mod pages;
mod replace;
mod unattended;

pub(super) use self::carrying::settle;
pub use self::deferred::BegunSignIn;
pub use self::dry_run::SignInPreview;
pub use self::given::{CheckedTokens, GivenTokens};
use self::pages::issuer_host;

use std::sync::Arc;

use keyway_store::{Generation, GrantKey, GrantStore, Tokens};
use url::Url;

use super::client::Client;
use super::details::{Details, SigningIn};
use super::discovery::{Discovered, discover};
use super::dpop_binding::DpopBinding;
use super::engine::OAuthEngine;
use super::metadata::ServerMetadata;
use super::metadata_cache::{CachePolicy, MetadataReader};
use super::scope::Scopes;
use super::settings::{DpopRule, GrantKind, ResourceRule};
use super::token::{Issued, TokenEndpoint};
use crate::error::{OAuthError, RequestTarget, SignInCause};
use crate::future::BoxFuture;
use crate::jose::assertion::unix;
use crate::observer::Topic;
use crate::ports::{CarriedExchange, HttpFailure, InteractionError};
use crate::refusal::HttpRefusal;

/// What led to a sign-in.
#[derive(Debug, Clone, Default)]
pub(super) struct SignInTrigger {
    /// Where the server says its metadata is.
    pub(super) metadata: Option<String>,
    /// The scopes that it asks for.
    pub(super) scopes: Option<Scopes>,
    /// The scopes that it has been granted before.
    pub(super) before: Scopes,
    /// The scopes without which it refuses.
    pub(super) must: Scopes,
    /// Whether it wants tokens that are bound to a key.
    pub(super) wants_dpop: bool,
    /// Whether a person said which scopes they want, and none besides.
    pub(super) is_exact: bool,
    /// What the server said when it refused.
    pub(super) refusal: Option<HttpRefusal>,
}

impl SignInTrigger {
    /// Asks for exactly these scopes, if there are any.
    pub(super) fn asking_for(mut self, scopes: Option<Vec<String>>) -> Self {
        if let Some(scopes) = scopes {
            self.scopes = Some(scopes.iter().map(String::as_str).collect());
            self.is_exact = true;
            self.must = Scopes::default();
        }
        self
    }
}

/// Everything that is settled before a person is asked.
#[derive(Debug)]
struct Prepared {
    found: Discovered,
    resource: Option<String>,
    scopes: Scopes,
    new_scopes: Scopes,
    dpop: Option<DpopBinding>,
    /// What is stored, and will be replaced.
    over: Option<Generation>,
}

impl Prepared {
    fn in_words(&self) -> String {
        let host = issuer_host(&self.found.server.issuer);
        let scopes = match self.scopes.to_parameter() {
            Some(scopes) => format!("the scopes `{scopes}`"),
            None => "no scopes".to_owned(),
        };
        let bound = if self.dpop.is_some() {
            ", a token bound to a key"
        } else {
            ""
        };
        format!("signing in at {host}, asking for {scopes}{bound}")
    }
}

/// Tokens, and the client that they were issued to.
#[derive(Debug)]
struct Obtained {
    client: Client,
    issued: Issued,
    /// What stores them if this process does not live to do it.
    carried: Option<Arc<dyn CarriedExchange>>,
}

impl OAuthEngine {
    /// Signs in by the configured grant and keeps the result; returns its generation.
    ///
    /// An earlier sign-in stays as it is until the new one is on disk.
    pub(super) async fn sign_in(
        &self,
        trigger: &SignInTrigger,
        policy: CachePolicy,
    ) -> Result<Generation, OAuthError> {
        if !self.settings.grant.needs_person() {
            return self.sign_in_once(trigger, policy).await;
        }
        // Before a person is asked: what could not be stored would have to be asked for again.
        self.reserved(Box::pin(self.sign_in_once(trigger, policy)))
            .await
    }

    /// Does something that ends with a new sign-in, with room for it in the store. Boxed, since a whole
    /// sign-in is too large to be moved about on the stack of a thread.
    async fn reserved(
        &self,
        signing_in: BoxFuture<'_, Result<Generation, OAuthError>>,
    ) -> Result<Generation, OAuthError> {
        let reserve = |store: &dyn GrantStore, key: &GrantKey| store.reserve(key);
        self.grant.with(reserve).await?;
        let signed_in = signing_in.await;
        if signed_in.is_err() {
            let unreserve = |store: &dyn GrantStore, key: &GrantKey| {
                store.unreserve(key);
                Ok(())
            };
            // A file that stays is removed once this process has ended.
            self.grant.with(unreserve).await.ok();
        }
        signed_in
    }

    async fn sign_in_once(
        &self,
        trigger: &SignInTrigger,
        policy: CachePolicy,
    ) -> Result<Generation, OAuthError> {
        let reader = self.metadata.reader(policy);
        let prepared = self.prepare(&reader, trigger).await;
        let error = match &prepared {
            Ok(prepared) => match self.obtain(prepared).await {
                Ok(obtained) => return self.keep(prepared, obtained).await,
                Err(error) => error,
            },
            Err(error) => error.clone(),
        };
        // Documents that led to nothing are not cached: their operator may be about to correct them.
        self.metadata.clear().await;
        if !reader.has_used_cache() || !is_outdated(&error) {
            return Err(error);
        }
        let uncached = self.metadata.reader(CachePolicy::Bypass);
        let fresh = self.prepare(&uncached, trigger).await?;
        if prepared.is_ok_and(|prepared| prepared.found == fresh.found) {
            return Err(error);
        }
        let obtained = self.obtain(&fresh).await?;
        self.keep(&fresh, obtained).await
    }

    async fn obtain(&self, prepared: &Prepared) -> Result<Obtained, OAuthError> {
        self.observer.note(Topic::OAuth, || prepared.in_words());
        match &self.settings.grant {
            GrantKind::AuthorizationCode => self.by_code_or_device(prepared).await,
            GrantKind::Device => self.by_device(prepared).await,
            GrantKind::ClientCredentials => self.by_credentials(prepared).await,
            GrantKind::IdJag(id_jag) => self.by_id_jag(prepared, id_jag).await,
            GrantKind::Workload(assertion) => self.by_workload(prepared, assertion).await,
        }
    }

    /// Asks on a consent page; where none can be opened, for a code that the client shows.
    async fn by_code_or_device(&self, prepared: &Prepared) -> Result<Obtained, OAuthError> {
        let unavailable = if self.person.available().is_none() {
            OAuthError::sign_in_required(SignInCause::Never)
        } else {
            match self.by_code(prepared).await {
                // A browser that does not start is found out only when the page is to be opened.
                Err(error @ OAuthError::Interaction(InteractionError::Unavailable)) => error,
                outcome => return outcome,
            }
        };
        match self.by_code_of_client(prepared).await? {
            Some(obtained) => Ok(obtained),
            None => Err(unavailable),
        }
    }

    async fn prepare(
        &self,
        reader: &MetadataReader<'_>,
        trigger: &SignInTrigger,
    ) -> Result<Prepared, OAuthError> {
        let hint = trigger.metadata.as_deref();
        let found = discover(reader, &self.settings, &self.server.url, hint).await?;
        let resource = match &self.settings.resource {
            ResourceRule::Omit => None,
            ResourceRule::Exactly(text) => Some(text.clone()),
            ResourceRule::Declared => {
                let declared = found.resource.as_ref().map(|r| r.resource.clone());
                Some(declared.unwrap_or_else(|| canonical(&self.server.url)))
            }
        };
        let before = self.granted_before(trigger, &found.server).await?;
        let scopes = self.scopes(trigger, &before, &found);
        let new_scopes = scopes.difference(&before);
        let dpop = self.dpop_key(trigger, &found)?;
        // A sign-in that does not open is reported when it is replaced, and not here.
        let stored = self.grant.read().await.ok().flatten();
        let over = stored.map(|stored| stored.generation);
        Ok(Prepared {
            found,
            resource,
            scopes,
            new_scopes,
            dpop,
            over,
        })
    }

    /// Returns what is not to be lost by signing in again: what was granted before, by the same
    /// issuer, unless the caller names the exact scopes.
    async fn granted_before(
        &self,
        trigger: &SignInTrigger,
        server: &ServerMetadata,
    ) -> Result<Scopes, OAuthError> {
        let is_chosen = trigger.is_exact || self.settings.scopes.is_some();
        if is_chosen || !trigger.before.is_empty() {
            return Ok(trigger.before.clone());
        }
        let stored = self.grant.read().await?;
        let before = stored.and_then(|grant| Details::decode(grant.details.expose()));
        let before = before.filter(|before| before.issuer == server.issuer);
        let scopes = before.map(|before| before.scopes.iter().map(String::as_str).collect());
        Ok(scopes.unwrap_or_default())
    }

    /// Chooses scopes: configured, else what the server asks for, else what it lists, else none;
    /// what was granted before is asked for again, so that nothing is lost.
    fn scopes(&self, trigger: &SignInTrigger, before: &Scopes, found: &Discovered) -> Scopes {
        let scopes = |list: &Vec<String>| list.iter().map(String::as_str).collect::<Scopes>();
        let listed = || found.resource.as_ref()?.scopes.as_ref().map(scopes);
        let configured = self.settings.scopes.as_ref().map(scopes);
        let asked = configured
            .or_else(|| trigger.scopes.clone())
            .or_else(listed)
            .unwrap_or_default();
        let mut scopes = before.union(&asked).union(&trigger.must);
        // Without a word of the server's, its own default is better than this alone.
        let is_offered = found.server.scopes.as_ref();
        let is_offered = is_offered.is_some_and(|all| all.iter().any(|s| s == OFFLINE));
        if is_offered && !scopes.is_empty() && self.settings.grant.needs_person() {
            scopes = scopes.union(&Scopes::parse(OFFLINE));
        }
        scopes
    }

    fn dpop_key(
        &self,
        trigger: &SignInTrigger,
        found: &Discovered,
    ) -> Result<Option<DpopBinding>, OAuthError> {
        let algorithms = found.server.dpop_algorithms.as_ref();
        let is_wanted = trigger.wants_dpop || found.resource.as_ref().is_some_and(|r| r.wants_dpop);
        let is_used = match self.settings.dpop {
            DpopRule::Never => false,
            DpopRule::Always => algorithms.is_some(),
            DpopRule::Auto => is_wanted,
        };
        if !is_used {
            return Ok(None);
        }
        let key = DpopBinding::generate(&self.nonces)?;
        let is_possible =
            algorithms.is_none_or(|all| all.iter().any(|name| name == key.algorithm()));
        Ok(is_possible.then_some(key))
    }

    /// Makes the token endpoint of the chosen server.
    fn endpoint<'a>(
        &self,
        prepared: &'a Prepared,
        client: &'a Client,
    ) -> Result<TokenEndpoint<'a>, OAuthError> {
        Ok(TokenEndpoint {
            issuer: &prepared.found.server.issuer,
            url: prepared.found.server.token_endpoint()?,
            client,
            dpop: prepared.dpop.as_ref(),
            what: RequestTarget::Token,
            keep: self.settings.keep,
            repeat_until: None,
        })
    }

    async fn keep(
        &self,
        prepared: &Prepared,
        obtained: Obtained,
    ) -> Result<Generation, OAuthError> {
        let Obtained {
            client,
            issued,
            carried,
        } = obtained;
        let details = self.details(prepared, &client)?.issued(&issued);
        let tokens = tokens(&issued).with_details(details.encode());
        // Before the earlier sign-in is overwritten: a process that dies in between must not lose
        // a refresh token that the authorization server keeps alive.
        let claim = self
            .remember_before_replacing(issued.refresh.as_ref())
            .await;
        let over = prepared.over;
        let generation = self.store_sign_in(&tokens, over, claim, carried).await?;
        self.required_scopes.clear().await;
        Ok(generation)
    }

    /// Describes the sign-in that is asked for.
    fn details(&self, prepared: &Prepared, client: &Client) -> Result<Details, OAuthError> {
        let server = &prepared.found.server;
        Ok(Details::before(SigningIn {
            issuer: &server.issuer,
            token_endpoint: server.token_endpoint()?,
            revocation_endpoint: server.revocation_endpoint.as_ref(),
            client,
            resource: prepared.resource.as_deref(),
            scopes: prepared.scopes.as_slice().to_vec(),
            dpop: prepared.dpop.as_ref().map(DpopBinding::export),
            at: unix(self.clock.wall()),
            boot: self.clock.boot(),
            keep: self.settings.keep,
        }))
    }
}

/// Turns what was given out into what is kept.
pub(super) fn tokens(issued: &Issued) -> Tokens {
    let mut tokens = Tokens::new(issued.access.clone());
    tokens.lifetime = issued.lifetime;
    tokens.refresh.clone_from(&issued.refresh);
    tokens
}

/// Returns the name of a server that has not given itself one: its address without a fragment,
/// and without a slash at the end of an empty path (RFC 8707 section 2).
fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.set_query(None);
    let text = String::from(url.clone());
    match text.strip_suffix('/') {
        Some(bare) if url.path() == "/" => bare.to_owned(),
        _ => text,
    }
}

/// Says whether the server does not know the client any more.
fn is_client_refused(error: &OAuthError) -> bool {
    let (OAuthError::TokenRefused { refusal, .. }
    | OAuthError::AuthorizationRefused { refusal, .. }) = error
    else {
        return false;
    };
    matches!(
        refusal.code.as_str(),
        "invalid_client" | "unauthorized_client"
    )
}

/// Says whether an error is what documents lead to that are not true any more: an endpoint that is
/// not there, one that rejects the client, or one that breaks a rule. A server that fails is not,
/// and neither is a person who said no.
pub(super) fn is_outdated(error: &OAuthError) -> bool {
    match error {
        OAuthError::Status { status, .. } => matches!(status, 300..=407 | 409..=428),
        OAuthError::Http { failure, .. } => match failure {
            // What may have arrived is not sent elsewhere.
            HttpFailure::Unreachable { sent, .. } => !sent,
            HttpFailure::Timeout { .. } => false,
            _ => true,
        },
        OAuthError::Document { .. }
        | OAuthError::Endpoint { .. }
        | OAuthError::NoEndpoint { .. }
        | OAuthError::NoMetadata { .. }
        | OAuthError::NoRegistration { .. }
        | OAuthError::NotOffered
        | OAuthError::RegistrationRefused { .. }
        | OAuthError::IssuerMismatch { .. }
        | OAuthError::PkceUnsupported { .. }
        | OAuthError::ClientAuthentication { .. } => true,
        _ => is_client_refused(error),
    }
}

const OFFLINE: &str = "offline_access";
