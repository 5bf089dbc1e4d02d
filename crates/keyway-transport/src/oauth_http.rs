//! Requests to authorization servers: where a peer's word leads, and no further.
//!
//! The addresses come from untrusted documents. So nothing is reached that is less
//! public than the MCP server itself, a secret is posted to one address and never to the next, and
//! every answer is bounded in size and time.

use std::io;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderValue};
use http::{HeaderMap, Method};
use keyway_auth::BoxFuture;
use keyway_auth::ports::{self, Barred, HttpFailure, HttpRequest, HttpResponse, Redirects, Wait};
use keyway_secret::Secret;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

use crate::error::TransportError;
use crate::http_client::{
    AddressPolicy, HttpClient, MAX_REDIRECTS, Request, Response, SendError, redirect_target,
};
use crate::network_cause::{find_cause, is_tls_failure};
use crate::timeouts::{DOCUMENT_TIMEOUT, TOKEN_TIMEOUT};

/// The client for everything that one MCP server leads to during sign-in.
///
/// It shares roots, proxies and the client certificate with the connection to that server, and
/// neither its connections nor its headers.
#[derive(Debug)]
pub struct OAuthHttp {
    client: HttpClient,
    server: Url,
    /// The client for addresses that are public enough, once it is known what that means.
    /// Requests that come together wait for one lookup; if that is dropped, the next request makes
    /// it.
    guarded: OnceCell<HttpClient>,
}

impl OAuthHttp {
    /// Prepares a client for what `server` leads to; nothing is looked up or connected to yet.
    #[must_use]
    pub fn new(client: &HttpClient, server: &Url) -> Self {
        Self {
            client: client.clone(),
            server: server.clone(),
            guarded: OnceCell::new(),
        }
    }

    /// The same for a server of which the person said that it may lead to less public addresses.
    ///
    /// # Errors
    ///
    /// Returns why no client can be made.
    pub fn dangerous_private(client: &HttpClient, server: &Url) -> Result<Self, TransportError> {
        let made = Self::new(client, server);
        let guarded = client.with_policy(AddressPolicy::Configured)?;
        Ok(Self {
            guarded: OnceCell::new_with(Some(guarded)),
            ..made
        })
    }

    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, HttpFailure> {
        let host = host_of(&request.url);
        let client = self.guarded.get_or_try_init(|| self.guard()).await?;
        client.check(&request.url).map_err(|error| {
            let host = host.clone();
            let why = match error {
                TransportError::Forbidden { never: false, .. } => Barred::LessPublic,
                TransportError::Forbidden { .. } => Barred::Never,
                _ => Barred::Unencrypted,
            };
            HttpFailure::Forbidden { host, why }
        })?;
        let mut response = fetch(client, request)
            .await
            .map_err(|failed| failure(&host, &failed))?;
        let body = response.collect(MAX_BODY).await.map_err(|error| {
            let host = host.clone();
            match error {
                TransportError::Frame(_) => HttpFailure::Protocol {
                    host,
                    what: "a body of more than 1 MiB",
                },
                _ => HttpFailure::Unreachable {
                    host,
                    why: "connection lost".to_owned(),
                    sent: true,
                },
            }
        })?;
        let body = Secret::new(Vec::from(body));
        Ok(HttpResponse::new(
            response.status(),
            response.headers().clone(),
            body,
        ))
    }

    /// Finds out how public the MCP server is, and makes the client for what is as public.
    async fn guard(&self) -> Result<HttpClient, HttpFailure> {
        let host = host_of(&self.server);
        let scope = self.client.scope_of(&self.server).await;
        let scope = scope.map_err(|failed| failure(&host, &failed))?;
        let guarded = self.client.with_policy(AddressPolicy::AtLeast(scope));
        guarded.map_err(|error| failure(&host, &SendError::not_sent(error)))
    }
}

impl ports::HttpClient for OAuthHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        Box::pin(async move {
            let limit = match (request.wait, &request.method) {
                (Wait::ByCaller, _) => return self.exchange(&request).await,
                (_, &Method::GET) => DOCUMENT_TIMEOUT,
                _ => TOKEN_TIMEOUT,
            };
            let answer = timeout(limit, self.exchange(&request)).await;
            answer.unwrap_or_else(|_| {
                Err(HttpFailure::Timeout {
                    host: host_of(&request.url),
                    seconds: limit.as_secs(),
                    sent: true,
                })
            })
        })
    }
}

/// Sends a request, and a `GET` again where a redirect inside the origin leads.
async fn fetch(client: &HttpClient, request: &HttpRequest) -> Result<Response, SendError> {
    let body = match &request.body {
        Some(body) => Bytes::from_owner(Body(body.clone())),
        None => Bytes::new(),
    };
    let message = Request {
        method: request.method.clone(),
        url: &request.url,
        // Made once the connection is there, directly before the request leaves.
        headers: || {
            request.sent.set();
            headers_of(request)
        },
        body,
    };
    let follows = request.redirects == Redirects::SameOrigin && request.method == Method::GET;
    let mut url = request.url.clone();
    for _ in 0..=MAX_REDIRECTS {
        let response = client.send_once(&message, &url).await?;
        if !follows {
            return Ok(response);
        }
        match redirect_target(&message.method, &url, &response).map_err(SendError::permanent)? {
            Some(next) => url = next,
            None => return Ok(response),
        }
    }
    let what = "too many redirects";
    Err(SendError::permanent(TransportError::Protocol { what }))
}

fn headers_of(request: &HttpRequest) -> HeaderMap {
    let mut headers = request.headers.clone();
    // What is not compressed cannot explode.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

/// A body that is wiped once it has been sent.
struct Body(Secret<Vec<u8>>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.0.expose()
    }
}

fn failure(host: &str, failed: &SendError) -> HttpFailure {
    let host = host.to_owned();
    match &failed.error {
        TransportError::Forbidden { never, .. } => HttpFailure::Forbidden {
            host,
            why: if *never {
                Barred::Never
            } else {
                Barred::LessPublic
            },
        },
        TransportError::Redirect { .. } => HttpFailure::Redirect { host },
        TransportError::Protocol { what } => HttpFailure::Protocol { host, what },
        TransportError::Timeout { seconds } => HttpFailure::Timeout {
            host,
            seconds: *seconds,
            sent: failed.may_have_arrived,
        },
        TransportError::Unreachable { source, .. } => unreachable(host, source.as_ref(), failed),
        TransportError::Settings { what } => HttpFailure::Unreachable {
            host,
            why: (*what).to_owned(),
            sent: false,
        },
        _ => HttpFailure::Unreachable {
            host,
            why: "connection lost".to_owned(),
            sent: failed.may_have_arrived,
        },
    }
}

/// Says in a few words why there is no connection; nothing that a peer sent is quoted.
fn unreachable(
    host: String,
    source: &(dyn std::error::Error + 'static),
    failed: &SendError,
) -> HttpFailure {
    let is_tls = find_cause(source, |cause| is_tls_failure(cause).then_some(())).is_some();
    let kind = find_cause(source, |cause| cause.downcast_ref::<io::Error>());
    let why = match kind.map(io::Error::kind) {
        _ if is_tls => "TLS handshake failed",
        Some(io::ErrorKind::ConnectionRefused) => "connection refused",
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "no route to host"
        }
        Some(io::ErrorKind::TimedOut) => "connection timed out",
        _ if failed.may_have_arrived => "connection lost",
        _ => "cannot connect",
    };
    HttpFailure::Unreachable {
        host,
        why: why.to_owned(),
        sent: failed.may_have_arrived,
    }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

const MAX_BODY: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
