//! The authorization code grant with PKCE (RFC 6749 section 4.1, RFC 7636).

use std::sync::Arc;

use keyway_secret::{Secret, random};
use ring::digest::{SHA256, digest};
use url::Url;

use super::{OFFLINE, Obtained, Prepared, is_client_refused, issuer_host};
use crate::endpoint::EndpointError;
use crate::error::{OAuthError, RequestTarget, SignInCause, shown};
use crate::oauth::client::{Client, Origin};
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::{Pkce, ServerMetadata};
use crate::oauth::pkce::{METHOD, Pkce as Verifier};
use crate::oauth::registration::{Registration, register};
use crate::oauth::settings::{GrantKind, PkceRule};
use crate::oauth::token::Issued;
use crate::oauth::wire::{Form, refusal_of};
use crate::ports::{
    Callback, CarriedExchange, Consent, ConsentQuestion, InteractionError, Redirect,
};
use crate::timeouts::CONSENT_TIMEOUT;

/// A client, and the listener for the answer to its request.
struct Asker {
    client: Client,
    consent: Box<dyn Consent>,
}

/// An authorization code, and what is needed to redeem it.
pub(super) struct Code {
    pub(super) callback: Callback,
    pub(super) verifier: Verifier,
    pub(super) redirect_uri: String,
}

/// What one authorization request says beside what is asked for.
pub(super) struct CodeRequest<'a> {
    pub(super) redirect_uri: &'a str,
    pub(super) state: &'a Secret<String>,
    pub(super) verifier: &'a Verifier,
}

/// Tokens, and what stores them if this process does not live to do it.
pub(super) type Redeemed = (Issued, Option<Arc<dyn CarriedExchange>>);

impl OAuthEngine {
    pub(super) async fn by_code(&self, prepared: &Prepared) -> Result<Obtained, OAuthError> {
        let server = &prepared.found.server;
        self.check_pkce(server)?;
        let page = self.consent_page(server)?;
        self.confirm_page(server, page).await?;
        let mut kept = StoredClient::Use;
        loop {
            let Asker { client, consent } = self.asker(prepared, kept).await?;
            let outcome = self.ask_and_redeem(prepared, &client, consent, page).await;
            let error = match outcome {
                Ok((issued, carried)) => {
                    return Ok(Obtained {
                        client,
                        issued,
                        carried,
                    });
                }
                Err(error) => error,
            };
            if client.origin == Origin::Stored && is_about_client(&error) {
                // Also after a timeout: the page may have said that it knows no such client.
                self.registered_clients.delete(&server.issuer).await?;
            }
            if client.origin != Origin::Stored || !is_client_refused(&error) {
                return Err(error);
            }
            kept = StoredClient::Ignore;
        }
    }

    async fn ask_and_redeem(
        &self,
        prepared: &Prepared,
        client: &Client,
        consent: Box<dyn Consent>,
        page: &Url,
    ) -> Result<Redeemed, OAuthError> {
        let code = self.consent(prepared, client, consent, page).await?;
        Box::pin(self.redeem_code(prepared, client, &code)).await
    }

    /// Checks the answer of a consent page, and redeems its code.
    pub(super) async fn redeem_code(
        &self,
        prepared: &Prepared,
        client: &Client,
        code: &Code,
    ) -> Result<Redeemed, OAuthError> {
        let server = &prepared.found.server;
        check_issuer(server, &code.callback)?;
        let callback = &code.callback;
        if let Some(error) = &callback.error {
            return Err(OAuthError::AuthorizationRefused {
                issuer: shown(&server.issuer),
                refusal: refusal_of(error, callback.error_description.as_deref()),
            });
        }
        let Some(value) = &callback.code else {
            return Err(OAuthError::AuthorizationRefused {
                issuer: shown(&server.issuer),
                refusal: refusal_of("no code", None),
            });
        };
        let form = Form::new("authorization_code")
            .with_secret("code", value)
            .with("redirect_uri", &code.redirect_uri)
            .with_secret("code_verifier", code.verifier.verifier())
            .with_some("resource", prepared.resource.as_deref());
        let endpoint = self.endpoint(prepared, client)?;
        let (wire, carried) = self.carried_wire(prepared, client).await?;
        // On an error the carrier is dropped without a word, and finds that no tokens came.
        let issued = endpoint.ask(&wire, form, self.clock.wall()).await?;
        Ok((issued, carried))
    }

    /// Asks the person on the consent page.
    async fn consent(
        &self,
        prepared: &Prepared,
        client: &Client,
        consent: Box<dyn Consent>,
        page: &Url,
    ) -> Result<Code, OAuthError> {
        let verifier = Verifier::new()?;
        let state = random::token()?;
        let redirect_uri = consent.redirect_uri().to_owned();
        let request = CodeRequest {
            redirect_uri: &redirect_uri,
            state: &state,
            verifier: &verifier,
        };
        let url = self.authorization_request(prepared, client, page, &request)?;
        let question = ConsentQuestion {
            url,
            state,
            server: self.server.name.clone(),
            issuer: issuer_host(&prepared.found.server.issuer),
            client: shown(&client.id),
            scopes: prepared.scopes.as_slice().to_vec(),
            new_scopes: prepared.new_scopes.as_slice().to_vec(),
            patience: CONSENT_TIMEOUT,
        };
        self.person.count_question();
        let page = question.url.to_string();
        let callback = self.person.ask_on(&page, consent.ask(question)).await?;
        Ok(Code {
            callback,
            verifier,
            redirect_uri,
        })
    }

    /// Returns the address of a consent page that asks for what was prepared.
    pub(super) fn authorization_request(
        &self,
        prepared: &Prepared,
        client: &Client,
        page: &Url,
        request: &CodeRequest<'_>,
    ) -> Result<Url, OAuthError> {
        let mut url = page.clone();
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", request.redirect_uri)
                .append_pair("state", request.state.expose())
                .append_pair("code_challenge", request.verifier.challenge())
                .append_pair("code_challenge_method", METHOD);
            if let Some(scopes) = prepared.scopes.to_parameter() {
                query.append_pair("scope", &scopes);
            }
            if let Some(resource) = &prepared.resource {
                query.append_pair("resource", resource);
            }
            if let Some(key) = &prepared.dpop {
                query.append_pair("dpop_jkt", &key.thumbprint());
            }
            let params = &self.settings.authorize_params;
            let has_prompt = params.iter().any(|(name, _)| name == "prompt");
            // OpenID Connect Core section 11: without consent no offline access.
            if prepared.scopes.contains(OFFLINE) && !has_prompt {
                query.append_pair("prompt", "consent");
            }
            for (name, value) in params {
                query.append_pair(name, value);
            }
        }
        self.page_for_person(RequestTarget::Authorization, &url)
    }

    /// Returns a client with a listener on an address that is registered for it.
    async fn asker(&self, prepared: &Prepared, kept: StoredClient) -> Result<Asker, OAuthError> {
        let server = &prepared.found.server;
        let wish = &self.settings.redirect;
        if let Some(client) = self.given_client(server).await? {
            let consent = self.listen(wish.clone()).await?;
            return Ok(Asker { client, consent });
        }
        let is_free = *wish == Redirect::default();
        let wish = own_redirect(wish, &server.issuer);
        let kept = match kept {
            StoredClient::Use => self.kept_registration(&server.issuer).await,
            StoredClient::Ignore => None,
        };
        if let Some((registration, uri)) = kept {
            let mut again = wish.clone();
            if is_free {
                again.port = Some(uri.port_or_known_default().unwrap_or(80));
            }
            match self.listen(again).await {
                Ok(consent) if consent.redirect_uri() == uri.as_str() => {
                    let client = registration.client(Origin::Stored);
                    return Ok(Asker { client, consent });
                }
                // Registered for another address than is wanted now, or for a port that is taken.
                Ok(_) => {}
                Err(OAuthError::Interaction(InteractionError::PortBusy { .. })) if is_free => {}
                Err(error) => return Err(error),
            }
        }
        let consent = self.listen(wish).await?;
        let uri = Some(consent.redirect_uri());
        let registration = register(
            &self.wire,
            &self.settings,
            server,
            &GrantKind::AuthorizationCode,
            uri,
        )
        .await?;
        self.registered_clients
            .put(&server.issuer, &registration)
            .await?;
        let client = registration.client(Origin::Registered);
        Ok(Asker { client, consent })
    }

    async fn listen(&self, wish: Redirect) -> Result<Box<dyn Consent>, OAuthError> {
        let Some(interaction) = self.person.available() else {
            return Err(OAuthError::sign_in_required(SignInCause::Never));
        };
        Ok(interaction.prepare(wish).await?)
    }

    async fn kept_registration(&self, issuer: &str) -> Option<(Registration, Url)> {
        let registration = self.registered_clients.get(issuer).await?;
        let uri = Url::parse(registration.redirect_uri.as_deref()?).ok()?;
        Some((registration, uri))
    }

    /// Returns an error if a sign-in by code is not possible at this server.
    pub(super) fn check_sign_in_by_code(&self, server: &ServerMetadata) -> Result<(), OAuthError> {
        self.check_pkce(server)?;
        self.consent_page(server).map(drop)
    }

    pub(super) fn check_pkce(&self, server: &ServerMetadata) -> Result<(), OAuthError> {
        if server.pkce == Pkce::Unsaid && self.settings.pkce == PkceRule::Advertised {
            return Err(OAuthError::PkceUnsupported {
                issuer: shown(&server.issuer),
            });
        }
        Ok(())
    }

    /// Returns the consent page.
    pub(super) fn consent_page<'a>(
        &self,
        server: &'a ServerMetadata,
    ) -> Result<&'a Url, OAuthError> {
        let page = server.authorization_endpoint.as_ref();
        let page = page.ok_or_else(|| server.lacks("consent page"))?;
        self.page_for_person(RequestTarget::Authorization, page)?;
        // RFC 6749 section 3.1: no parameter occurs twice, so that no reader takes the other one.
        if page.query_pairs().any(|(name, _)| OURS.contains(&&*name)) {
            return Err(OAuthError::Endpoint {
                what: RequestTarget::Authorization,
                why: EndpointError::Parameter,
            });
        }
        Ok(page)
    }
}

/// Gives each issuer that we register with a redirect of its own, so that the answer of one is not
/// taken for that of another even if neither names itself (RFC 9207 section 1, RFC 9700 section
/// 4.4.2). A client that was registered beforehand keeps the one that it was registered with.
fn own_redirect(wish: &Redirect, issuer: &str) -> Redirect {
    let mut own = wish.clone();
    if own.uri.is_none() {
        let tag = issuer_tag(issuer);
        // Without a port: the listener takes a free one, or that of the wish.
        own.uri = Url::parse(&format!("http://localhost/callback/{tag}")).ok();
    }
    own
}

/// Tells the redirects of issuers apart.
pub(super) fn issuer_tag(issuer: &str) -> String {
    let hash = digest(&SHA256, issuer.as_bytes());
    let hash = hash.as_ref().iter().take(8);
    hash.map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredClient {
    Use,
    Ignore,
}

/// Applies the four rows of RFC 9207 section 2.4: byte for byte, before anything else is looked at.
fn check_issuer(server: &ServerMetadata, callback: &Callback) -> Result<(), OAuthError> {
    let is_right = match &callback.iss {
        Some(iss) => *iss == server.issuer,
        None => !server.sends_iss,
    };
    if is_right {
        return Ok(());
    }
    Err(OAuthError::MixUp {
        expected: shown(&server.issuer),
    })
}

fn is_about_client(error: &OAuthError) -> bool {
    use InteractionError::{Cancelled, Timeout};
    is_client_refused(error) || matches!(error, OAuthError::Interaction(Timeout { .. } | Cancelled))
}

/// What the address of a consent page may not hold: what we say, and what would replace all of it.
const OURS: [&str; 10] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "resource",
    "request",
    "request_uri",
];
