//! Which server a connection is for: scheme, host and port.

use http::HeaderValue;
use url::{Position, Url};

/// Scheme, host and port of a URL.
#[derive(Debug)]
pub(super) struct ServerAddress {
    /// Without a path.
    url: Url,
    /// What goes into `Host`.
    authority: HeaderValue,
    port: u16,
}

impl ServerAddress {
    /// Takes the address out of `url`; `None` without a host.
    pub(super) fn of(url: &Url) -> Option<Self> {
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        let authority = HeaderValue::from_str(authority).ok()?;
        let port = url.port_or_known_default()?;
        let mut url = url.clone();
        url.set_path("");
        url.set_query(None);
        url.set_fragment(None);
        Some(Self {
            url,
            authority,
            port,
        })
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    pub(super) const fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Says whether `url` leads to the same server.
    pub(super) fn is_of(&self, url: &Url) -> bool {
        url.port_or_known_default() == Some(self.port)
            && url.host_str() == self.url.host_str()
            && url.scheme() == self.url.scheme()
    }
}
