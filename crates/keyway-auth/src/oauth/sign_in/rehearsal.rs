//! A sign-in without its end: everything that can fail before a person is asked.

use super::Occasion;
use crate::oauth::core::Core;
use crate::oauth::error::{OAuthError, shown};
use crate::oauth::settings::GrantKind;

impl Core {
    /// Finds out whether a sign-in could begin; nothing is registered, asked or kept.
    pub(in crate::oauth) async fn rehearse(&self, occasion: &Occasion) -> Result<(), OAuthError> {
        let prepared = self.prepare(occasion).await?;
        let server = &prepared.found.server;
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
