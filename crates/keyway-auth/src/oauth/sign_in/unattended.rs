//! Grants that need no person: client credentials, ID-JAG and workload identity.

use super::{Obtained, Prepared, is_client_refused};
use crate::document::DocumentError;
use crate::error::{OAuthError, RequestTarget, shown};
use crate::oauth::client::{Client, Origin};
use crate::oauth::discovery::server_metadata;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::ServerMetadata;
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::registration::register;
use crate::oauth::settings::{Assertion, IdJag};
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
        let what = "the token of the workload";
        let assertion = assertion.get().await;
        let assertion = assertion.ok_or(OAuthError::NoAssertion { what })?;
        let form = Form::new(JWT_BEARER).with_secret("assertion", &assertion);
        self.unattended(prepared, form).await
    }

    /// An identity token is exchanged for an assertion (RFC 8693 section 2.1), and that redeemed
    /// (RFC 7523 section 2.1).
    pub(super) async fn by_id_jag(
        &self,
        prepared: &Prepared,
        id_jag: &IdJag,
    ) -> Result<Obtained, OAuthError> {
        let assertion = self.id_jag(prepared, id_jag).await?;
        let form = Form::new(JWT_BEARER).with_secret("assertion", &assertion);
        self.unattended(prepared, form).await
    }

    async fn id_jag(
        &self,
        prepared: &Prepared,
        id_jag: &IdJag,
    ) -> Result<Secret<String>, OAuthError> {
        let what = "the identity token";
        let id_token = id_jag.id_token.get().await;
        let id_token = id_token.ok_or(OAuthError::NoAssertion { what })?;
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
            repeat_until: None,
        };
        let now = self.clock.wall();
        let document = endpoint.ask_document(&self.wire, form, now).await?;
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
        let found = server_metadata(&reader, &self.settings, issuer).await?;
        found.ok_or_else(|| OAuthError::NoMetadata {
            issuer: shown(issuer),
        })
    }

    async fn unattended(&self, prepared: &Prepared, form: Form) -> Result<Obtained, OAuthError> {
        let scopes = prepared.scopes.to_parameter();
        let form = form
            .with_some("scope", scopes.as_deref())
            .with_some("resource", prepared.resource.as_deref());
        loop {
            let client = self.client_without_redirect(prepared).await?;
            let endpoint = Self::endpoint(prepared, &client)?;
            let asked = endpoint.ask(&self.wire, form.clone(), self.clock.wall());
            match asked.await {
                Err(error) if self.forgot(prepared, &client, &error).await? => {}
                issued => {
                    let issued = issued?;
                    return Ok(Obtained { client, issued });
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
    ) -> Result<Client, OAuthError> {
        let server = &prepared.found.server;
        if let Some(client) = self.given_client(server).await? {
            return Ok(client);
        }
        let kept = self.registered_clients.get(&server.issuer).await;
        if let Some(kept) = kept.filter(|kept| kept.redirect_uri.is_none()) {
            return Ok(kept.client(Origin::Stored));
        }
        let registration = register(&self.wire, &self.settings, server, None).await?;
        self.registered_clients
            .put(&server.issuer, &registration)
            .await?;
        Ok(registration.client(Origin::Registered))
    }
}

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
