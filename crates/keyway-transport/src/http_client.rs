//! The one HTTP client: guarded addresses, no redirects to other origins, bounded answers.
//!
//! Everything that leaves this machine by HTTP goes through [`HttpClient`]. It reads no environment:
//! proxies, roots and the client certificate are handed in. Errors name a host, never a URL.

mod address;
mod proxy;
mod resolver;
mod response;
mod tls;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, Method};
use keyway_secret::Secret;
use url::{Host, Url};

use self::resolver::{ForbiddenAddress, Guarded, System, is_localhost};
use self::tls::Tls;
use crate::error::TransportError;

pub use self::address::{AddressPolicy, Reach};
pub use self::proxy::ProxySettings;
pub use self::resolver::Lookup;
pub(crate) use self::response::{Media, Response, Upgraded};
pub use self::tls::{ClientIdentity, Trust};

/// What all connections of a process share.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// Whose certificates are believed.
    pub trust: Trust,
    /// The client certificate, if servers ask for one.
    pub identity: Option<ClientIdentity>,
    /// Which proxies to use for what.
    pub proxies: ProxySettings,
    /// Another resolver than the system's.
    pub lookup: Option<Arc<dyn Lookup>>,
}

/// A client for one [`AddressPolicy`]. Cloning is cheap and shares connections.
#[derive(Clone)]
pub struct HttpClient {
    inner: reqwest::Client,
    policy: AddressPolicy,
    purpose: Purpose,
    shared: Arc<Shared>,
}

/// What connections are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Requests and answers.
    Exchange,
    /// Another protocol after the first answer: HTTP/1.1, and no redirects.
    Upgrade,
}

struct Shared {
    tls: Tls,
    settings: HttpSettings,
}

impl HttpClient {
    /// Prepares a client for servers that the person configured; nothing connects yet.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] for unreadable certificates or proxies.
    pub fn new(settings: HttpSettings) -> Result<Self, TransportError> {
        let tls = Tls::new(&settings.trust, settings.identity.as_ref())?;
        let shared = Arc::new(Shared { tls, settings });
        Self::build(shared, AddressPolicy::Configured, Purpose::Exchange)
    }

    /// Returns a client with the same settings for other addresses; connections are not shared.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] for settings that were refused already.
    pub fn with_policy(&self, policy: AddressPolicy) -> Result<Self, TransportError> {
        Self::build(Arc::clone(&self.shared), policy, self.purpose)
    }

    /// Returns a client with the same settings whose connections may change to another protocol.
    pub(crate) fn for_upgrade(&self) -> Result<Self, TransportError> {
        Self::build(Arc::clone(&self.shared), self.policy, Purpose::Upgrade)
    }

    /// Uses another client certificate in place of the first for connections from now on.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] if it cannot be used, or if there was none before; what
    /// was in force stays so.
    pub fn replace_identity(&self, identity: &ClientIdentity) -> Result<(), TransportError> {
        self.shared.tls.replace_identity(identity)
    }

    /// Reads the address of a server and checks what can be checked without a connection.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`].
    pub(crate) fn endpoint(&self, url: &Secret<String>) -> Result<Url, TransportError> {
        let what = "the address of the server is not an `http` or `https` URL";
        let url = Url::parse(url.expose()).map_err(|_| TransportError::Settings { what })?;
        self.check(&url)?;
        Ok(url)
    }

    /// Reads the address of a WebSocket server, as the one of the request that begins it.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`].
    pub(crate) fn upgrade_endpoint(&self, url: &Secret<String>) -> Result<Url, TransportError> {
        let what = "the address of the server is not a `ws` or `wss` URL";
        let mut url = Url::parse(url.expose()).map_err(|_| TransportError::Settings { what })?;
        let scheme = match url.scheme() {
            "wss" => "https",
            "ws" => "http",
            _ => return Err(TransportError::Settings { what }),
        };
        url.set_scheme(scheme)
            .map_err(|()| TransportError::Settings { what })?;
        self.check(&url)?;
        Ok(url)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the guarded client that everybody else uses"
    )]
    fn build(
        shared: Arc<Shared>,
        policy: AddressPolicy,
        purpose: Purpose,
    ) -> Result<Self, TransportError> {
        let settings = &shared.settings;
        let mut tls = shared.tls.config();
        let resolver = Guarded {
            lookup: settings.lookup.clone().unwrap_or_else(|| Arc::new(System)),
            policy,
            exempt: settings.proxies.hosts().into(),
        };
        let mut builder = reqwest::Client::builder()
            .dns_resolver(resolver)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(POOL_SIZE)
            .http1_max_headers(MAX_HEADERS)
            .http2_max_header_list_size(MAX_HEADER_BYTES)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(H2_PING)
            .tcp_keepalive(TCP_KEEPALIVE)
            .tcp_nodelay(true)
            .user_agent(USER_AGENT);
        if purpose == Purpose::Upgrade {
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            builder = builder.http1_only();
        }
        for proxy in settings.proxies.build()? {
            builder = builder.proxy(proxy);
        }
        let what = "the HTTP client cannot be set up";
        let inner = builder
            .tls_backend_preconfigured(tls)
            .build()
            .map_err(|_| TransportError::Settings { what })?;
        Ok(Self {
            inner,
            policy,
            purpose,
            shared,
        })
    }

    /// Sends one request, following redirects inside its origin.
    pub(crate) async fn send<H>(&self, request: Request<'_, H>) -> Result<Response, SendError>
    where
        H: Fn() -> HeaderMap,
    {
        let mut url = request.url.clone();
        if url.scheme() == "https" {
            self.shared.tls.ready().await.map_err(SendError::hopeless)?;
        }
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(&request, &url).await?;
            match next_hop(&request.method, &url, &response).map_err(SendError::hopeless)? {
                Some(next) if self.purpose == Purpose::Exchange => url = next,
                _ => return Ok(response),
            }
        }
        Err(SendError::hopeless(TransportError::Protocol {
            what: "too many redirects",
        }))
    }

    async fn send_once<H>(&self, request: &Request<'_, H>, url: &Url) -> Result<Response, SendError>
    where
        H: Fn() -> HeaderMap,
    {
        let mut message = reqwest::Request::new(request.method.clone(), url.clone());
        *message.headers_mut() = (request.headers)();
        if !request.body.is_empty() {
            *message.body_mut() = Some(request.body.clone().into());
        }
        let answer = self.inner.execute(message).await;
        let answer = answer.map_err(|error| SendError::of(error, url))?;
        Response::new(answer).map_err(SendError::hopeless)
    }

    fn check(&self, url: &Url) -> Result<(), TransportError> {
        let host = url.host().ok_or(TransportError::Settings {
            what: "the address of the server has no host",
        })?;
        let is_this_machine = match host {
            Host::Domain(name) => is_localhost(name),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        match url.scheme() {
            "https" => {}
            "http" if is_this_machine => {}
            "http" => {
                return Err(TransportError::Settings {
                    what: "without encryption only this machine may be reached",
                });
            }
            _ => {
                return Err(TransportError::Settings {
                    what: "the address of the server is not an `http` or `https` URL",
                });
            }
        }
        if !self.policy.allows_host(&host) {
            return Err(TransportError::Forbidden {
                host: host.to_string(),
            });
        }
        Ok(())
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// One request.
pub(crate) struct Request<'a, H> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    /// Makes the headers, once per request that is sent.
    pub(crate) headers: H,
    pub(crate) body: Bytes,
}

/// Why there is no answer, and what that says about sending the request again.
#[derive(Debug)]
pub(crate) struct SendError {
    pub(crate) error: TransportError,
    pub(crate) fate: Fate,
}

/// What became of a request that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing of it left, and it may fare better next time.
    Unsent,
    /// The server may have seen it.
    Sent,
    /// It would fare the same again.
    Hopeless,
}

impl SendError {
    const fn hopeless(error: TransportError) -> Self {
        let fate = Fate::Hopeless;
        Self { error, fate }
    }

    fn of(error: reqwest::Error, url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        let is_forbidden = has_cause(&error, |cause| cause.is::<ForbiddenAddress>());
        let fate = if is_forbidden || has_cause(&error, is_tls_failure) {
            Fate::Hopeless
        } else if error.is_connect() {
            Fate::Unsent
        } else {
            Fate::Sent
        };
        let error = if is_forbidden {
            TransportError::Forbidden { host }
        } else if error.is_timeout() {
            TransportError::Timeout {
                seconds: CONNECT_TIMEOUT.as_secs(),
            }
        } else {
            let source = Box::new(error.without_url());
            TransportError::Unreachable { host, source }
        };
        Self { error, fate }
    }
}

fn has_cause(
    error: &(dyn Error + 'static),
    is_it: impl Fn(&(dyn Error + 'static)) -> bool,
) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if is_it(error) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Says whether the two sides could not agree on TLS: a certificate does not get better.
fn is_tls_failure(cause: &(dyn Error + 'static)) -> bool {
    let mut wrapped = cause.downcast_ref::<std::io::Error>();
    while let Some(inner) = wrapped.and_then(std::io::Error::get_ref) {
        if inner.is::<rustls::Error>() {
            return true;
        }
        wrapped = inner.downcast_ref();
    }
    false
}

/// Returns where to ask next, if the answer is a redirect that may be followed.
///
/// A `GET` follows all of them, a `POST` those that keep method and body (RFC 9110 §15.4.8, 15.4.9).
/// Nothing ever goes to another origin: it would get credential and body.
fn next_hop(
    method: &Method,
    url: &Url,
    response: &Response,
) -> Result<Option<Url>, TransportError> {
    let status = response.status();
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION);
    let target = location
        .and_then(|value| value.to_str().ok())
        .and_then(|text| url.join(text).ok());
    let Some(target) = target else {
        return Ok(None);
    };
    if target.origin() != url.origin() || !target.username().is_empty() {
        return Err(TransportError::Redirect);
    }
    let keeps_method = matches!(status, 307 | 308);
    let may_follow = match *method {
        Method::GET => true,
        Method::POST => keeps_method,
        _ => false,
    };
    Ok(may_follow.then_some(target))
}

const USER_AGENT: &str = concat!("keyway/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const POOL_IDLE: Duration = Duration::from_secs(90);
const POOL_SIZE: usize = 128;
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);
const H2_PING: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 128;
const MAX_HEADER_BYTES: u32 = 64 * 1024;
const MAX_REDIRECTS: usize = 10;
