//! Whether a server that is reached with a fixed credential could use OAuth.

use keyway_auth::AuthError;
use keyway_auth::oauth::OAuthError;
use keyway_config::method::Method;
use keyway_config::resolve::SpecEndpoint;

use super::Host;
use crate::connect::Target;

impl Host {
    /// Finds out whether a server offers a sign-in by OAuth that would work: it is asked without any
    /// header of the entry's, and nothing is registered or kept.
    ///
    /// # Errors
    ///
    /// Returns what a sign-in would fail with; [`OAuthError::NotOffered`] for a server that is
    /// started here, or reached by WebSocket.
    pub(super) async fn offers_oauth(&self, target: Target<'_>) -> Result<(), AuthError> {
        let mut bare = target.spec.clone();
        bare.method = Method::OAuth;
        let SpecEndpoint::Remote(remote) = &mut bare.endpoint else {
            return Err(OAuthError::NotOffered.into());
        };
        remote.headers.clear();
        remote.helper = None;
        if !bare.transport.supports_oauth() {
            return Err(OAuthError::NotOffered.into());
        }
        let target = Target {
            spec: &bare,
            ..target
        };
        match self.oauth(target) {
            Some(oauth) => oauth.offered().await,
            None => Err(OAuthError::NotOffered.into()),
        }
    }
}
