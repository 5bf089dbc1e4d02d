//! A sign-in in two steps, of which another process may take the second.

use keyway_secret::Secret;
use url::Url;

use super::OAuth;
use crate::error::AuthError;
use crate::oauth::sign_in::BegunSignIn;
use crate::ports::Callback;

impl OAuth {
    /// Makes a consent page that leads back to `redirect`, an address of the caller's own, or to one
    /// below it. Nothing is stored but a registration.
    ///
    /// # Errors
    ///
    /// Returns why there is no page: the server offers none, or knows no client for this address.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn begin_sign_in(&self, redirect: Url) -> Result<BegunSignIn, AuthError> {
        let begun = self.0.owned(move |inner| async move {
            let trigger = inner.trigger().await;
            inner.engine.begin_sign_in(&trigger, &redirect).await
        });
        begun.await.map_err(AuthError::from)
    }

    /// Redeems the answer of a page that [`Self::begin_sign_in`] made, here or in another process,
    /// and stores the sign-in. The caller has compared the state, and uses each answer once.
    ///
    /// # Errors
    ///
    /// Returns why there is no token; an earlier sign-in stays as it was.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn finish_sign_in(
        &self,
        resume: Secret<Vec<u8>>,
        callback: Callback,
    ) -> Result<(), AuthError> {
        let finished = self.0.owned(move |inner| async move {
            inner.lock().forgive();
            let finishing = inner.engine.finish_sign_in(&resume, callback);
            inner.enter_by(Box::pin(finishing)).await.map(drop)
        });
        finished.await.map_err(AuthError::from)
    }
}
