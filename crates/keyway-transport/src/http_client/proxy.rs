//! Proxies, as the usual variables name them; the values are handed in.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;
use keyway_secret::Secret;
use url::{Host, Url};

use super::resolver::is_localhost;
use crate::error::TransportError;

/// The values of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
///
/// This machine is never reached through a proxy, whatever they say.
#[derive(Debug, Clone, Default)]
pub struct ProxySettings {
    /// For `https` addresses.
    pub https: Option<Secret<String>>,
    /// For `http` addresses.
    pub http: Option<Secret<String>>,
    /// For what the other two do not say.
    pub all: Option<Secret<String>>,
    /// Hosts, domains and networks to reach directly, separated by commas.
    pub none: Option<String>,
}

/// Decides which requests go through a proxy.
#[derive(Clone)]
pub(super) struct Proxies(Arc<Matcher>);

/// A proxy on the way to a server.
pub(super) struct ProxyRoute {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) is_encrypted: bool,
    /// What goes into `Proxy-Authorization`.
    pub(super) credential: Option<HeaderValue>,
}

impl Proxies {
    /// Reads the settings.
    pub(super) fn new(settings: &ProxySettings) -> Result<Self, TransportError> {
        let matcher = Matcher::builder()
            .https(address(settings.https.as_ref())?)
            .http(address(settings.http.as_ref())?)
            .all(address(settings.all.as_ref())?)
            .no(settings.none.clone().unwrap_or_default())
            .build();
        Ok(Self(Arc::new(matcher)))
    }

    /// Returns the proxy that stands between us and `url`.
    pub(super) fn hop(&self, url: &Url) -> Option<ProxyRoute> {
        let is_this_machine = match url.host()? {
            Host::Domain(name) => is_localhost(name),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        if is_this_machine {
            return None;
        }
        let uri = url.origin().ascii_serialization().parse().ok()?;
        let proxy = self.0.intercept(&uri)?;
        let is_encrypted = proxy.uri().scheme_str() == Some("https");
        let default = if is_encrypted { 443 } else { 80 };
        Some(ProxyRoute {
            host: proxy.uri().host()?.to_owned(),
            port: proxy.uri().port_u16().unwrap_or(default),
            is_encrypted,
            credential: proxy.basic_auth().cloned(),
        })
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

/// Returns the address of a proxy with its scheme; an empty value is none.
fn address(value: Option<&Secret<String>>) -> Result<String, TransportError> {
    let Some(value) = value.filter(|value| !value.expose().is_empty()) else {
        return Ok(String::new());
    };
    let what = "a proxy address is not a valid `http` or `https` URL";
    let url = parse(value).ok_or(TransportError::Settings { what })?;
    Ok(url.into())
}

/// Reads the address of a proxy, which people write with and without a scheme.
fn parse(text: &Secret<String>) -> Option<Url> {
    let text = text.expose();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    url.ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(text: &str, none: &str) -> Result<Proxies, TransportError> {
        Proxies::new(&ProxySettings {
            https: Some(Secret::new(text.to_owned())),
            none: Some(none.to_owned()),
            ..ProxySettings::default()
        })
    }

    fn hop(proxies: &Proxies, url: &str) -> Option<ProxyRoute> {
        proxies.hop(&Url::parse(url).unwrap())
    }

    #[test]
    fn proxies_are_read_with_and_without_a_scheme_and_never_shown() {
        for (text, port, is_encrypted) in [
            ("http://u:CANARY@proxy.example:3128", 3128, false),
            ("https://proxy.example", 443, true),
            ("proxy.example:3128", 3128, false),
            ("proxy.example", 80, false),
        ] {
            let proxies = proxies(text, "").unwrap();
            let hop = hop(&proxies, "https://x.example/mcp?q=1").unwrap();
            assert_eq!((hop.host.as_str(), hop.port), ("proxy.example", port));
            assert_eq!(hop.is_encrypted, is_encrypted, "{text}");
            assert_eq!(hop.credential.is_some(), text.contains('@'));
            assert!(!format!("{proxies:?} {:?}", hop.credential).contains("CANARY"));
        }
    }

    #[test]
    fn credential_of_a_proxy_is_decoded_before_it_is_encoded() {
        let proxies = proxies("http://a%40b:c%3Ad@proxy.example", "").unwrap();
        let hop = hop(&proxies, "https://x.example/").unwrap();
        assert_eq!(hop.credential.unwrap(), "Basic YUBiOmM6ZA==");
    }

    #[test]
    fn some_servers_are_reached_directly() {
        let proxies = proxies("proxy.example:1", "near.example, 10.0.0.0/8").unwrap();
        for url in [
            "https://near.example/",
            "https://a.near.example/",
            "https://10.1.2.3/",
            "https://localhost/",
            "https://localhost./",
            "https://127.0.0.1/",
            "https://127.9.9.9/",
            "https://[::1]/",
            // No proxy was named for these.
            "http://far.example/",
        ] {
            assert!(hop(&proxies, url).is_none(), "{url}");
        }
        for url in [
            "https://far.example/",
            "https://11.0.0.1/",
            "https://nearx.example/",
        ] {
            assert!(hop(&proxies, url).is_some(), "{url}");
        }
    }

    #[test]
    fn empty_value_means_no_proxy_and_an_invalid_one_is_an_error() {
        let none = proxies("", "").unwrap();
        assert!(hop(&none, "https://far.example/").is_none());
        for text in ["socks5://x:1", "http://", "::::"] {
            assert!(proxies(text, "").is_err(), "{text}");
        }
    }
}
