//! A sign-in without its end: everything that can fail before a person is asked.

use super::SignInTrigger;
use crate::error::{OAuthError, shown};
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::{Pkce, ServerMetadata};
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::redirect_address::{redirect_uri, to_register};
use crate::oauth::settings::{Endpoints, GrantKind};

/// What a sign-in would ask for, and which issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignInPreview {
    /// The authorization server.
    pub issuer: String,
    /// The client; none if one would be registered.
    pub client: Option<String>,
    /// The address that the browser would come back to, with `PORT` for any free port; none where
    /// no browser is involved.
    pub redirect_uri: Option<String>,
    /// What would be asked for.
    pub scopes: Vec<String>,
    /// What the tokens would be for (RFC 8707).
    pub resource: Option<String>,
}

impl OAuthEngine {
    /// Finds out whether a sign-in could begin; nothing is registered, asked or kept.
    pub(in crate::oauth) async fn dry_run(
        &self,
        trigger: &SignInTrigger,
    ) -> Result<SignInPreview, OAuthError> {
        let reader = self.metadata.reader(CachePolicy::NoStore);
        let prepared = self.prepare(&reader, trigger).await?;
        let server = &prepared.found.server;
        self.could_begin(server).await?;
        let configured = redirect_uri(&self.settings.redirect);
        let (client, redirect_uri) = match self.given_client(server).await? {
            Some(client) => (Some(client.id), configured),
            // One that was registered before keeps its address, port included.
            None => match self.registered_clients.get(&server.issuer).await {
                Some(known) => (
                    Some(known.client_id),
                    known.redirect_uri.unwrap_or(configured),
                ),
                None => (None, configured),
            },
        };
        let needs_redirect = matches!(self.settings.grant, GrantKind::AuthorizationCode);
        Ok(SignInPreview {
            issuer: shown(&server.issuer),
            client: client.as_deref().map(shown),
            redirect_uri: needs_redirect.then(|| shown(&redirect_uri)),
            scopes: prepared.scopes.as_slice().to_vec(),
            resource: prepared.resource.as_deref().map(shown),
        })
    }

    /// The same, where default endpoints, named by no document or setting, are not an offer.
    pub(in crate::oauth) async fn offered(
        &self,
        trigger: &SignInTrigger,
    ) -> Result<(), OAuthError> {
        let reader = self.metadata.reader(CachePolicy::NoStore);
        let prepared = self.prepare(&reader, trigger).await?;
        let server = &prepared.found.server;
        let is_named = !matches!(self.settings.endpoints, Endpoints::Discovered);
        if server.pkce == Pkce::NoDocument && !is_named {
            return Err(OAuthError::NotOffered);
        }
        self.could_begin(server).await
    }

    async fn could_begin(&self, server: &ServerMetadata) -> Result<(), OAuthError> {
        if matches!(self.settings.grant, GrantKind::AuthorizationCode) {
            self.check_sign_in_by_code(server)?;
        }
        if self.given_client(server).await?.is_some()
            || self.registered_clients.get(&server.issuer).await.is_some()
            || server.registration_endpoint.is_some()
        {
            return Ok(());
        }
        Err(OAuthError::NoRegistration {
            issuer: shown(&server.issuer),
            redirect: to_register(&self.settings.redirect),
        })
    }
}
