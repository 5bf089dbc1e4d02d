//! One server as seen by a transport over HTTP: its address, its credential, and the rules for
//! sending a request once, again, or not at all.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use keyway_auth::{Authorizer, Challenge, Credential, Verdict};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::challenge::refusal;
use crate::error::TransportError;
use crate::http_client::{HttpClient, Request, Response, Retry, SendError};

/// A configured server. Its credential goes to its origin and nowhere else.
#[derive(Debug)]
pub(crate) struct AuthorizedClient {
    client: HttpClient,
    url: Url,
    authorizer: Arc<dyn Authorizer>,
}

impl AuthorizedClient {
    pub(crate) const fn new(client: HttpClient, url: Url, authorizer: Arc<dyn Authorizer>) -> Self {
        Self {
            client,
            url,
            authorizer,
        }
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
    /// 401 and 403 say that the request was not carried out, so it cannot run twice. The answer has any status but 401 and 403.
    pub(crate) async fn call(
        &self,
        call: &OutboundRequest<'_>,
    ) -> Result<Response, TransportError> {
        let mut credential = match self.authorizer.cached() {
            Some(credential) => credential,
            None => self.authorizer.obtain().await?,
        };
        let mut attempt = 1;
        loop {
            let response = self.send(call, &credential).await?;
            if !matches!(response.status(), 401 | 403) {
                return Ok(response);
            }
            // Boxed because it is rare, and the task of every call would be as large.
            credential = Box::pin(self.ask(response, &credential, attempt)).await?;
            attempt += 1;
        }
    }

    /// Sends a request once with the credential; a refusal is an answer like any other, and asks
    /// nobody for anything.
    pub(crate) async fn part(
        &self,
        call: &OutboundRequest<'_>,
    ) -> Result<Response, TransportError> {
        let credential = match self.authorizer.cached() {
            Some(credential) => credential,
            None => self.authorizer.obtain().await?,
        };
        self.send(call, &credential).await
    }

    /// Returns a better credential than the one that was refused, if there is one.
    async fn ask(
        &self,
        response: Response,
        used: &Credential,
        attempt: u32,
    ) -> Result<Arc<Credential>, TransportError> {
        let status = response.status();
        let told = response.headers().get_all(WWW_AUTHENTICATE);
        let told: Vec<HeaderValue> = told.iter().cloned().collect();
        let dpop_nonce = response.headers().get(DPOP_NONCE).cloned();
        response.finish().await;
        if attempt > MAX_CHALLENGES {
            return Err(refusal(status, &told));
        }
        let challenge = Challenge {
            status,
            www_authenticate: told.clone(),
            dpop_nonce,
            attempt,
        };
        match self.authorizer.challenged(used, challenge).await? {
            Verdict::Retry(better) => Ok(better),
            _ => Err(refusal(status, &told)),
        }
    }

    /// Sends a request, again while nothing of it left, or if it may be repeated.
    async fn send(
        &self,
        call: &OutboundRequest<'_>,
        credential: &Credential,
    ) -> Result<Response, TransportError> {
        let mut tries = 1;
        let mut started = None;
        loop {
            let request = Request {
                method: call.method.clone(),
                url: call.url,
                headers: || call.headers_with(credential),
                body: call.body.clone(),
            };
            let SendError { error, retry, .. } = match self.client.send(request).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            let started = *started.get_or_insert_with(Instant::now);
            let may_repeat = match retry {
                Retry::Safe => true,
                Retry::IfIdempotent => call.is_idempotent,
                Retry::Never => false,
            };
            if !may_repeat || tries == MAX_TRIES || started.elapsed() > CONNECT_TIME {
                return Err(error);
            }
            sleep(backoff(tries)).await;
            tries += 1;
        }
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
}

impl OutboundRequest<'_> {
    fn headers_with(&self, credential: &Credential) -> HeaderMap {
        let own = credential.expose();
        let mut headers = HeaderMap::with_capacity(own.len() + self.headers.len() + 4);
        // What is not compressed cannot explode.
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        for (name, value) in own.iter().chain(self.headers) {
            headers.insert(name, value.clone());
        }
        headers.extend(credential.proof_for(&self.method, self.url));
        headers
    }
}

/// Says whether a request does no harm if it arrives twice: lists, reads, pings, discovery.
pub(crate) fn is_idempotent(method: &str) -> bool {
    method.ends_with("/list") || matches!(method, "ping" | "server/discover" | "resources/read")
}

/// Returns a time between half and all of 200 ms, doubled with each try.
fn backoff(tries: u32) -> Duration {
    let full = 200_u64 << tries.min(8).saturating_sub(1);
    let random = RandomState::new().build_hasher().finish();
    Duration::from_millis(full / 2 + random % (full / 2 + 1))
}

const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
const MAX_TRIES: u32 = 3;
/// Three for more scopes, one for a nonce.
const MAX_CHALLENGES: u32 = 4;
const CONNECT_TIME: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_and_has_jitter() {
        for (tries, range) in [(1, 100..=200), (2, 200..=400), (3, 400..=800)] {
            let times: Vec<_> = (0..50).map(|_| backoff(tries).as_millis()).collect();
            assert!(times.iter().all(|time| range.contains(time)), "{times:?}");
            assert!(times.iter().any(|time| *time != times[0]), "{times:?}");
        }
    }
}
