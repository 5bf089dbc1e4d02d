//! Grants that need no person: client credentials, ID-JAG and workload identity.

use super::{Obtained, Prepared, is_client_refused};
use crate::document::DocumentError;
use crate::error::{OAuthError, RequestTarget, SignInCause};
use crate::oauth::client::{Client, Origin};
use crate::oauth::discovery::of_issuer;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::ServerMetadata;
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::registration::register;
use crate::oauth::settings::{Assertion, GrantKind, IdJag, KeptToken};
use crate::oauth::token::TokenEndpoint;
use crate::oauth::wire::Form;
use keyway_secret::Secret;

impl OAuthEngine {
    /// RFC 6749 section 4.4.
    pub(super) async fn by_credentials(&self, prepared: &Prepared) -> Result<Obtained, OAuthError> {
        let form = Form::new("client_credentials");
        self.unattended(prepared, form).await
    }

    /// RFC 7523 section 2.1, with an assertion of the platform.
    pub(super) async fn by_workload(
        &self,
        prepared: &Prepared,
        assertion: &Assertion,
    ) -> Result<Obtained, OAuthError> {
        let assertion = assertion.get("the token of the workload").await?;
        let form = Form::new(JWT_BEARER).with_secret("assertion", &assertion);
        self.unattended(prepared, form).await
    }

    /// An ID token is exchanged for an assertion (RFC 8693 section 2.1), and that redeemed
    /// (RFC 7523 section 2.1).
    ///
    /// What either side refuses, the organisation refuses: it is an error of its own, and no person
    /// is asked for a consent instead. A refresh token is not kept, so that the identity provider
    /// is asked each time whether the access is still allowed.
    pub(super) async fn by_id_jag(
        &self,
        prepared: &Prepared,
        id_jag: &IdJag,
    ) -> Result<Obtained, OAuthError> {
        let assertion = self.id_jag(prepared, id_jag).await?;
        let form = Form::new(JWT_BEARER).with_secret("assertion", &assertion);
        let mut obtained = self.unattended(prepared, form).await.map_err(by_policy)?;
        obtained.issued.refresh = None;
        Ok(obtained)
    }

    async fn id_jag(
        &self,
        prepared: &Prepared,
        id_jag: &IdJag,
    ) -> Result<Secret<String>, OAuthError> {
        let id_token = id_jag.id_token.get("the ID token").await;
        let id_token = id_token.map_err(at_provider)?;
        let scopes = prepared.scopes.to_parameter();
        let form = Form::new("urn:ietf:params:oauth:grant-type:token-exchange")
            .with("requested_token_type", ID_JAG)
            .with("audience", &prepared.found.server.issuer)
            .with_some("resource", prepared.resource.as_deref())
            .with_some("scope", scopes.as_deref())
            .with_secret("subject_token", &id_token)
            .with("subject_token_type", ID_TOKEN);
        let provider = self.identity_provider(id_jag).await?;
        let client = Client::configured(&id_jag.client, &provider)?;
        let endpoint = TokenEndpoint {
            issuer: &provider.issuer,
            url: provider.token_endpoint()?,
            client: &client,
            dpop: None,
            what: RequestTarget::IdentityProvider,
            keep: KeptToken::Access,
            repeat_until: None,
        };
        let now = self.clock.wall();
        let document = endpoint.ask_document(&self.wire, form, now).await;
        let document = document.map_err(by_policy)?;
        let read = || -> Result<Secret<String>, DocumentError> {
            if document.text("issued_token_type")? != Some(ID_JAG) {
                return Err(DocumentError::Missing {
                    field: "issued_token_type",
                });
            }
            let token = document.text("access_token")?;
            let token = token.ok_or(DocumentError::Missing {
                field: "access_token",
            })?;
            Ok(Secret::new(token.to_owned()))
        };
        let what = RequestTarget::IdentityProvider;
        read().map_err(|error| OAuthError::Document { what, error })
    }

    /// Returns what is known of the identity provider, or what it says of itself.
    async fn identity_provider(&self, id_jag: &IdJag) -> Result<ServerMetadata, OAuthError> {
        let issuer = id_jag.issuer.as_deref();
        if let Some(endpoint) = &id_jag.token_endpoint {
            let origin = endpoint.origin().ascii_serialization();
            let mut provider = ServerMetadata::bare(issuer.unwrap_or(&origin));
            provider.token_endpoint = Some(endpoint.clone());
            return Ok(provider);
        }
        let issuer = issuer.unwrap_or_default();
        let reader = self.metadata.reader(CachePolicy::NoStore);
        of_issuer(&reader, &self.settings, issuer).await
    }

    async fn unattended(&self, prepared: &Prepared, form: Form) -> Result<Obtained, OAuthError> {
        let scopes = prepared.scopes.to_parameter();
        let form = form
            .with_some("scope", scopes.as_deref())
            .with_some("resource", prepared.resource.as_deref());
        loop {
            let client = self
                .client_without_redirect(prepared, &self.settings.grant)
                .await?;
            let endpoint = self.endpoint(prepared, &client)?;
            let asked = endpoint.ask(&self.wire, form.clone(), self.clock.wall());
            match asked.await {
                Err(error) if self.forgot(prepared, &client, &error).await? => {}
                issued => {
                    let issued = issued?;
                    return Ok(Obtained {
                        client,
                        issued,
                        carried: None,
                    });
                }
            }
        }
    }

    /// Forgets a client that was registered earlier and is not known any more; says whether it did,
    /// so that another can be registered.
    pub(super) async fn forgot(
        &self,
        prepared: &Prepared,
        client: &Client,
        error: &OAuthError,
    ) -> Result<bool, OAuthError> {
        let is_dead = client.origin == Origin::Stored && is_client_refused(error);
        if is_dead {
            let issuer = &prepared.found.server.issuer;
            self.registered_clients.delete(issuer).await?;
        }
        Ok(is_dead)
    }

    /// Returns a client for a grant without a redirect.
    pub(super) async fn client_without_redirect(
        &self,
        prepared: &Prepared,
        grant: &GrantKind,
    ) -> Result<Client, OAuthError> {
        let server = &prepared.found.server;
        if let Some(client) = self.given_client(server).await? {
            return Ok(client);
        }
        let kept = self.registered_clients.get(&server.issuer).await;
        if let Some(kept) = kept.filter(|kept| kept.redirect_uri.is_none()) {
            return Ok(kept.client(Origin::Stored));
        }
        let registration = register(&self.wire, &self.settings, server, grant, None).await?;
        self.registered_clients
            .put(&server.issuer, &registration)
            .await?;
        Ok(registration.client(Origin::Registered))
    }
}

/// Says where the sign-in is missing.
fn at_provider(error: OAuthError) -> OAuthError {
    match error {
        OAuthError::SignInRequired { .. } => {
            OAuthError::sign_in_required(SignInCause::IdentityProvider)
        }
        error => error,
    }
}

/// Turns a refusal into that of the organisation. A client that is not known, or does not prove who
/// it is, is a matter of the configuration.
fn by_policy(error: OAuthError) -> OAuthError {
    match error {
        OAuthError::TokenRefused { issuer, refusal } if refusal.code != "invalid_client" => {
            OAuthError::IdentityRefused { issuer, refusal }
        }
        error => error,
    }
}

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
