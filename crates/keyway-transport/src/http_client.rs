//! The one HTTP client: guarded addresses, no redirects to other origins, bounded answers.
//!
//! Everything that leaves this machine by HTTP goes through [`HttpClient`]. It reads no environment:
//! proxies, roots and the client certificate are handed in. Errors name a host, never a URL.

mod address;
mod body;
mod connector;
mod failure;
mod pool;
mod proxy;
mod request_trace;
mod resolver;
mod response;
mod server_address;
mod stream;
mod tls;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderValue, LOCATION, USER_AGENT};
use http::{HeaderMap, Method};
use keyway_auth::Observer;
use keyway_secret::Secret;
use url::{Host, Url};

use self::body::FullBody;
use self::connector::Connector;
use self::pool::Pool;
use self::proxy::Proxies;
use self::request_trace::RequestTrace;
use self::resolver::{GuardedResolver, ScopeHistory, SystemResolver, is_localhost};
use self::tls::Tls;
use crate::error::TransportError;
use crate::timeouts::PING_INTERVAL;

pub use self::address::{AddressPolicy, AddressScope};
pub(crate) use self::failure::{Retry, SendError};
pub use self::proxy::ProxySettings;
pub use self::resolver::Lookup;
#[cfg(feature = "ws")]
pub(crate) use self::response::Upgraded;
pub(crate) use self::response::{Media, Response};
pub use self::tls::{ClientIdentity, RootCertificates};

/// What all connections of a process share.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The certificate authorities to trust.
    pub root_certificates: RootCertificates,
    /// The client certificate, if servers ask for one.
    pub identity: Option<ClientIdentity>,
    /// Which proxies to use for what.
    pub proxies: ProxySettings,
    /// Another resolver than the system's.
    pub lookup: Option<Arc<dyn Lookup>>,
    /// Is told of requests.
    pub observer: Option<Arc<dyn Observer>>,
}

/// A client for one [`AddressPolicy`]. Cloning is cheap and shares connections.
#[derive(Clone)]
pub struct HttpClient {
    pool: Arc<Pool>,
    policy: AddressPolicy,
    shared: Arc<HttpClientShared>,
}

/// What connections are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Requests and answers.
    Exchange,
    /// The same with authorization servers, whose answers are waited for in any case.
    Authorization,
    /// Another protocol after the first response: HTTP/1.1, and no redirects.
    #[cfg(feature = "ws")]
    Upgrade,
}

impl Purpose {
    /// Returns how often a connection of HTTP/2 is pinged while an answer is waited for.
    ///
    /// Never where that answer may be the only copy of a token. The connection would be given up
    /// by the clock before its socket is read: a process that was stopped, or a server that is too
    /// busy to answer pings, would lose an answer that has arrived. Such an exchange has a limit of
    /// its own, which counts the time that the process runs.
    const fn ping_interval(self) -> Option<Duration> {
        match self {
            Self::Authorization => None,
            _ => Some(PING_INTERVAL),
        }
    }

    const fn follows_redirects(self) -> bool {
        matches!(self, Self::Exchange | Self::Authorization)
    }
}

struct HttpClientShared {
    tls: Tls,
    settings: HttpSettings,
    history: Arc<ScopeHistory>,
    /// The connections by policy, so that two clients of one policy share them: every session asks
    /// how its server wants to be signed in to. Held for a look only; there are as many as policies.
    by_policy: Mutex<Vec<(AddressPolicy, Arc<Pool>)>>,
}

impl HttpClient {
    /// Prepares a client for servers that the person configured; nothing connects yet.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] for an unusable client certificate or proxy.
    pub fn new(settings: HttpSettings) -> Result<Self, TransportError> {
        let tls = Tls::new(&settings.root_certificates, settings.identity.as_ref())?;
        let shared = Arc::new(HttpClientShared {
            tls,
            settings,
            history: Arc::default(),
            by_policy: Mutex::default(),
        });
        Self::build(shared, AddressPolicy::Configured, Purpose::Exchange)
    }

    /// Returns a client with the same settings for authorization servers at other addresses. It shares
    /// connections with those of its policy, not with this one.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] for settings that were refused already.
    pub fn with_policy(&self, policy: AddressPolicy) -> Result<Self, TransportError> {
        let pools = self.shared.by_policy.lock();
        let mut pools = pools.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = pools.iter().find(|(of, _)| *of == policy) {
            return Ok(Self {
                pool: Arc::clone(pool),
                policy,
                shared: Arc::clone(&self.shared),
            });
        }
        let client = Self::build(Arc::clone(&self.shared), policy, Purpose::Authorization)?;
        pools.push((policy, Arc::clone(&client.pool)));
        Ok(client)
    }

    /// Returns a client with the same settings whose connections may change to another protocol.
    #[cfg(feature = "ws")]
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

    /// Returns what a client in another process needs to reach the same servers the same way: the
    /// settings with the client certificate that is in force now; `None` if names are looked up by
    /// code of this process.
    #[must_use]
    pub fn settings(&self) -> Option<HttpSettings> {
        let settings = &self.shared.settings;
        settings.lookup.is_none().then(|| HttpSettings {
            root_certificates: settings.root_certificates.clone(),
            identity: self.shared.tls.identity(),
            proxies: settings.proxies.clone(),
            lookup: None,
            observer: None,
        })
    }

    /// Reads the address of a server and checks what can be checked without a connection.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`].
    pub(crate) fn endpoint(&self, url: &Secret<String>) -> Result<Url, TransportError> {
        let what = "the URL is not `http` or `https`";
        let url = Url::parse(url.expose()).map_err(|_| TransportError::Settings { what })?;
        self.check(&url)?;
        Ok(url)
    }

    /// Reads the address of a WebSocket server, as that of the request that opens it.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`].
    #[cfg(feature = "ws")]
    pub(crate) fn upgrade_endpoint(&self, url: &Secret<String>) -> Result<Url, TransportError> {
        let what = "the URL is not `ws` or `wss`";
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

    fn build(
        shared: Arc<HttpClientShared>,
        policy: AddressPolicy,
        purpose: Purpose,
    ) -> Result<Self, TransportError> {
        let settings = &shared.settings;
        let resolver = GuardedResolver {
            lookup: settings
                .lookup
                .clone()
                .unwrap_or_else(|| Arc::new(SystemResolver)),
            policy,
            history: Arc::clone(&shared.history),
        };
        let connector = Connector {
            resolver,
            proxies: Proxies::new(&settings.proxies)?,
            tls: shared.tls.clone(),
            purpose,
        };
        Ok(Self {
            pool: Arc::new(Pool::new(connector, purpose)),
            policy,
            shared,
        })
    }

    /// Sends one request, following redirects inside its origin.
    pub(crate) async fn send<H>(&self, request: Request<'_, H>) -> Result<Response, SendError>
    where
        H: Fn() -> HeaderMap,
    {
        let mut url = Cow::Borrowed(request.url);
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(&request, &url).await?;
            match redirect_target(&request.method, &url, &response).map_err(SendError::permanent)? {
                Some(next) if self.pool.purpose.follows_redirects() => url = Cow::Owned(next),
                _ => return Ok(response),
            }
        }
        Err(SendError::permanent(TransportError::Protocol {
            what: "too many redirects",
        }))
    }

    /// Sends one request to `url` and returns the answer, whatever it is.
    pub(crate) async fn send_once<H>(
        &self,
        request: &Request<'_, H>,
        url: &Url,
    ) -> Result<Response, SendError>
    where
        H: Fn() -> HeaderMap,
    {
        let noting = self.shared.settings.observer.as_deref();
        let noting = noting.map(|observer| RequestTrace::begin(observer, request, url));
        let answer = self.pool.exchange(request, url).await;
        let answer = answer.and_then(|answer| Response::new(answer).map_err(SendError::permanent));
        if let Some(request_trace) = noting {
            request_trace.end(&answer);
        }
        answer
    }

    /// Returns how public a server is: its address, or the most public that its name stands for.
    ///
    /// # Errors
    ///
    /// Returns why there is no connection if the name stands for nothing.
    pub(crate) async fn scope_of(&self, url: &Url) -> Result<AddressScope, SendError> {
        let connector = &self.pool.connector;
        // A proxy resolves the name, and what it stands for here says nothing.
        if matches!(url.host(), Some(Host::Domain(_))) && connector.proxies.hop(url).is_some() {
            return Ok(AddressScope::Public);
        }
        let scope = connector.resolver.scope(url.host_str().unwrap_or_default());
        let scope = scope.await;
        scope.map_err(|failure| SendError::connect(failure, url))
    }

    /// Checks what can be checked of an address without a connection.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`].
    pub(crate) fn check(&self, url: &Url) -> Result<(), TransportError> {
        let host = url.host().ok_or(TransportError::Settings {
            what: "the URL has no host",
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
                    what: "unencrypted connections are allowed to localhost only",
                });
            }
            _ => {
                return Err(TransportError::Settings {
                    what: "the URL is not `http` or `https`",
                });
            }
        }
        if !self.policy.allows_host(&host) {
            return Err(TransportError::Forbidden {
                never: !AddressPolicy::Configured.allows_host(&host),
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

impl<H: Fn() -> HeaderMap> Request<'_, H> {
    /// Returns what is sent, but for the address.
    fn message(&self) -> http::Request<FullBody> {
        let mut message = http::Request::new(FullBody::new(self.body.clone()));
        *message.method_mut() = self.method.clone();
        *message.headers_mut() = (self.headers)();
        message.headers_mut().insert(USER_AGENT, AGENT);
        message
    }
}

/// Returns an untrusted address as it may be shown: without user, query and fragment.
fn displayable(target: &Url) -> String {
    let mut displayable = target.clone();
    displayable.set_query(None);
    displayable.set_fragment(None);
    let is_plain = displayable.username().is_empty() && displayable.password().is_none();
    if !is_plain
        || !matches!(displayable.scheme(), "http" | "https")
        || displayable.as_str().len() > MAX_SHOWN
    {
        return String::new();
    }
    displayable.into()
}

/// Longer addresses are not shown.
const MAX_SHOWN: usize = 200;

/// Returns where to ask next, if the answer is a redirect that may be followed.
///
/// A `GET` follows all of them, a `POST` those that keep method and body (RFC 9110 §15.4.8, 15.4.9).
/// Nothing ever goes to another origin: it would get credential and body.
pub(crate) fn redirect_target(
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
        return Err(TransportError::Redirect {
            to: displayable(&target),
        });
    }
    let keeps_method = matches!(status, 307 | 308);
    let may_follow = match *method {
        Method::GET => true,
        Method::POST => keeps_method,
        _ => false,
    };
    Ok(may_follow.then_some(target))
}

const AGENT: HeaderValue = HeaderValue::from_static(concat!("keyway/", env!("CARGO_PKG_VERSION")));
const MAX_HEADER_BYTES: usize = 64 * 1024;
pub(crate) const MAX_REDIRECTS: usize = 10;

#[cfg(test)]
mod tests;
