//! Asking a server how it wants to be signed in to, before it has refused anything.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use keyway_secret::Secret;

use super::engine::OAuthEngine;
use super::scope::Scopes;
use super::sign_in::SignInTrigger;
use crate::challenge::{AuthChallenge, parse_challenges, token_challenge};
use crate::ports::{HttpRequest, HttpResponse};

impl OAuthEngine {
    /// Sends a greeting without a credential, and reads the challenge out of its refusal.
    ///
    /// Whatever else happens is no obstacle: the server's metadata is looked for in any case.
    pub(super) async fn probe(&self, fixed: &[(HeaderName, HeaderValue)]) -> SignInTrigger {
        match self.greet(fixed).await {
            Some(told) => trigger(token_challenge(&parse_challenges(&told))),
            None => SignInTrigger::default(),
        }
    }

    /// Says whether the server refuses a greeting without a credential.
    pub(super) async fn is_challenged(&self, fixed: &[(HeaderName, HeaderValue)]) -> bool {
        self.greet(fixed).await.is_some()
    }

    /// Says whether the server answers a greeting without a credential; whoever speaks HTTP+SSE
    /// answers that it is to be sent elsewhere.
    pub(super) async fn is_welcome(&self, fixed: &[(HeaderName, HeaderValue)]) -> bool {
        let answered = self.answer(fixed).await;
        answered.is_some_and(|response| matches!(response.status, 200..=299 | 405))
    }

    /// Returns the challenges with which the greeting is refused; none if it is not.
    async fn greet(&self, fixed: &[(HeaderName, HeaderValue)]) -> Option<Vec<HeaderValue>> {
        let response = self.answer(fixed).await?;
        if !matches!(response.status, 401 | 403) {
            return None;
        }
        let told = response.headers.get_all(WWW_AUTHENTICATE);
        Some(told.iter().cloned().collect())
    }

    async fn answer(&self, fixed: &[(HeaderName, HeaderValue)]) -> Option<HttpResponse> {
        let body = Secret::new(GREETING.as_bytes().to_vec());
        let mut request = HttpRequest::post(self.server.url.clone(), body);
        for (name, value) in fixed {
            request.headers.insert(name, value.clone());
        }
        request.headers.insert(ACCEPT, JSON_OR_EVENTS);
        request.headers.insert(CONTENT_TYPE, JSON);
        self.wire.raw(request).await.ok()
    }
}

/// Reads out of a challenge what a sign-in needs.
pub(super) fn trigger(told: Option<&AuthChallenge>) -> SignInTrigger {
    let scopes = told.and_then(AuthChallenge::scope);
    SignInTrigger {
        metadata: told
            .and_then(AuthChallenge::resource_metadata)
            .map(str::to_owned),
        scopes: scopes
            .map(|text| Scopes::parse(&text))
            .filter(|all| !all.is_empty()),
        wants_dpop: told.is_some_and(|told| told.scheme() == "dpop"),
        ..SignInTrigger::default()
    }
}

const GREETING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"keyway","version":"1"}}}"#;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
