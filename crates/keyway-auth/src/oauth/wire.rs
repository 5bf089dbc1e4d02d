//! Requests to authorization servers: which answer counts as a document, and which as a refusal.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use keyway_secret::{Clock, Secret};
use url::{Url, form_urlencoded};

use super::cache_lifetime::lifetime;
use super::exchange::exchange;
use crate::document::Document;
use crate::error::{OAuthError, Refusal, RequestTarget, shown};
use crate::observer::{ServerObserver, Topic};
use crate::ports::{
    CarriedExchange, Hold, HttpClient, HttpFailure, HttpRequest, HttpResponse, Tasks,
};
use crate::retry_after::retry_after;

/// Sends the requests of one sign-in.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    client: Arc<dyn HttpClient>,
    clock: Arc<dyn Clock>,
    tasks: Arc<dyn Tasks>,
    observer: ServerObserver,
    carrier: Option<Carrier>,
}

/// What requests to the token endpoint go through, so that their answers outlive this process.
#[derive(Debug, Clone)]
struct Carrier {
    exchange: Arc<dyn CarriedExchange>,
    /// What is stored with the tokens if this process does not live to do it.
    details: Secret<Vec<u8>>,
}

impl Wire {
    pub(super) fn new(
        client: Arc<dyn HttpClient>,
        clock: Arc<dyn Clock>,
        tasks: Arc<dyn Tasks>,
        observer: ServerObserver,
    ) -> Self {
        Self {
            client,
            clock,
            tasks,
            observer,
            carrier: None,
        }
    }

    /// Sends requests to the token endpoint through a carrier.
    pub(super) fn carried_by(
        &self,
        exchange: Arc<dyn CarriedExchange>,
        details: Secret<Vec<u8>>,
    ) -> Self {
        Self {
            carrier: Some(Carrier { exchange, details }),
            ..self.clone()
        }
    }

    /// Begins something that the process should not end in the middle of.
    pub(super) fn hold(&self) -> Hold {
        self.tasks.hold()
    }

    /// Returns the time by which durations are measured.
    pub(super) fn monotonic(&self) -> Instant {
        self.clock.monotonic()
    }

    /// Returns the time of day by which answers are judged.
    pub(super) fn now(&self) -> SystemTime {
        self.clock.wall()
    }

    /// Asks for a document; `None` if there is none at this address.
    pub(super) async fn document(
        &self,
        what: RequestTarget,
        url: Url,
    ) -> Result<Option<Fetched>, OAuthError> {
        let mut request = HttpRequest::get(url);
        request.headers.insert(ACCEPT, JSON);
        let response = self.send(what, request).await?;
        match response.status {
            200 => match Document::parse(response.body.expose()) {
                Ok(document) => Ok(Some(Fetched {
                    document,
                    lifetime: lifetime(&response.headers),
                    body: response.body,
                })),
                Err(error) => Err(OAuthError::Document { what, error }),
            },
            // A server that limits requests may still have the document.
            408 | 429 => Err(self.status_error(what, &response)),
            // Servers without such a document say so in many ways, a login page included.
            300..=499 => Ok(None),
            _ => Err(self.status_error(what, &response)),
        }
    }

    /// Reads an answer of an endpoint that refuses with a JSON document (RFC 6749 section 5.2).
    ///
    /// Some providers refuse with status 200; a document with `error` is a refusal whatever its
    /// status.
    pub(super) fn answer(
        &self,
        what: RequestTarget,
        response: &HttpResponse,
    ) -> Result<Answer, OAuthError> {
        let is_success = (200..300).contains(&response.status);
        let document = match Document::parse(response.body.expose()) {
            Ok(document) => document,
            Err(error) if is_success => return Err(OAuthError::Document { what, error }),
            Err(_) => return Err(self.status_error(what, response)),
        };
        if let Some(mut refusal) = refusal(&document) {
            refusal.status = Some(response.status);
            // A server that fails is not a server that says no.
            let is_trouble = matches!(response.status, 408 | 429 | 500..=599)
                || matches!(
                    refusal.code.as_str(),
                    "temporarily_unavailable" | "server_error"
                );
            if is_trouble && refusal.code != "invalid_grant" {
                return Err(self.status_error(what, response));
            }
            // Nor is a server that has nothing at this address; its text for that is not an OAuth
            // error code.
            let is_absent =
                matches!(response.status, 404 | 405 | 410) && !refusal.code.contains('_');
            if is_absent {
                return Err(self.status_error(what, response));
            }
            return Ok(Answer::Refused(refusal));
        }
        if is_success {
            Ok(Answer::Document(document))
        } else {
            Err(self.status_error(what, response))
        }
    }

    fn status_error(&self, what: RequestTarget, response: &HttpResponse) -> OAuthError {
        OAuthError::Status {
            what,
            status: response.status,
            retry_after: retry_after(&response.headers, Some(self.now())),
        }
    }

    /// Posts a form and returns the answer, whatever its status.
    pub(super) async fn form(
        &self,
        what: RequestTarget,
        url: &Url,
        form: Form,
    ) -> Result<HttpResponse, OAuthError> {
        let mut request = HttpRequest::post(url.clone(), form.encode());
        request.headers = form.headers;
        request.headers.insert(ACCEPT, JSON);
        request.headers.insert(CONTENT_TYPE, FORM);
        self.send(what, request).await
    }

    /// Posts a JSON document and returns the answer, whatever its status.
    pub(super) async fn json(
        &self,
        what: RequestTarget,
        url: &Url,
        body: &serde_json::Value,
    ) -> Result<HttpResponse, OAuthError> {
        let body = Secret::new(body.to_string().into_bytes());
        let mut request = HttpRequest::post(url.clone(), body);
        request.headers.insert(ACCEPT, JSON);
        request.headers.insert(CONTENT_TYPE, JSON);
        self.send(what, request).await
    }

    /// Sends a request that is not part of OAuth.
    pub(super) async fn raw(&self, request: HttpRequest) -> Result<HttpResponse, HttpFailure> {
        let asked = self.asked("a request without a token", &request);
        let answer = self.client.send(request).await;
        self.answered(asked, &answer);
        answer
    }

    async fn send(
        &self,
        what: RequestTarget,
        request: HttpRequest,
    ) -> Result<HttpResponse, OAuthError> {
        let asked = self.asked(&what.to_string(), &request);
        let answer = match what {
            RequestTarget::Token => self.exchange(request).await,
            _ => self.client.send(request).await,
        };
        self.answered(asked, &answer);
        answer.map_err(|failure| OAuthError::Http { what, failure })
    }

    /// Sends a request to the token endpoint: by the carrier, which counts the time itself, or from
    /// here.
    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, HttpFailure> {
        match &self.carrier {
            Some(carrier) => {
                carrier
                    .exchange
                    .send(carrier.details.clone(), request)
                    .await
            }
            None => exchange(&*self.client, &*self.tasks, request).await,
        }
    }

    /// Notes what is asked for, and when; `None` without a listener.
    fn asked(&self, what: &str, request: &HttpRequest) -> Option<(String, Instant)> {
        if !self.observer.is_on() {
            return None;
        }
        let (method, origin) = (&request.method, request.url.origin());
        let what = format!("{what}: {method} {}", origin.ascii_serialization());
        Some((what, self.clock.monotonic()))
    }

    fn answered(
        &self,
        asked: Option<(String, Instant)>,
        answer: &Result<HttpResponse, HttpFailure>,
    ) {
        let Some((what, started)) = asked else { return };
        self.observer.note(Topic::OAuth, || {
            let took = self.clock.monotonic().saturating_duration_since(started);
            let came = match answer {
                Ok(response) => format!("HTTP {}", response.status),
                Err(failure) => failure.to_string(),
            };
            format!("{what}, {came} after {} ms", took.as_millis())
        });
    }
}

/// A document that has just arrived.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) document: Document,
    /// As it was sent.
    pub(super) body: Secret<Vec<u8>>,
    /// How long its server lets it be kept.
    pub(super) lifetime: Duration,
}

/// A form to be posted, with headers of its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Form {
    fields: Vec<(&'static str, Secret<String>)>,
    pub(super) headers: HeaderMap,
}

impl Form {
    pub(super) fn new(grant_type: &str) -> Self {
        Self::default().with("grant_type", grant_type)
    }

    pub(super) fn with(self, name: &'static str, value: &str) -> Self {
        self.with_secret(name, &Secret::new(value.to_owned()))
    }

    pub(super) fn with_some(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn with_secret(mut self, name: &'static str, value: &Secret<String>) -> Self {
        self.fields.push((name, value.clone()));
        self
    }

    fn encode(&self) -> Secret<Vec<u8>> {
        let mut text = form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.fields {
            text.append_pair(name, value.expose());
        }
        Secret::new(text.finish().into_bytes())
    }
}

/// What an endpoint answered.
#[derive(Debug)]
pub(super) enum Answer {
    Document(Document),
    Refused(Refusal),
}

fn refusal(document: &Document) -> Option<Refusal> {
    let code = document.text("error").ok().flatten()?;
    let description = document.text("error_description").ok().flatten();
    Some(refusal_of(code, description))
}

/// Makes a refusal fit to be shown.
pub(super) fn refusal_of(code: &str, description: Option<&str>) -> Refusal {
    Refusal {
        code: shown(code),
        description: description.map(shown),
        status: None,
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
