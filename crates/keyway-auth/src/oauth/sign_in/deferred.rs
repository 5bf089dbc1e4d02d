//! A sign-in in two steps: the answer of its consent page arrives at an address of the host's own,
//! and another process may redeem it.
//!
//! ```text
//!   begin: prepare, register ──▶ page ──▶ a browser ──▶ callback ──▶ finish: discover, redeem, keep
//!                 └── what was decided, sealed by the caller ────────────▲
//! ```

use keyway_secret::{Secret, random};
use keyway_store::Generation;
use serde::{Deserialize, Serialize};
use url::Url;

use super::code::{Code, CodeRequest, issuer_tag};
use super::{Obtained, Prepared, SignInTrigger, is_client_refused};
use crate::error::{OAuthError, SignInCause, shown};
use crate::oauth::client::{Client, Origin};
use crate::oauth::discovery::discover;
use crate::oauth::dpop_binding::DpopBinding;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::ServerMetadata;
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::pkce::Pkce as Verifier;
use crate::oauth::registration::{Registration, register};
use crate::oauth::scope::Scopes;
use crate::oauth::secret_serde;
use crate::oauth::settings::GrantKind;
use crate::observer::Topic;
use crate::ports::Callback;

/// A consent page for a browser, and what its answer is told by.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BegunSignIn {
    /// The page. Checked: `https`, or `http` on this machine; no user name.
    pub page: Url,
    /// What the answer has to carry.
    pub state: Secret<String>,
    /// Where the answer arrives, exactly as it was sent.
    pub redirect_uri: String,
    /// The host of the issuer, in ASCII.
    pub issuer: String,
    /// What redeeming the answer needs: a secret, which the caller seals.
    pub resume: Secret<Vec<u8>>,
}

/// What was decided before the person was asked.
#[derive(Serialize, Deserialize)]
struct Resume {
    issuer: String,
    token_endpoint: Url,
    redirect_uri: String,
    #[serde(with = "secret_serde")]
    verifier: Option<Secret<String>>,
    /// The client, if it registered itself.
    registration: Option<Registration>,
    resource: Option<String>,
    scopes: Vec<String>,
    #[serde(with = "secret_serde")]
    dpop: Option<Secret<String>>,
    /// What is stored, and will be replaced.
    over: Option<i64>,
    /// Where the server said its metadata is.
    metadata: Option<String>,
}

/// A client, and the address that its answers arrive at.
struct Addressee {
    client: Client,
    registration: Option<Registration>,
    redirect_uri: String,
}

impl OAuthEngine {
    /// Makes a consent page that leads back to `redirect`, or to an address below it.
    pub(in crate::oauth) async fn begin_sign_in(
        &self,
        trigger: &SignInTrigger,
        redirect: &Url,
    ) -> Result<BegunSignIn, OAuthError> {
        if !matches!(self.settings.grant, GrantKind::AuthorizationCode) {
            return Err(OAuthError::sign_in_required(SignInCause::Never));
        }
        let reader = self.metadata.reader(CachePolicy::Bypass);
        let prepared = self.prepare(&reader, trigger).await?;
        self.observer.note(Topic::OAuth, || prepared.in_words());
        let server = &prepared.found.server;
        self.check_pkce(server)?;
        let page = self.consent_page(server)?;
        self.confirm_page(server, page).await?;
        let Addressee {
            client,
            registration,
            redirect_uri,
        } = self.addressee(server, redirect).await?;
        let (verifier, state) = (Verifier::new()?, random::token()?);
        let request = CodeRequest {
            redirect_uri: &redirect_uri,
            state: &state,
            verifier: &verifier,
        };
        let page = self.authorization_request(&prepared, &client, page, &request)?;
        let resume = Resume {
            issuer: server.issuer.clone(),
            token_endpoint: server.token_endpoint()?.clone(),
            redirect_uri: redirect_uri.clone(),
            verifier: Some(verifier.verifier().clone()),
            registration,
            resource: prepared.resource.clone(),
            scopes: prepared.scopes.as_slice().to_vec(),
            dpop: prepared.dpop.as_ref().map(DpopBinding::export),
            over: prepared.over.map(Generation::get),
            metadata: trigger.metadata.clone(),
        };
        Ok(BegunSignIn {
            page,
            state,
            redirect_uri,
            issuer: super::issuer_host(&server.issuer),
            resume: Secret::new(serde_json::to_vec(&resume).unwrap_or_default()),
        })
    }

    /// Redeems the answer of such a page, and keeps the tokens; returns their generation.
    pub(in crate::oauth) async fn finish_sign_in(
        &self,
        resume: &Secret<Vec<u8>>,
        callback: Callback,
    ) -> Result<Generation, OAuthError> {
        let resume: Option<Resume> = serde_json::from_slice(resume.expose()).ok();
        let never = || OAuthError::sign_in_required(SignInCause::Never);
        let resume = resume.ok_or_else(never)?;
        let prepared = self.resumed(&resume).await?;
        let client = match &resume.registration {
            Some(registration) => registration.client(Origin::Stored),
            None => {
                let given = self.given_client(&prepared.found.server).await?;
                given.ok_or_else(never)?
            }
        };
        let verifier = resume.verifier.clone().ok_or_else(never)?;
        let is_answered = callback.code.is_some();
        let code = Code {
            callback,
            verifier: Verifier::of(verifier),
            redirect_uri: resume.redirect_uri.clone(),
        };
        let finishing = async {
            let redeemed = self.redeem_code(&prepared, &client, &code).await;
            let is_known = match &redeemed {
                Err(error) if is_client_refused(error) => Some(false),
                _ => is_answered.then_some(true),
            };
            self.note_answer(&resume, is_known).await;
            let (issued, carried) = redeemed?;
            let obtained = Obtained {
                client,
                issued,
                carried,
            };
            self.keep(&prepared, obtained).await
        };
        self.reserved(Box::pin(finishing)).await
    }

    /// Prepares what was prepared before, as the authorization server says it now.
    async fn resumed(&self, resume: &Resume) -> Result<Prepared, OAuthError> {
        let reader = self.metadata.reader(CachePolicy::UseCached);
        let hint = resume.metadata.as_deref();
        let found = discover(&reader, &self.settings, &self.server.url, hint).await?;
        // The person agreed at one authorization server: no other gets the code.
        let is_same = found.server.issuer == resume.issuer
            && *found.server.token_endpoint()? == resume.token_endpoint;
        if !is_same {
            return Err(OAuthError::MixUp {
                expected: shown(&resume.issuer),
            });
        }
        let dpop = resume.dpop.as_ref();
        let dpop = dpop.map(|key| DpopBinding::import(key, &self.nonces));
        Ok(Prepared {
            found,
            resource: resume.resource.clone(),
            scopes: resume.scopes.iter().map(String::as_str).collect(),
            new_scopes: Scopes::default(),
            dpop: dpop.transpose()?,
            over: resume.over.map(Generation::new),
        })
    }

    /// Returns a client that is called back at `redirect`, or below it.
    async fn addressee(
        &self,
        server: &ServerMetadata,
        redirect: &Url,
    ) -> Result<Addressee, OAuthError> {
        let can_register = server.registration_endpoint.is_some();
        let given = self.given_client(server).await?;
        // The document of this client names addresses of a person's own machine.
        let is_fit = |client: &Client| client.origin != Origin::Document || !can_register;
        if let Some(client) = given.filter(is_fit) {
            return Ok(Addressee {
                client,
                registration: None,
                redirect_uri: redirect.to_string(),
            });
        }
        if !can_register {
            return Err(OAuthError::NoRegistration {
                issuer: shown(&server.issuer),
                redirect: shown(redirect.as_str()),
            });
        }
        // One for each issuer, as for a listener (`own_redirect`).
        let redirect_uri = format!("{redirect}/{}", issuer_tag(&server.issuer));
        let clients = self.registered_clients.at(&redirect_uri);
        let known = clients.get(&server.issuer).await;
        let known = known.filter(|known| known.unanswered < MOST_UNANSWERED);
        let (mut registration, origin) = match known {
            Some(known) => (known, Origin::Stored),
            None => {
                let kind = &GrantKind::AuthorizationCode;
                let uri = Some(&*redirect_uri);
                let new = register(&self.wire, &self.settings, server, kind, uri);
                (new.await?, Origin::Registered)
            }
        };
        registration.unanswered += 1;
        clients.put(&server.issuer, &registration).await?;
        Ok(Addressee {
            client: registration.client(origin),
            registration: Some(registration),
            redirect_uri,
        })
    }

    /// Notes whether the issuer knows a client, if it said so. That it cannot be noted costs a later
    /// registration at the most.
    async fn note_answer(&self, resume: &Resume, is_known: Option<bool>) {
        let Some(mut registration) = resume.registration.clone() else {
            return;
        };
        let clients = self.registered_clients.at(&resume.redirect_uri);
        let id = &registration.client_id;
        let _unnoted = if is_known == Some(false) {
            clients.delete_client(&resume.issuer, id).await
        } else if is_known == Some(true)
            && let Some(stored) = clients.get(&resume.issuer).await
            && stored.is_of(id)
        {
            registration.unanswered = 0;
            clients.put(&resume.issuer, &registration).await
        } else {
            Ok(())
        };
    }
}

/// After so many pages without an answer a client is registered again.
const MOST_UNANSWERED: u32 = 3;
