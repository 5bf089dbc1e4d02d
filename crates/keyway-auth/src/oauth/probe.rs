//! Asking a server how it wants to be signed in to, before it has refused anything.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use keyway_secret::Secret;

use super::engine::OAuthEngine;
use super::scope::Scopes;
use super::sign_in::SignInTrigger;
use crate::challenge::{AuthChallenge, parse_challenges, token_challenge};
use crate::ports::{HttpRequest, HttpResponse};
use crate::timeouts::STREAM_PROBE_TIMEOUT;

impl OAuthEngine {
    /// Sends a request without a credential, and reads the challenge out of its refusal.
    ///
    /// If anything else happens, the server's metadata is looked for all the same.
    pub(super) async fn probe(&self, fixed: &[(HeaderName, HeaderValue)]) -> SignInTrigger {
        match self.challenges(fixed).await {
            Some(told) => trigger(token_challenge(&parse_challenges(&told))),
            None => SignInTrigger::default(),
        }
    }

    /// Says whether the server refuses a request without a credential.
    pub(super) async fn is_challenged(&self, fixed: &[(HeaderName, HeaderValue)]) -> bool {
        self.challenges(fixed).await.is_some()
    }

    /// Says whether the server answers without a credential.
    pub(super) async fn is_open(&self, fixed: &[(HeaderName, HeaderValue)]) -> bool {
        match self.answer(fixed).await {
            Some(response) if matches!(response.status, 404 | 405) => {
                // An HTTP+SSE server takes no POST at this address, with or without a credential;
                // only its stream tells. An open stream does not end, so no answer in time is one.
                let refused = |response: &HttpResponse| matches!(response.status, 401 | 403);
                !self.stream(fixed).await.as_ref().is_some_and(refused)
            }
            // 400 and the like: the server read the request, and knows no such method or session.
            Some(response) => matches!(response.status, 200..=299 | 400 | 406 | 415 | 422),
            None => false,
        }
    }

    /// Returns the challenges with which the request is refused; none if it is not.
    async fn challenges(&self, fixed: &[(HeaderName, HeaderValue)]) -> Option<Vec<HeaderValue>> {
        let mut response = self.answer(fixed).await?;
        if matches!(response.status, 404 | 405) {
            response = self.stream(fixed).await?;
        }
        if !matches!(response.status, 401 | 403) {
            return None;
        }
        let told = response.headers.get_all(WWW_AUTHENTICATE);
        Some(told.iter().cloned().collect())
    }

    /// Asks for the stream of an HTTP+SSE server.
    async fn stream(&self, fixed: &[(HeaderName, HeaderValue)]) -> Option<HttpResponse> {
        let mut request = HttpRequest::get(self.server.url.clone());
        for (name, value) in fixed {
            request.headers.insert(name, value.clone());
        }
        request.headers.insert(ACCEPT, EVENTS);
        // An open stream answers with its head and continues; one that stays silent refuses
        // nothing. A client waits meanwhile, so this ends well before the client's own timeout.
        let answered = async { self.wire.raw(request).await.ok() };
        let late = async {
            self.tasks.sleep(STREAM_PROBE_TIMEOUT).await;
            None
        };
        futures_lite::future::or(answered, late).await
    }

    /// Sends `server/discover`: it opens no session, unlike `initialize`, and a server of an earlier
    /// version refuses it without a side effect.
    async fn answer(&self, fixed: &[(HeaderName, HeaderValue)]) -> Option<HttpResponse> {
        let body = Secret::new(DISCOVER.as_bytes().to_vec());
        let mut request = HttpRequest::post(self.server.url.clone(), body);
        for (name, value) in fixed {
            request.headers.insert(name, value.clone());
        }
        request.headers.insert(ACCEPT, JSON_OR_EVENTS);
        request.headers.insert(CONTENT_TYPE, JSON);
        request.headers.insert(PROTOCOL_VERSION, VERSION);
        request.headers.insert(METHOD, METHOD_NAME);
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

const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"keyway","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const VERSION: HeaderValue = HeaderValue::from_static("2026-07-28");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const METHOD_NAME: HeaderValue = HeaderValue::from_static("server/discover");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
