//! A sign-in without its end: everything that can fail before a person is asked.

use super::SignInTrigger;
use crate::error::{OAuthError, shown};
use crate::oauth::engine::OAuthEngine;
use crate::oauth::metadata::{Pkce, ServerMetadata};
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::settings::{Endpoints, GrantKind};

impl OAuthEngine {
    /// Finds out whether a sign-in could begin; nothing is registered, asked or kept.
    pub(in crate::oauth) async fn dry_run(
        &self,
        trigger: &SignInTrigger,
    ) -> Result<(), OAuthError> {
        let reader = self.metadata.reader(CachePolicy::NoStore);
        let prepared = self.prepare(&reader, trigger).await?;
        self.could_begin(&prepared.found.server).await
    }

    /// The same, where endpoints that nobody named do not count as an offer.
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
        })
    }
}
