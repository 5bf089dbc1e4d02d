//! The sign-in at an identity provider, which other sign-ins get the person's ID token from.
//!
//! It is a sign-in like any other, except that the ID token is what is kept of it
//! ([`KeptToken::Identity`](crate::oauth::KeptToken)) and that no server challenges it: it is asked
//! for when an assertion is.

use keyway_secret::Secret;

use super::{Inner, OAuth, PromptPolicy};
use crate::authorizer::Authorizer as _;
use crate::error::{OAuthError, SignInCause};
use crate::oauth::settings::Assertion;
use crate::oauth::sign_in::SignInTrigger;

impl OAuth {
    /// Returns where the ID token of this sign-in comes from: the stored one, renewed if its time is
    /// over. If there is none, the person is asked to sign in, or that is the error.
    #[must_use]
    pub fn identity(&self) -> Assertion {
        let oauth = self.clone();
        Assertion::fallible(move || {
            let oauth = oauth.clone();
            Box::pin(async move { oauth.id_token().await.map(Some) })
        })
    }

    async fn id_token(&self) -> Result<Secret<String>, OAuthError> {
        let found = self.0.owned(|inner| async move { inner.id_token().await });
        let found = self.0.unless_renewal_is_slow(found);
        let found = match self.0.prompt_policy {
            // As for a request: what loses continues in its own task.
            PromptPolicy::AtMost(time) => futures_lite::future::or(found, self.0.late(time)).await,
            _ => found.await,
        };
        // One that ends soon is renewed in the background, for the next assertion.
        drop(self.cached());
        found
    }
}

impl Inner {
    async fn id_token(&self) -> Result<Secret<String>, OAuthError> {
        // What is stored counts, not what is in memory: the person may have signed out elsewhere.
        drop(self.adopted(self.held_generation()).await?);
        drop(self.load().await?);
        if let Some(token) = self.held_token() {
            return Ok(token);
        }
        let cause = self.lock().ended.unwrap_or(SignInCause::Never);
        let trigger = SignInTrigger::default();
        drop(self.sign_in_or_say(cause, &trigger).await?);
        let token = self.held_token();
        token.ok_or_else(|| OAuthError::sign_in_required(SignInCause::Never))
    }

    fn held_token(&self) -> Option<Secret<String>> {
        let memory = self.lock();
        Some(memory.held.as_ref()?.grant.access.clone())
    }
}
