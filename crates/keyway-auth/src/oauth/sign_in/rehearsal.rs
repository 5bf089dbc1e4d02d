//! A sign-in without its end: everything that can fail before a person is asked.

use super::Occasion;
use crate::oauth::core::Core;
use crate::oauth::error::{OAuthError, shown};
use crate::oauth::library::{Reader, Trust};
use crate::oauth::metadata::{Pkce, ServerMetadata};
use crate::oauth::settings::{Endpoints, GrantKind};

impl Core {
    /// Finds out whether a sign-in could begin; nothing is registered, asked or kept.
    pub(in crate::oauth) async fn rehearse(&self, occasion: &Occasion) -> Result<(), OAuthError> {
        let reader = Reader::new(self, Trust::Glance);
        let prepared = self.prepare(&reader, occasion).await?;
        self.could_begin(&prepared.found.server).await
    }

    /// The same, where endpoints that nobody named do not count as an offer.
    pub(in crate::oauth) async fn offered(&self, occasion: &Occasion) -> Result<(), OAuthError> {
        let reader = Reader::new(self, Trust::Glance);
        let prepared = self.prepare(&reader, occasion).await?;
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
            || self.registration(&server.issuer).await.is_some()
            || server.registration_endpoint.is_some()
        {
            return Ok(());
        }
        Err(OAuthError::NoRegistration {
            issuer: shown(&server.issuer),
        })
    }
}
