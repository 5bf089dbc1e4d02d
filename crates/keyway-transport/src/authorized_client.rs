//! HTTP requests to one configured server, with its credential.
//!
//! What becomes of a request:
//!
//! ```text
//! send ─┬─ response ──────────────────────────────────────────────▶ returned
//!       ├─ 401, 403 ─▶ authorizer ─┬─ better credential ──────────▶ send, 4 times at most
//!       │                          └─ none ───────────────────────▶ Refused
//!       ├─ 503 to a request that opens a connection ─▶ wait ──────▶ send, 3 times in all
//!       ├─ lost: nothing was sent, or it is idempotent ─▶ wait ───▶ send, 3 times in all
//!       └─ lost: sent, and not idempotent ────────────────────────▶ ResponseLost
//! ```

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, UPGRADE,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use keyway_auth::{Authorizer, Challenge, Credential, Verdict};
use keyway_secret::Secret;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::challenge::refusal;
use crate::error::TransportError;
use crate::http_client::{HttpClient, Request, Response, Retry, SendError};
use crate::timeouts::{CONNECT_LIMIT, MAX_HOLD};

/// Sends HTTP requests to one server with the credential of an [`Authorizer`].
///
/// The credential goes to the origin of the server and nowhere else: not along a redirect, and not
/// with a request to another origin. A refusal (401, 403) is decided by the authorizer, and the
/// request is sent again with what that returns.
#[derive(Debug)]
pub struct AuthorizedClient {
    client: HttpClient,
    url: Url,
    authorizer: Arc<dyn Authorizer>,
    /// What the server answered when it asked to be left alone, and until when.
    /// Held for one look or one change, never across an await.
    held: Mutex<Option<(u16, Instant)>>,
}

impl AuthorizedClient {
    /// Prepares a client for the origin of `url`; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`] if `url` cannot be
    /// used.
    pub fn new(
        client: &HttpClient,
        url: &Secret<String>,
        authorizer: Arc<dyn Authorizer>,
    ) -> Result<Self, TransportError> {
        let url = client.endpoint(url)?;
        Ok(Self::for_url(client.clone(), url, authorizer))
    }

    pub(crate) const fn for_url(
        client: HttpClient,
        url: Url,
        authorizer: Arc<dyn Authorizer>,
    ) -> Self {
        Self {
            client,
            url,
            authorizer,
            held: Mutex::new(None),
        }
    }

    /// Sends a request with the credential, and returns the head of the response.
    ///
    /// The URI is a path, or a whole URL in the origin of the server. Of each header, one value is
    /// sent; `Authorization` and the headers that frame the message are replaced. Only `GET`, `HEAD`
    /// and `OPTIONS` are sent again if the connection is lost.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] for a URI in another origin,
    /// [`TransportError::Refused`] if no credential is accepted, and
    /// [`TransportError::ResponseLost`] if the request may have been carried out.
    ///
    /// Cancel safety: dropping the future closes the connection; the request may have been sent.
    pub async fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<ResponseBody>, TransportError> {
        let (head, body) = request.into_parts();
        let url = self.resolve(&head.uri)?;
        let headers: Vec<_> = head
            .headers
            .iter()
            .filter(|(name, _)| !OWN_HEADERS.contains(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let is_idempotent = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let outbound = OutboundRequest {
            method: head.method,
            url: &url,
            headers: &headers,
            body,
            is_idempotent,
            is_opening: false,
        };
        let response = self.call(&outbound).await?;
        let mut shown = http::Response::new(());
        *shown.status_mut() = http::StatusCode::from_u16(response.status()).unwrap_or_default();
        *shown.headers_mut() = response.headers().clone();
        Ok(shown.map(|()| ResponseBody(response)))
    }

    /// Returns the URL that a request is for, if it is in the origin of the server.
    fn resolve(&self, uri: &Uri) -> Result<Url, TransportError> {
        let what = "the request is for another origin than the server's";
        let elsewhere = || TransportError::Settings { what };
        let url = self.url.join(&uri.to_string()).map_err(|_| elsewhere())?;
        let is_ours = url.origin() == self.url.origin()
            && url.username().is_empty()
            && url.password().is_none();
        is_ours.then_some(url).ok_or_else(elsewhere)
    }

    /// Returns the configured address.
    pub(crate) const fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the origin, which may be shown.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Sends a request with the credential; after a refusal asks the authorizer, and sends it again
    /// while that has something better.
    ///
    /// 401 and 403 say that the request was not carried out, so it cannot run twice. The response
    /// has any status but 401 and 403.
    pub(crate) async fn call(
        &self,
        request: &OutboundRequest<'_>,
    ) -> Result<Response, TransportError> {
        if request.is_opening {
            self.check_hold()?;
        }
        let mut credential = match self.authorizer.cached() {
            Some(credential) => credential,
            None => self.authorizer.obtain().await?,
        };
        let mut attempt = 1;
        loop {
            let response = self.send_retrying(request, &credential).await?;
            if !matches!(response.status(), 401 | 403) {
                return Ok(response);
            }
            // Boxed because it is rare, and the task of every call would be as large.
            credential = Box::pin(self.ask(response, &credential, attempt)).await?;
            attempt += 1;
        }
    }

    /// Sends a request once with the credential; a refusal is a response like any other.
    pub(crate) async fn call_once(
        &self,
        request: &OutboundRequest<'_>,
    ) -> Result<Response, TransportError> {
        let credential = match self.authorizer.cached() {
            Some(credential) => credential,
            None => self.authorizer.obtain().await?,
        };
        self.send_retrying(request, &credential).await
    }

    /// Returns a better credential than the one that was refused, if there is one.
    async fn ask(
        &self,
        response: Response,
        used: &Credential,
        attempt: u32,
    ) -> Result<Arc<Credential>, TransportError> {
        let status = response.status();
        let values = response.headers().get_all(WWW_AUTHENTICATE);
        let values: Vec<HeaderValue> = values.iter().cloned().collect();
        let dpop_nonce = response.headers().get(DPOP_NONCE).cloned();
        response.finish().await;
        if attempt > MAX_CHALLENGES {
            return Err(refusal(status, &values));
        }
        let mut challenge = Challenge::new(status);
        challenge.www_authenticate.clone_from(&values);
        challenge.dpop_nonce = dpop_nonce;
        challenge.attempt = attempt;
        match self.authorizer.challenged(used, challenge).await? {
            Verdict::Retry(better) => Ok(better),
            _ => Err(refusal(status, &values)),
        }
    }

    /// Sends a request, again while that is safe.
    async fn send_retrying(
        &self,
        request: &OutboundRequest<'_>,
        credential: &Credential,
    ) -> Result<Response, TransportError> {
        let mut tries = 1;
        let mut started = None;
        loop {
            let message = Request {
                method: request.method.clone(),
                url: request.url,
                headers: || request.headers_with(credential),
                body: request.body.clone(),
            };
            let failed = match self.client.send(message).await {
                Ok(response) => {
                    let is_last = tries == MAX_TRIES;
                    match self.note_status(request, response, is_last) {
                        Ok(response) => return Ok(response),
                        Err(unavailable) => unavailable.finish().await,
                    }
                    None
                }
                Err(failed) => Some(failed),
            };
            // Read after the first failure only: most requests need no clock.
            let started = *started.get_or_insert_with(Instant::now);
            if let Some(failed) = failed {
                let may_repeat = match failed.retry {
                    Retry::Safe => true,
                    Retry::IfIdempotent => request.is_idempotent,
                    Retry::Never => false,
                };
                if !may_repeat || tries == MAX_TRIES || started.elapsed() > CONNECT_LIMIT {
                    return Err(request.lost(failed));
                }
            }
            sleep(backoff(tries)).await;
            tries += 1;
        }
    }

    /// Remembers what a server that is overloaded asks for. Gives a response back as an error if
    /// the request is to be sent again.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the response that is thrown away"
    )]
    fn note_status(
        &self,
        request: &OutboundRequest<'_>,
        response: Response,
        is_last: bool,
    ) -> Result<Response, Response> {
        let status = response.status();
        if !matches!(status, 429 | 503) {
            return Ok(response);
        }
        if let Some(seconds) = response.retry_after().filter(|seconds| *seconds > 0) {
            let until = Instant::now() + Duration::from_secs(seconds).min(MAX_HOLD);
            // A response to another request may come in between; the later one counts.
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some((status, until));
            return Ok(response);
        }
        match status == 503 && request.is_opening && !is_last {
            true => Err(response),
            false => Ok(response),
        }
    }

    /// Fails while the server wants to be left alone: what opens a connection waits for its time.
    fn check_hold(&self) -> Result<(), TransportError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((status, until)) = *held else {
            return Ok(());
        };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            *held = None;
            return Ok(());
        }
        Err(TransportError::Status {
            status,
            retry_after: Some(left.as_secs() + 1),
        })
    }
}

/// The body of a response, read piece by piece or as a whole.
#[derive(Debug)]
pub struct ResponseBody(Response);

impl ResponseBody {
    /// Waits for the next piece; `None` is the end.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Closed`] if the connection is lost.
    ///
    /// Cancel safety: cancel safe; no piece is lost.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        self.0.chunk().await
    }

    /// Reads all of it.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Frame`] above `limit` bytes, and [`TransportError::Closed`] if the
    /// connection is lost.
    ///
    /// Cancel safety: what was read so far is lost; the connection is not used again.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, TransportError> {
        self.0.collect(limit).await
    }
}

/// One request to a server.
#[derive(Debug)]
pub(crate) struct OutboundRequest<'a> {
    pub(crate) method: Method,
    /// In the origin of the server.
    pub(crate) url: &'a Url,
    /// The transport's own headers, which win over the credential's.
    pub(crate) headers: &'a [(HeaderName, HeaderValue)],
    pub(crate) body: Bytes,
    /// A list, a read or a discovery, which does no harm if it arrives twice.
    pub(crate) is_idempotent: bool,
    /// Opens a connection or a session: a server that answers 503 has not begun one.
    pub(crate) is_opening: bool,
}

impl OutboundRequest<'_> {
    fn headers_with(&self, credential: &Credential) -> HeaderMap {
        let own = credential.expose();
        let mut headers = HeaderMap::with_capacity(own.len() + self.headers.len() + 4);
        // A body that is not compressed cannot expand beyond its limit.
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        for (name, value) in own.iter().chain(self.headers) {
            headers.insert(name, value.clone());
        }
        headers.extend(credential.proof_for(&self.method, self.url));
        headers
    }

    /// Returns why there is no response, and says so if the request may have been carried out.
    fn lost(&self, failed: SendError) -> TransportError {
        let may_have_run = failed.may_have_arrived && !self.is_idempotent && !self.is_opening;
        match failed.error {
            TransportError::Unreachable { source, .. }
                if may_have_run && failed.retry == Retry::IfIdempotent =>
            {
                TransportError::ResponseLost {
                    source: Some(source),
                }
            }
            error => error,
        }
    }
}

/// Says whether a request does no harm if it arrives twice: lists, reads, pings, discovery.
pub(crate) fn is_idempotent(method: &str) -> bool {
    method.ends_with("/list") || matches!(method, "ping" | DISCOVER | "resources/read")
}

/// Returns a time between half and all of 200 ms, doubled with each try.
fn backoff(tries: u32) -> Duration {
    let full = 200_u64 << tries.min(8).saturating_sub(1);
    let random = RandomState::new().build_hasher().finish();
    Duration::from_millis(full / 2 + random % (full / 2 + 1))
}

/// The request that opens a conversation since 2026-07-28.
pub(crate) const DISCOVER: &str = "server/discover";
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
/// What a host does not choose: the credential, and how a message is framed.
const OWN_HEADERS: &[HeaderName] = &[
    AUTHORIZATION,
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TRANSFER_ENCODING,
    UPGRADE,
];
const MAX_TRIES: u32 = 3;
/// Three for more scopes, one for a nonce.
const MAX_CHALLENGES: u32 = 4;

#[cfg(test)]
mod tests;
